"""A small corpus and settings for tests of the whole pipeline with a language model."""

from __future__ import annotations

import random
from typing import Any

from simulated_server import SimulatedServer

NAMES = (
    "Ada Byrne,Bo Quill,Dora Pask,Vera Stone,Lune Mills,Harbour Office,Kell Council,Rook Barge,Tide Watch,"
    "Mill Lane,Ivo Lang,Rosa Field,North Quay,Elder Press,"
    "Sam Orr,Nell Dray,Weir House,Otter Bank,Pit Lane,Gull Rock"
).split(",")
VERBS = ("met", "wrote to", "bought land from", "sued", "worked for", "praised", "sailed with", "paid")


ASKED = ["What did Ada Byrne do?", "Who bought land from Bo Quill?", "Which matters come up again and again?"]
"""Questions about the corpus."""


def documents(n: int = 12, seed: int = 7) -> list[dict[str, str]]:
    """Return texts that mention names together: mostly names near each other in the list, which form communities."""
    draw = random.Random(seed)
    texts: list[dict[str, str]] = []
    for i in range(n):
        lines: list[str] = []
        for k in range(14):
            at = (i * 2 + draw.randrange(5)) % len(NAMES)
            a, b = NAMES[at], NAMES[(at + 1 + draw.randrange(3)) % len(NAMES)]
            lines.append(f"In {1900 + 3 * i + k} {a} {draw.choice(VERBS)} {b} over matter {i * 100 + k}.")
        texts.append({"title": f"Paper {i}", "text": " ".join(lines), "id": f"p{i:02}"})
    return texts


def settings(url: str, **more: Any) -> dict[str, Any]:
    """Return settings for a simulated server; two underscores in a keyword stand for a dot."""
    return {
        "model": "simulated",
        "llm.base_url": url,
        "chunk.tokens": 120,
        "chunk.overlap": 20,
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def using(server: SimulatedServer) -> tuple[str, ...]:
    """Return the flags of a command that uses a simulated server."""
    return ("--model", "simulated", "--base-url", server.url)
