# make setup    an environment in .venv with everything; `make setup PYTHON=python3.12` picks the interpreter
# make demo     index the sample corpus and ask it three questions (`conspectus demo`)
# make test     the tests, without those marked `long`; `make test-long` runs all
# make web      build the web app from web/ (needs Node.js 20 or newer); what is built is committed
# make test-web the tests of the web app in a browser; installs Chromium where there is none
# make reproduce-offline   the papers' tables and figures that need no model, on small samples (reproduce/README.md)
# make docs     the documentation, into site/; `.venv/bin/mkdocs serve` shows it while you write
# make release  into dist/: wheel, source, what they need with hashes, a software bill of materials (CycloneDX)
# make audit    asks a database of vulnerabilities (osv.dev) about every locked package
# make fuzz     mutated files for every reader, FUZZ_SECONDS (600) each
# make release-check   wheel and sdist, each built, installed in a fresh environment and tried; TAG=v0.1.0 compares
# make check    formatting, lint, types and size; `make format` mends the first two where it can

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UV = PATH="$$PATH:$(CURDIR)/$(BIN)" uv
FUZZ_SECONDS ?= 600

# Settings of the caller's own environment that would send uv elsewhere.
unexport VIRTUAL_ENV UV_PYTHON UV_NO_DEV UV_NO_GROUP
export UV_PROJECT_ENVIRONMENT := $(VENV)
export UV_PYTHON_DOWNLOADS := never
export UV_HTTP_TIMEOUT ?= 180

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long web test-web reproduce-offline docs release audit fuzz check format

help:
	@sed -n 's/^# make/make/p' Makefile

setup: $(READY)

$(READY): pyproject.toml uv.lock
	@$(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
			echo "Conspectus needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>/dev/null || echo missing)." >&2; \
			echo "Name a newer one: make setup PYTHON=python3.12" >&2; \
			exit 1; }; \
		$(PYTHON) -m venv --clear $(VENV); }
	@command -v uv >/dev/null || test -x $(BIN)/uv || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'
	$(UV) sync --frozen --compile-bytecode --python $(BIN)/python
	@$(BIN)/python -m compileall -q src  # so that no command spends its first second on it
	@touch $@

demo: $(READY)
	@rm -rf .demo
	@$(BIN)/conspectus demo --dir .demo
	@echo "In this checkout conspectus is $(CURDIR)/$(BIN)/conspectus; \`source $(CURDIR)/$(BIN)/activate\` puts it on the path."

# Tests write some 100,000 small files: on a disk each may take a millisecond, in memory, where there is room, a fiftieth.
ROOM := $(shell test -w /dev/shm && test "$$(df -Pk /dev/shm | awk 'END {print $$4}')" -gt 2000000 && echo /dev/shm)
test test-long: export TMPDIR := $(or $(ROOM),$(TMPDIR),/tmp)

# Rewriting asserts, so that they show values, takes each process 7 s: it is done for tests that failed.
test: $(READY)
	@$(BIN)/python -m compileall -q src tests  # else each process would, where it is told to write no byte code
	$(BIN)/python -m pytest -n auto --dist worksteal --assert=plain || \
		{ $(BIN)/python -m pytest --last-failed --last-failed-no-failures=none; exit 1; }

test-long: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "" --hypothesis-profile=long

web:
	cd web && npm ci --no-audit --no-fund && npm run build

test-web: $(READY)
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		$(BIN)/python -m playwright install --with-deps chromium
	$(BIN)/python -m pytest -n auto tests/server

# Without the papers' data (../shared/data, or REPRODUCE="--data DIR") on the sample corpus.
REPRODUCE ?= $(if $(wildcard ../shared/data/podcast/input),,--sample-corpus)
OFFLINE := p1_table1 p1_table2 p1_table3 p1_table5 p1_figure3 p1_figure4 p2_table4 p2_table5 p2_settings

reproduce-offline: $(READY)
	@for script in $(OFFLINE); do $(BIN)/python reproduce/$$script.py $(REPRODUCE) --sample 10 || exit 1; done

docs: export NO_MKDOCS_2_WARNING := 1  # of another program's future; mkdocs is pinned
docs: $(READY)
	$(BIN)/mkdocs build --strict --quiet

release: $(READY)
	@rm -rf dist
	$(UV) build --quiet --out-dir dist
	$(UV) export --frozen --quiet --no-dev --all-extras --format cyclonedx1.5 --output-file dist/conspectus.cdx.json
	$(UV) export --frozen --quiet --no-dev --no-emit-project --all-extras --output-file dist/requirements.txt

audit: $(READY)
	$(UV) audit --frozen

fuzz: $(READY)
	$(BIN)/python tests/readers/fuzz_readers.py --seconds $(FUZZ_SECONDS)

# What a release would publish, tried as a user gets it. A tag, if one is given, has to name the version.
release-check: $(READY)
	@rm -rf dist .release
	@PATH="$$PATH:$(CURDIR)/$(BIN)" uv build --quiet --out-dir dist
	@version=$$($(BIN)/conspectus --version | cut -d' ' -f2); \
	test -z "$(TAG)" || test "$(TAG)" = "v$$version" || { echo "the tag $(TAG) is not the version $$version" >&2; exit 1; }; \
	for built in dist/conspectus-$$version-py3-none-any.whl dist/conspectus-$$version.tar.gz; do \
		echo "$$built" && rm -rf .release && $(PYTHON) -m venv .release && \
		.release/bin/python -m pip install --quiet --disable-pip-version-check "./$$built" && \
		(cd .release && bin/conspectus --help >/dev/null && bin/conspectus --version && \
			bin/conspectus demo --dir demo --with-model-index | grep -q "1811 \[1\]" && echo "installs, helps, runs the demo") || exit 1; \
	done; rm -rf .release

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/python benchmarks/structure.py --check

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
