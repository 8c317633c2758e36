"""Any request gets a documented result or an error in one format; metrics and logs contain no content."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from hypothesis import HealthCheck, settings

from conspectus.server.app import JsonLog, ServerOptions, create_app
from conspectus.server.security import Access
from tests.server.conftest import Running

TOKEN = "a-token-of-enough-characters"  # noqa: S105
QUESTION = "Who is the harbour master of Port Sallow?"


application: Any = create_app(ServerOptions(["no-index"], Access()))
schema: dict[str, Any] = application.app.app.openapi()
routes = [f"{method.upper()} {path}" for path, methods in schema["paths"].items() for method in methods]


def has_one_form(body: Any) -> bool:
    """Return whether a body is an error in the common format; for an unknown name, it also has similar names."""
    error = body["error"]
    near = {"name", "near"} if error["type"] == "NotFound" and error.get("near") else set[str]()
    return set(body) == {"error"} and set(error) == {"type", "message"} | near and bool(error["message"])


SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
FEW = settings(max_examples=4, deadline=None, suppress_health_check=SLOW, derandomize=True)


@pytest.fixture(scope="module")
def requests_of() -> Callable[[str, Callable[[Any], None]], None]:
    """Calls a function with requests of a route: limit cases of its schema, and four random ones.

    Schemathesis' own decorator would generate all requests at collection, in every process of pytest-xdist.
    """
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis.generation.hypothesis.builder import (
        HypothesisTestConfig,
        HypothesisTestMode,
        create_test,
    )

    described = schemathesis.openapi.from_dict(schema)
    operations = {each.ok().label: each.ok() for each in described.get_all_operations()}

    def requests_of(route: str, check: Callable[[Any], None]) -> None:
        modes = list(HypothesisTestMode)
        config = HypothesisTestConfig(modes=modes, project=described.config, explicit_settings=FEW)

        def test(case: Any) -> None:
            check(case)

        create_test(operation=operations[route], test_func=test, config=config)()

    return requests_of


@pytest.mark.parametrize("route", routes)
def test_any_request_gets_a_result_or_an_error_in_one_form(
    route: str, server: Running, requests_of: Callable[[str, Callable[[Any], None]], None]
) -> None:
    from requests import Session
    from schemathesis.checks import not_a_server_error, response_schema_conformance

    def check(case: Any) -> None:
        response = case.call(base_url=server.url, session=session)
        case.validate_response(response, checks=(not_a_server_error, response_schema_conformance))
        if response.status_code >= 400:
            assert has_one_form(response.json())
        sent.append(response.status_code)

    sent: list[int] = []
    with Session() as session:
        session.trust_env = False  # otherwise it looks for a proxy before each request
        requests_of(route, check)
    assert len(sent) > 4


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/nothing", None, 404),
        ("GET", "/v1/nothing", None, 404),
        ("GET", "/api/status?index=other", None, 404),
        ("GET", "/api/entities/99999", None, 404),
        ("GET", "/api/documents/%2e%2e/%2e%2e/pyproject.toml", None, 404),
        ("GET", "/api/answers/00000000000000000000", None, 404),
        ("PUT", "/api/ask", None, 405),
        ("POST", "/api/ask", {"question": ""}, 422),
        ("POST", "/api/ask", {"question": " "}, 400),
        ("POST", "/api/ask", {"question": QUESTION, "method": "nothing"}, 400),
        ("POST", "/api/ask", {"question": QUESTION, "surprise": 1}, 422),
        ("POST", "/api/ask/estimate", {"question": QUESTION, "where": ["folder="]}, 400),
        ("POST", "/api/builds", {}, 403),
    ],
)
def test_errors_have_one_form(server: Running, method: str, path: str, body: Any, status: int) -> None:
    response = httpx.request(method, server.url + path, json=body)
    assert response.status_code == status
    assert has_one_form(response.json())


def test_a_refusal_of_the_guard_has_that_form_too(server: Running) -> None:
    assert has_one_form(httpx.get(server.url + "/api/status", headers={"host": "evil.example"}).json())


def test_a_defect_is_an_error_in_that_form_and_says_nothing_of_its_cause(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("conspectus.status_of", fail)
    response = httpx.get(server.url + "/api/status")
    assert response.status_code == 500
    assert has_one_form(response.json())
    assert "secret" not in response.text


def test_metrics_count_requests_by_route(server: Running) -> None:
    httpx.get(server.url + "/api/entities/1")
    metrics = httpx.get(server.url + "/metrics").text
    assert 'conspectus_requests_total{route="/api/entities/{number}",status="200"}' in metrics
    assert "conspectus_request_seconds_bucket" in metrics
    assert "conspectus_answers_pending" in metrics


def test_logs_are_json_without_tokens_or_questions(
    serve: Callable[..., Running], sample_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLog())
    logger = logging.getLogger("conspectus.server")
    logger.addHandler(handler)
    monkeypatch.setattr(logger, "level", logging.INFO)
    try:
        running = serve(sample_index, access=Access(token=TOKEN), read_only=True)
        client = httpx.Client(base_url=running.url, headers={"authorization": f"Bearer {TOKEN}"})
        client.get("/api/search", params={"q": QUESTION})
        client.post("/api/ask", json={"question": QUESTION, "method": "bm25"})
        client.get(running.access.login_path())
    finally:
        logger.removeHandler(handler)
    rows = [json.loads(line) for line in written.getvalue().splitlines()]
    assert {"/api/search", "/api/ask"} <= {row["route"] for row in rows}
    assert all({"time", "level", "status", "ms"} <= set(row) for row in rows)
    assert TOKEN not in written.getvalue()
    assert "harbour" not in written.getvalue()
    assert "code=" not in written.getvalue()
