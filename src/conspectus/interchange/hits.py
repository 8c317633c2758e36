"""What every retriever gives of a hit: its text, and where that stands."""

from __future__ import annotations

from typing import Any

from conspectus.rows import Hit


def metadata_of(hit: Hit) -> dict[str, Any]:
    """Return where a hit stands: document, title, characters, place on a page, the chunk's id, and its score."""
    return {
        "document": hit.document,
        "title": hit.title,
        "start": hit.start,
        "end": hit.end,
        "place": hit.place,
        "chunk": hit.chunk,
        "score": hit.score,
    }
