"""A schema of the graph: types with known names and relations, which guide a model and the rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedModel

import conspectus
from conspectus.errors import SettingsError
from conspectus.models.llm.prompts import Prompts
from conspectus.tasks import (
    AnyMissed,
    DescribeElement,
    DescribeElements,
    ExtractGraph,
    Extraction,
    FoundEntity,
    FoundRelationship,
)

SCHEMA = """
strict = true

[entities.Person]
description = "people, by full name"

[entities.firm]
names = ["Orran Mill"]

[[relations]]
source = "person"
relation = "owns"
target = "firm"
"""
TEXTS = ["Ada Brook owns Orran Mill. Ada Brook met Tom Pask in Kell.", "Tom Pask of Kell left Orran Mill."]
FOUND = Extraction(
    (
        FoundEntity("Ada Brook", "Person", "An owner"),
        FoundEntity("Tom Pask", "person", "A man"),
        FoundEntity("Orran Mill", "organization", "A mill"),
        FoundEntity("Kell", "location", "A town"),
    ),
    (
        FoundRelationship("Ada Brook", "Orran Mill", "Ada Brook owns Orran Mill", 8),
        FoundRelationship("Ada Brook", "Tom Pask", "They met", 5),
        FoundRelationship("Tom Pask", "Kell", "Tom Pask is of Kell", 5),
    ),
)


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    file = tmp_path / "schema.toml"
    file.write_text(SCHEMA, encoding="utf-8")
    return file


def built(tmp_path: Path, schema: Any, model: Any = None) -> conspectus.Index:
    more: dict[str, Any] = {"model": model} if model else {}
    settings = {"extract.graph_schema": schema, "reports.write": False, "extract.max_gleanings": 0}
    return conspectus.build(documents=TEXTS, folder=tmp_path / "index", settings=settings, **more).index


def a_model() -> ScriptedModel:
    return ScriptedModel(
        {
            ExtractGraph: lambda _: FOUND,
            AnyMissed: lambda _: False,
            DescribeElement: lambda task: task.descriptions[0],
            DescribeElements: lambda task: [element.descriptions[0] for element in task.elements],
        }
    )


def test_a_strict_schema_leaves_out_other_types_and_relations(tmp_path: Path, schema: Path):
    model = a_model()
    index = built(tmp_path, str(schema), model)

    assert {entity.name: entity.type for entity in index.entities} == {
        "Ada Brook": "person",
        "Tom Pask": "person",
        "Orran Mill": "firm",
    }
    assert [{r.source, r.target} for r in index.relationships] == [{"Ada Brook", "Orran Mill"}]
    assert model.all_seen(ExtractGraph)[0].entity_types == ("person", "firm")


def test_without_strict_only_the_known_names_change_their_type(tmp_path: Path, schema: Path):
    schema.write_text(SCHEMA.replace("strict = true", "strict = false"), encoding="utf-8")
    index = built(tmp_path, str(schema), a_model())

    assert {entity.name: entity.type for entity in index.entities}["Orran Mill"] == "firm"
    assert "Kell" in {entity.name for entity in index.entities}
    assert len(index.relationships) == 3


def test_rules_give_known_names_their_types(tmp_path: Path, schema: Path):
    index = built(tmp_path, str(schema))
    assert {entity.type for entity in index.entities} == {"person", "firm"}
    assert [entity.name for entity in index.entities if entity.type == "firm"] == ["Orran Mill"]


def test_rules_look_for_listed_names_that_nothing_else_tells(tmp_path: Path):
    texts = [
        "Every kittiwake left before the storm. Tom Pask of Kell saw it.",
        "The gauge of Kell Harbour failed; 雨石 stands there, and Kell pays.",
    ]
    names = {
        "bird": {"names": ["kittiwake"]},
        "town": {"names": ["Kell", "Marrow"]},
        "stone": {"names": ["雨石"]},
    }
    settings = {"extract.graph_schema": {"entities": names, "strict": True}}
    index = conspectus.build(documents=texts, folder=tmp_path, settings=settings).index

    assert {e.name: (e.type, e.frequency) for e in index.entities} == {
        "kittiwake": ("bird", 1),
        "Kell": ("town", 2),
        "雨石": ("stone", 1),
    }
    assert index.relationships
    assert index.ask("What left before the storm?", method="local").text


def test_the_prompt_says_what_belongs_to_a_type_and_which_relations_count(tmp_path: Path, schema: Path):
    model = a_model()
    built(tmp_path, str(schema), model)
    system, _ = Prompts().render(model.all_seen(ExtractGraph)[0])

    assert "person: people, by full name" in system.content
    assert "firm: Orran Mill" in system.content
    assert "person owns firm" in system.content


def test_a_changed_schema_is_read_anew(tmp_path: Path, schema: Path):
    built(tmp_path, str(schema), a_model())
    same, changed = a_model(), a_model()
    built(tmp_path, str(schema), same)
    schema.write_text(SCHEMA.replace("[entities.firm]", "[entities.firm]\ndescription = 'mills'"), "utf-8")
    built(tmp_path, str(schema), changed)

    assert not same.tasks
    assert "firm: mills, Orran Mill" in changed.all_seen(ExtractGraph)[0].guidance


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SCHEMA.replace('target = "firm"', 'target = "ship"'), "ship"),
        ("strict", "Expected"),
        ("strict = true", "entities"),
    ],
)
def test_a_wrong_schema_is_an_error_that_says_why(tmp_path: Path, schema: Path, text: str, reason: str):
    schema.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=reason):
        built(tmp_path, str(schema))


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"nothing\.toml.*cannot be read"):
        built(tmp_path, str(tmp_path / "nothing.toml"))
