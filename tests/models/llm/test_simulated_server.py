"""The simulated server has the properties that other tests rely on."""

from __future__ import annotations

import json
from typing import Any

import simulated_replies
from hypothesis import given
from hypothesis import strategies as st
from simulated_server import Behaviour, Service

TEXT = (
    "Ada Byrne of Lune Mills met Bob Carr in Kell. Bob Carr bought Rook from Quill House. Dora Vane watched."
)
SYSTEM = {"role": "system", "content": "# Task: ExtractGraph\n\nof one of these types: person, place.\n"}
USER = {"role": "user", "content": f"<data>\n{TEXT}\n</data>"}


def graph(messages: list[dict[str, str]]) -> dict[str, Any]:
    return json.loads(simulated_replies.reply_to(messages))


def test_gleaning_gives_what_was_missed_and_nothing_twice():
    many = " ".join(f"Ada{n:c} Bell{n:c} met Tom{n:c} Hart." for n in range(97, 123))
    user = {"role": "user", "content": f"<data>\n{many}\n</data>"}
    first = graph([SYSTEM, user])
    said = {"role": "assistant", "content": json.dumps(first)}
    more = graph([SYSTEM, user, said, {"role": "user", "content": "# Task: GleanMore\n\nMore."}])
    names = [[entity["name"] for entity in found["entities"]] for found in (first, more)]

    assert len(names[0]) > 40
    assert names[1]
    assert not set(names[0]) & set(names[1])
    asked = [SYSTEM, user, said, {"role": "user", "content": "# Task: AnyMissed\n\nyes or no"}]
    assert simulated_replies.reply_to(asked) == "yes"


def test_a_request_for_a_repair_is_answered_like_the_original():
    bad = {"role": "assistant", "content": "{broken"}
    repair = {"role": "user", "content": "That reply cannot be used: it is no JSON."}
    assert graph([SYSTEM, USER, bad, repair]) == graph([SYSTEM, USER])
    assert graph([SYSTEM, USER, bad, repair, bad, repair]) == graph([SYSTEM, USER])


def test_relationships_are_of_listed_entities():
    found = graph([SYSTEM, USER])
    names = {entity["name"] for entity in found["entities"]}
    assert names
    assert all({r["source"], r["target"]} <= names for r in found["relationships"])
    assert {entity["type"] for entity in found["entities"]} <= {"person", "place"}


def test_names_are_found_in_chinese():
    user = {"role": "user", "content": "<data>\n周秀兰在永和米行。周秀兰是永和米行的人。\n</data>"}
    names = {entity["name"] for entity in graph([SYSTEM, user])["entities"]}
    assert names <= {"周秀兰", "永和米行"}
    assert names


@given(st.integers(0, 1000), st.integers(1, 5))
def test_a_fault_depends_on_seed_request_and_how_often_it_came(seed: int, times: int):
    one, other = (Service(Behaviour(seed=seed, errors=0.5)) for _ in range(2))
    one.asked["k"] = other.asked["k"] = times
    assert one._draws("errors", "k") == other._draws("errors", "k")  # pyright: ignore[reportPrivateUsage]


def test_similar_texts_have_similar_vectors():
    service = Service(Behaviour(dimension=64))
    a, b, c = (
        service.vector(t) for t in ("the red barge sails", "the red barge rests", "tax law reform act")
    )

    def near(x: list[float], y: list[float]) -> float:
        return sum(p * q for p, q in zip(x, y, strict=True))

    assert near(a, b) > near(a, c) + 0.2
    assert service.vector("the red barge sails") == a


def test_unknown_tasks_get_replies_that_fit_their_schema():
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "n": {"type": "integer"},
            "list": {"type": "array", "items": {"type": "string"}},
            "kind": {"type": "string", "enum": ["A", "B"]},
            "flag": {"type": "boolean"},
        },
    }
    reply = json.loads(
        simulated_replies.reply_to([{"role": "user", "content": "one two three"}], schema, "Other")
    )
    assert {name: type(value) for name, value in reply.items()} == {
        "name": str, "n": int, "list": list, "kind": str, "flag": bool
    }  # fmt: skip
    assert reply["kind"] in ("A", "B")
