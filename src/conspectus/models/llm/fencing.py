"""Texts of documents in prompts: fenced as data, so that nothing in them can pass for what is asked."""

from __future__ import annotations

import re

_TAG = re.compile(r"[<＜]\s*[/／]?\s*data(?:-(\d+))?", re.IGNORECASE)


def inert(text: str) -> str:
    """Return a text with each `<|` parted, so that no server reads a model's control tokens (`<|im_end|>`) in it."""
    return text.replace("<|", "< |")


def fence(text: str, *beside: str) -> str:
    """Return an inert text between `<data>` and `</data>`, numbered so that neither it nor any beside has the tag."""
    numbers = [int(number or 1) for one in (text, *beside) for number in _TAG.findall(one)]
    tag = f"data-{max(numbers) + 1}" if numbers else "data"
    return f"<{tag}>\n{inert(text.strip())}\n</{tag}>"
