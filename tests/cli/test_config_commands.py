"""Tests of `conspectus config` and `conspectus init`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from conspectus import configuration

Run = Callable[..., Result]
Told = Callable[..., Any]


def test_every_setting_is_shown_with_where_it_comes_from(
    run: Run, told: Told, monkeypatch: pytest.MonkeyPatch
):
    Path("conspectus.toml").write_text("chunk.tokens = 700\n")
    monkeypatch.setenv("CONSPECTUS_CHUNK_OVERLAP", "50")

    settings = {s["key"]: s for s in told("config", "--set", "search.k=9")["settings"]}

    assert set(settings) == set(configuration.FIELDS)
    assert (settings["chunk.tokens"]["value"], settings["chunk.tokens"]["default"]) == (700, 600)
    assert settings["chunk.tokens"]["origin"].startswith("conspectus.toml (")
    assert settings["chunk.overlap"]["origin"] == "CONSPECTUS_CHUNK_OVERLAP"
    assert settings["search.k"]["origin"] == "given"
    assert settings["hippo.damping"]["origin"] == "default"
    lines = run("config", "--set", "search.k=9").stdout.splitlines()
    assert "search.k = 9  (given)" in lines
    assert "hippo.damping = 0.5  (default)" in lines


def test_defaults_are_shown_with_what_a_setting_is_for(run: Run):
    out = run("config", "--show-defaults", "--set", "chunk.tokens=700").stdout

    assert "# Size of a chunk in tokens; default 600\nchunk.tokens = 700  (given)\n" in out


def test_a_file_that_is_named_takes_the_place_of_the_one_that_is_found(told: Told):
    Path("conspectus.toml").write_text("chunk.tokens = 700\n")
    Path("other.toml").write_text("search.k = 3\n")

    settings = {s["key"]: s["value"] for s in told("config", "--config", "other.toml")["settings"]}

    assert (settings["chunk.tokens"], settings["search.k"]) == (600, 3)


def test_an_unknown_key_is_refused_with_the_nearest_known_one(run: Run):
    Path("conspectus.toml").write_text("[chunk]\ntokns = 700\n")

    result = run("config", code=2)

    assert "unknown setting `chunk.tokns`" in result.stderr
    assert "did you mean `chunk.tokens`?" in result.stderr


def test_init_writes_a_file_that_changes_nothing(run: Run, told: Told):
    assert "Wrote conspectus.toml" in run("init").stdout

    assert all(line.startswith("#") or not line for line in Path("conspectus.toml").read_text().splitlines())
    assert all(s["origin"] == "default" for s in told("config")["settings"])


def test_init_never_overwrites_unless_told_to(run: Run):
    Path("conspectus.toml").write_text("chunk.tokens = 700\n")

    result = run("init", code=2)

    assert "already exists" in result.stderr
    assert "--force" in result.stderr
    assert Path("conspectus.toml").read_text() == "chunk.tokens = 700\n"
    run("init", "--force")
    assert "chunk.tokens = 600" in Path("conspectus.toml").read_text()


def test_init_writes_where_it_is_told_to_or_says_why_not(run: Run, tmp_path: Path):
    (tmp_path / "corpus").mkdir()

    run("init", "corpus")

    assert (tmp_path / "corpus" / "conspectus.toml").is_file()
    assert "cannot be written" in run("init", "nowhere", code=1).stderr


@pytest.mark.parametrize("name", configuration.PRESETS)
def test_a_preset_sets_its_settings_and_leaves_the_others(run: Run, told: Told, name: str):
    run("init", "--preset", name)

    settings = {s["key"]: s for s in told("config")["settings"]}

    given = {key: s["value"] for key, s in settings.items() if s["origin"] != "default"}
    assert given == configuration.preset(name).values
    assert all(value.why for value in configuration.preset(name).settings.values())


def test_an_unknown_preset_is_refused_and_nothing_is_written(run: Run):
    result = run("init", "--preset", "graphrag", code=2)

    assert "graphrag-paper" in result.stderr
    assert not Path("conspectus.toml").exists()
