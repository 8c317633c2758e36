"""Switching rules off by changing the source (`benchmarks/ablate_rules.py`)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks/ablate_rules.py"


@pytest.fixture(scope="module")
def ablate() -> Any:
    spec = importlib.util.spec_from_file_location("ablate_rules", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["ablate_rules"] = module
    spec.loader.exec_module(module)
    return module


def test_a_constant_and_a_rule_are_changed_in_the_source(ablate: Any):
    source = "LIMIT, SHARE = 3, 0.5\n\ndef keep(x):\n    return x > LIMIT\n"

    def run(**change: Any) -> tuple[float, float, bool]:
        names: dict[str, Any] = {}
        variant = ablate.Variant(file="x.py", change="off", **change)
        exec(compile(ablate.changed(source, variant), "x.py", "exec"), names)  # noqa: S102
        return names["LIMIT"], names["SHARE"], names["keep"](4)

    assert run(rule="x.py:LIMIT", value=6) == (6, 0.5, False)
    assert run(rule="x.py:SHARE", value=0.25, index=1) == (3, 0.25, True)
    assert run(rule="keep", function="keep", new="return False") == (3, 0.5, False)
    assert run(rule="more", old="x > LIMIT", new="x > 0") == (3, 0.5, True)


def test_a_rule_that_is_no_longer_there_is_reported(ablate: Any):
    with pytest.raises(SystemExit, match="gone"):
        ablate.changed("a = 1\n", ablate.Variant("gone", "x.py", "off", old="b = 2", new="b = 3"))


def test_every_rule_is_in_the_source(ablate: Any):
    variants = ablate.variants("*")
    assert len(variants) > 100
    for variant in variants:
        ablate.changed((ablate.SOURCE / variant.file).read_text("utf-8"), variant)


def test_a_verdict_needs_an_interval_without_zero(ablate: Any):
    def with_hits(*hits: float) -> dict[str, tuple[float, float]]:
        return {str(i): (hit, 1.0) for i, hit in enumerate(hits)}

    all_hit, none, one_less = with_hits(*[1] * 40), with_hits(*[0] * 40), with_hits(0, *[1] * 39)

    assert ablate.verdict([ablate.difference(all_hit, none)]) == "pays"
    assert ablate.verdict([ablate.difference(none, all_hit)]) == "hurts"
    assert ablate.verdict([ablate.difference(all_hit, one_less)]) == "no effect"
    assert ablate.effects({"names": all_hit}, {"names": all_hit}) == {}
