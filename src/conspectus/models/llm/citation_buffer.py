"""References checked while an answer streams: a block `[Data: …]` is held back until it is whole."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable

LONGEST = 600
"""Characters after which an open bracket is no reference any more."""
_OPEN = re.compile(r"[ \t]*[\[［【][^\]］】]*\Z")
_MAY_BE = re.compile(r"[ \t]*.\s*(?:|d|da|dat|data\b.*|数|数据.*)", re.IGNORECASE | re.DOTALL)
_SPACE = re.compile(r"[ \t]+\Z")


async def buffer_citations(pieces: AsyncIterator[str], translate: Callable[[str], str]) -> AsyncIterator[str]:
    """Yield what `translate` makes of the whole text, in pieces that end outside of references."""
    held = ""
    async for piece in pieces:
        held += piece
        cut = _ready(held)
        if cut and (text := translate(held[:cut])):
            yield text
        held = held[cut:]
    if held and (text := translate(held)):
        yield text


def _ready(text: str) -> int:
    """Return how many characters can be shown: up to an open reference and the space before it."""
    opening = _OPEN.search(text)
    if opening and len(opening[0]) <= LONGEST and _MAY_BE.fullmatch(opening[0]):
        return opening.start()
    space = _SPACE.search(text)
    return space.start() if space else len(text)
