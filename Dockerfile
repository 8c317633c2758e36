# The server with the web app, over an index that is read only:
#   docker build -t conspectus .
#   docker run -p 127.0.0.1:8080:8080 -e CONSPECTUS_TOKEN -v "$PWD/.conspectus:/index:ro" conspectus
# With a language model the folder has to be writable, for replies are stored in it; see docs/server.md.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir '.[serve]'

FROM python:3.12-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin conspectus
COPY --from=build /venv /venv
USER conspectus
ENV PATH=/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s CMD ["python", "-c", \
  "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/health', timeout=2)"]
# CONSPECTUS_TOKEN holds the token, of 16 characters at least.
ENTRYPOINT ["conspectus", "serve", "--index", "/index", "--host", "0.0.0.0", "--no-browser"]
CMD ["--port", "8080", "--allowed-host", "localhost", "--read-only"]
