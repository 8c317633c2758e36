"""Texts of documents in prompts: fenced as data, so that nothing in them can pass for what is asked."""

from __future__ import annotations

import re

_TAG = re.compile(r"[<＜]\s*[/／]?\s*data(?:-(\d+))?", re.IGNORECASE)


def fence(text: str) -> str:
    """Return a text between `<data>` and `</data>`, numbered so that the text has no such tag.

    `<|` is parted, so that no server reads a model's control tokens (`<|im_end|>`) out of a document.
    """
    numbers = [int(number or 1) for number in _TAG.findall(text)]
    tag = f"data-{max(numbers) + 1}" if numbers else "data"
    return f"<{tag}>\n{text.strip().replace('<|', '< |')}\n</{tag}>"
