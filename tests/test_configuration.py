from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conspectus.configuration import (
    FIELDS,
    FILE_NAME,
    TABLES,
    as_toml,
    describe,
    load,
    settings_file,
    variable,
)
from conspectus.errors import SettingsError
from conspectus.settings import ChunkSettings, GlobalSettings, Settings


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that only the test's own `conspectus.toml` is read."""
    monkeypatch.chdir(tmp_path)


def written(text: str, folder: Path | None = None) -> Path:
    path = (folder or Path.cwd()) / FILE_NAME
    path.write_text(text, encoding="utf-8")
    return path


def complaint(
    overrides: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None, text: str = ""
) -> str:
    """Return the error message of `load`; check that it is one line without pydantic's words."""
    if text:
        written(text)
    with pytest.raises(SettingsError) as error:
        load(overrides, environ=environ or {})
    said = str(error.value)
    assert "\n" not in said
    assert "pydantic" not in said
    assert "Input should" not in said
    return said


# Where values come from


def test_without_any_source_everything_is_the_default():
    resolved = load(environ={})

    assert resolved.settings == Settings()
    assert resolved.origins == dict.fromkeys(FIELDS, "default")


def test_a_later_source_wins_and_each_value_knows_its_own():
    path = written("model = 'file'\n[chunk]\ntokens = 601\noverlap = 61\n[extract]\nstyle = 'triples'\n")
    environ = {"CONSPECTUS_CHUNK_TOKENS": "602", "CONSPECTUS_CHUNK_OVERLAP": "62", "CONSPECTUS_MODEL": "env"}

    resolved = load({"chunk.tokens": 603}, environ=environ)

    assert resolved.settings.chunk == ChunkSettings(tokens=603, overlap=62)
    assert resolved.settings.model == "env"
    assert resolved.origins["chunk.tokens"] == "given"
    assert resolved.origins["chunk.overlap"] == "CONSPECTUS_CHUNK_OVERLAP"
    assert resolved.origins["model"] == "CONSPECTUS_MODEL"
    assert resolved.origins["extract.style"] == f"conspectus.toml ({path})"
    assert resolved.origins["search.k"] == "default"


def test_a_named_file_goes_before_the_one_that_is_found(tmp_path: Path):
    named = tmp_path / "mine.toml"
    named.write_text("model = 'named'", encoding="utf-8")
    here = written("model = 'here'")

    assert load(environ={}).origins["model"] == f"conspectus.toml ({here})"
    resolved = load(file=named, environ={})
    assert resolved.settings.model == "named"
    assert resolved.origins["model"] == f"mine.toml ({named})"


@pytest.mark.parametrize("root", ["home", "repository"])
def test_the_nearest_file_up_to_the_home_folder_or_the_root_of_a_repository_counts(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    top, deep = tmp_path / "top", tmp_path / "top" / "a" / "b"
    deep.mkdir(parents=True)
    if root == "home":
        monkeypatch.setattr(Path, "home", lambda: top)
    else:
        (top / ".git").mkdir()
    written("model = 'above the root'", tmp_path)
    monkeypatch.chdir(deep)
    assert settings_file() is None

    assert written("model = 'root'", top) == settings_file()
    written("[search]\nk = 9", top / "a")
    assert load(environ={}).settings.search.k == 9
    assert load(environ={}).settings.model == "extractive"  # only one file is read


def test_outside_of_home_and_repositories_only_the_working_directory_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a").mkdir()
    written("model = 'of somebody else'", tmp_path)
    monkeypatch.chdir(tmp_path / "a")
    assert settings_file() is None


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"missing\.toml cannot be read: No such file"):
        load(file=tmp_path / "missing.toml", environ={})


def test_a_path_in_a_file_starts_where_the_file_stands_or_else_in_the_working_directory(tmp_path: Path):
    folder = tmp_path / "tuned"
    (folder / "en").mkdir(parents=True)
    path = folder / "conspectus.toml"
    for said, read in ((".", str(folder)), ("en", str(folder / "en")), ("elsewhere", "elsewhere")):
        path.write_text(f"llm.prompts = '{said}'\n")
        assert load(file=path, environ={}).settings.llm.prompts == read
        assert load({"llm.prompts": said}, environ={}).settings.llm.prompts == said


def test_a_file_with_a_byte_order_mark_and_windows_newlines_is_read(tmp_path: Path):
    (tmp_path / FILE_NAME).write_bytes(b"\xef\xbb\xbf[chunk]\r\ntokens = 700\r\n")

    assert load(environ={}).settings.chunk.tokens == 700


def test_overrides_are_dotted_or_nested():
    resolved = load({"chunk.tokens": 700, "chunk": {"overlap": 7}, "global": {"level": 1}}, environ={})

    assert resolved.settings.chunk == ChunkSettings(tokens=700, overlap=7)
    assert resolved.settings.global_ == GlobalSettings(level=1)
    assert resolved.origins["global.level"] == "given"


def test_none_is_a_value_where_a_setting_may_be_left_open():
    written("global.level = 2")

    assert load({"global.level": None}, environ={}).settings.global_.level is None
    assert "`chunk.tokens` = not set (given)" in complaint({"chunk.tokens": None})


def test_two_keys_never_share_an_environment_variable():
    assert len({variable(key) for key in FIELDS}) == len(FIELDS)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("chunk.tokens", " 800 ", 800),
        ("reports.write", "TRUE", True),
        ("reports.write", "0", False),
        ("hippo.damping", ".5", 0.5),
        ("global.level", "2", 2),
        ("global.level", "auto", "auto"),
        ("extract.entity_types", "person, place", ("person", "place")),
        ("extract.entity_types", '["person", "place"]', ("person", "place")),
        ("model", "3", "3"),
        ("extract.style", "triples", "triples"),
    ],
)
def test_a_text_is_read_as_what_its_setting_holds(key: str, text: str, value: object):
    by_variable = load(environ={variable(key): text})
    by_override = load({key: text}, environ={})

    assert next(row.value for row in describe(by_variable) if row.key == key) == value
    assert by_variable.origins[key] == variable(key)
    assert by_override.settings == by_variable.settings


def test_an_empty_variable_is_not_set_and_reserved_ones_are_not_settings():
    environ = {
        "CONSPECTUS_SEARCH_K": "",
        "CONSPECTUS_INDEX": "folder",
        "CONSPECTUS_LOG": "debug",
        "CONSPECTUS_TOKEN": "of the server",
        "CONSPECTUS_ANY_API_KEY": "secret",
        "PATH": "/bin",
    }

    assert load(environ=environ).settings == Settings()


def test_tables_of_the_readers_own_keys_come_from_every_source():
    tasks = {"ExtractGraph": "small"}
    prices = {"a/b.c": {"input": 0.5, "output": 2}}
    path = written('[llm.tasks]\nExtractGraph = "small"\n[prices."a/b.c"]\ninput = 0.5\noutput = 2\n')
    variables = {
        "CONSPECTUS_LLM_TASKS": '{ ExtractGraph = "small" }',
        "CONSPECTUS_PRICES": '{ "a/b.c" = { input = 0.5, output = 2 } }',
    }
    read = load(file=path, environ={}).settings
    path.unlink()

    assert read.llm.tasks == tasks
    assert read.prices["a/b.c"].output == 2
    assert load(environ=variables).settings == read
    assert load({"llm.tasks": tasks, "prices": prices}, environ={}).settings == read


# Unknown keys


def test_an_unknown_key_of_a_file_names_file_key_and_the_nearest():
    said = complaint(text="model = 'x'\n\n[chunk]\ntokens = 700\noverlpa = 3\n")

    assert f"{Path.cwd() / FILE_NAME})" in said
    assert "`chunk.overlpa`" in said
    assert said.endswith("did you mean `chunk.overlap`?")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("[chnk]\ntokens = 3", "): did you mean `chunk`?"),
        ("[chnk]", "): did you mean `chunk`?"),
        ("tokens = 3", "): did you mean `chunk.tokens`?"),
        ("\nmax_size = 3", "): did you mean `communities.max_size`?"),
        ("zebra = 3", "conspectus config lists all settings"),
        ("search = 3", "it is a table, whose keys are k"),
        ("[[search]]\nk = 3", "it is a table, whose keys are k"),
        ("[global_]\nlevel = 3", "did you mean `global`?"),
    ],
)
def test_an_unknown_key_gets_the_nearest_or_the_known_ones(text: str, end: str):
    assert complaint(text=text).endswith(end)


@pytest.mark.parametrize(
    ("overrides", "end"),
    [
        ({"chunk.overlpa": 3}, "`chunk.overlpa` (given): did you mean `chunk.overlap`?"),
        ({"chunk": {"overlpa": 3}}, "`chunk.overlpa` (given): did you mean `chunk.overlap`?"),
        ({"chnk.tokens": 3}, "`chnk.tokens` (given): did you mean `chunk.tokens`?"),
        ({"modle": "x"}, "`modle` (given): did you mean `model`?"),
    ],
)
def test_an_unknown_override_is_an_error(overrides: dict[str, Any], end: str):
    assert complaint(overrides).endswith(end)


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("CONSPECTUS_CHUNK_TOKNES", "did you mean `CONSPECTUS_CHUNK_TOKENS`?"),
        ("CONSPECTUS_CHNK_TOKENS", "did you mean `CONSPECTUS_CHUNK_TOKENS`?"),
        ("CONSPECTUS_chunk_tokens", "did you mean `CONSPECTUS_CHUNK_TOKENS`?"),
        ("CONSPECTUS_MODLE", "did you mean `CONSPECTUS_MODEL`?"),
        ("CONSPECTUS_QQQQQQQQ", "conspectus config lists all settings"),
    ],
)
def test_an_unknown_variable_is_an_error(name: str, end: str):
    said = complaint(environ={name: "1"})

    assert said.startswith(f"unknown environment variable {name}: ")
    assert said.endswith(end)


# Values that are not allowed


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "chunk.tokens = 5",
            "`chunk.tokens` = 5 ({}) is not allowed: it takes a whole number, at least 10",
        ),
        (f"chunk.tokens = {10**23}", "is not allowed: it takes a whole number, at least 10, at most 1e+09"),
        ("chunk.tokens = '600'", '= "600" ({}) is not allowed: it takes a whole number'),
        ("communities.seed = true", "= true ({}) is not allowed: it takes a whole number"),
        ("chunk.tokens = 600.5", "= 600.5 ({}) is not allowed: it takes a whole number"),
        ("reports.write = 1", "= 1 ({}) is not allowed: it takes true or false"),
        ("extract.style = 'x'", '= "x" ({}) is not allowed: it takes "graph" or "triples"'),
        ("hippo.damping = 2", "= 2 ({}) is not allowed: it takes a number, at least 0, below 1"),
        ("global.level = 'deep'", 'is not allowed: it takes a whole number, at least 0 or "auto"'),
        ("llm.timeout = 0", "= 0 ({}) is not allowed: it takes a number, above 0"),
        ("llm.timeout = inf", "({}) is not allowed: it takes a number"),
        ("llm.budget = nan", "({}) is not allowed: it takes a number"),
        ("model = 2024-01-01", "({}) is not allowed: it takes a text"),
        (
            "extract.entity_types = 'person'",
            '= "person" ({}) is not allowed: it takes a list of texts',
        ),
        (
            "llm.tasks = 'x'",
            '= "x" ({}) is not allowed: it takes a table whose values are each a text',
        ),
        ("llm.tasks = { A = 1 }", '= {{"A": 1}} ({}) is not allowed: it takes a table whose values'),
        ("prices.x = {}", "each {{ input = a number, at least 0; output = a number, at least 0 }}"),
        (
            "extract.entity_types = ['a', 1]",
            '= ["a", 1] ({}) is not allowed: it takes a list of texts',
        ),
    ],
)
def test_a_value_that_is_not_allowed_is_told_with_its_place_and_what_is(line: str, said: str):
    assert said.format(f"{FILE_NAME} ({Path.cwd() / FILE_NAME})") in complaint(text=line)


def test_a_value_of_the_environment_or_of_the_caller_is_told_with_its_source():
    said = complaint(environ={"CONSPECTUS_CHUNK_TOKENS": "many"})
    assert said == (
        '`chunk.tokens` = "many" (CONSPECTUS_CHUNK_TOKENS) is not allowed: it takes a whole number, at least 10, '
        "at most 1e+09"
    )
    assert complaint({"search.k": 0}).startswith("`search.k` = 0 (given) is not allowed")
    assert complaint({"search.k": {(1, 2): object}}).startswith("`search.k` = {")
    assert complaint({"search.k": object}).startswith("`search.k` = <class 'object'> (given)")
    assert len(complaint({"search.k": "x" * 9999})) < 200


def test_a_rule_between_two_keys_tells_where_both_come_from():
    said = complaint({"chunk.overlap": 800}, {"CONSPECTUS_CHUNK_TOKENS": "700"})
    assert said == (
        "`chunk`: overlap (800) must be smaller than tokens (700) (tokens: CONSPECTUS_CHUNK_TOKENS, overlap: given)"
    )
    assert complaint({"chunk.tokens": 50}).endswith("(tokens: given, overlap: default)")


@pytest.mark.parametrize("key", ["llm.base_url", "llm.embedder_base_url", "rerank.by"])
def test_an_address_with_a_password_is_refused_and_not_shown(key: str):
    table, name = key.split(".")
    said = complaint({key: "https://me:secret@host/v1"})
    assert said == (
        f"`{table}`: {name} contains a password; leave it out: keys are read only from the environment ({name}: given)"
    )


def test_a_broken_file_is_told_with_line_and_reason():
    said = complaint(text="[chunk]\ntokens = = 5\n")

    assert said == f"{FILE_NAME} ({Path.cwd() / FILE_NAME}), line 2, column 10: not valid TOML: Invalid value"


def test_a_file_that_is_not_text_is_told(tmp_path: Path):
    (tmp_path / FILE_NAME).write_bytes(b"model = '\xff'")

    assert "is not UTF-8" in complaint()


# Display


def test_a_commented_file_changes_nothing_until_it_is_uncommented():
    text = as_toml()

    assert tomllib.loads(text) == {}
    assert load(file=written(text), environ={}).origins == dict.fromkeys(FIELDS, "default")
    uncommented = re.sub(r"^#(?! )", "", text, flags=re.MULTILINE)
    assert load(file=written(uncommented), environ={}).settings == Settings()
    assert load(file=Path(FILE_NAME), environ={}).origins["search.k"] != "default"


def test_a_single_line_can_be_uncommented_by_itself():
    text = as_toml().replace("#answer.context_tokens = 8000", "answer.context_tokens = 900")

    settings = load(file=written(text), environ={}).settings

    assert settings.answer.context_tokens == 900
    assert settings.reports.context_tokens == 8000


def test_the_file_tells_of_every_table_and_key_what_it_is_and_its_default():
    text = as_toml()

    for table, kind in TABLES.items():
        assert f"# --- {table}: {(kind.__doc__ or '').splitlines()[0]}\n" in text
    for row in describe(load(environ={})):
        assert row.description, f"{row.key} has no description"
        assert f"# {row.description}\n" in text
        assert f"{row.key} " in text
    assert '# a text\n#model = "extractive"\n' in text
    assert '# a whole number, at least 0 or "auto"\n# global.level is not set\n' in text


def test_a_description_has_the_value_the_default_and_the_origin_of_every_key():
    rows = describe(load({"search.k": 7}, environ={"CONSPECTUS_MODEL": "mine"}))

    assert [row.key for row in rows] == list(FIELDS)
    assert ("search.k", 7, 5, "given", "Number of chunks a search returns; answers fill the context") in rows
    assert next(row for row in rows if row.key == "model")[:4] == (
        "model",
        "mine",
        "extractive",
        "CONSPECTUS_MODEL",
    )
    assert all(row.value == row.default for row in rows if row.origin == "default")


@pytest.mark.parametrize("key", ["llm.api_key", "api_key", "llm.openai_api_key", "openai.api-key"])
def test_who_puts_a_key_into_the_settings_is_told_where_keys_belong_and_it_is_not_shown(key: str):
    with pytest.raises(SettingsError, match=r"environment: OPENAI_API_KEY.*CONSPECTUS_API_KEY") as refused:
        load({key: "hollin-4711"}, environ={})
    assert "hollin" not in str(refused.value)
