"""The paper's format of records (GraphRAG appendix E.1): `("entity"<|>"NAME"<|>"TYPE"<|>"DESCRIPTION")`, with `##`
between.

`<|COMPLETE|>` stands after the last; without it a reply was cut off. Models number their records, forget the
`##`, put headings between, leave out a quote or part of a `<|>`. A record is found by how it opens, so that a
broken one never takes its neighbours along.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

END = "<|COMPLETE|>"
KEYS: Mapping[str, Sequence[str]] = {
    "entity": ("name", "type", "description"),
    "relationship": ("source", "target", "description", "strength"),
    "claim": ("subject", "object", "type", "status", "start_date", "end_date", "description", "source_text"),
}
_ALSO = {"relation": "relationship"}

_OPENING = re.compile(r"""\(\s*(?:"(\w+)"|“(\w+)”|'(\w+)'|(\w+))\s*(?:<\|>|</?\|>|(?<=["”'])\|>)""")
_PART = re.compile(r"""\s*<\|>\s*|(?<=["”'])\s*(?:</)?\|>\s*""")
_NOISE = r"(?>\*\*[^*\n]+\*\*|[\s#*`>-]+|\d+\.|<\|complete\|>)*"
_CLOSING = re.compile(rf"\){_NOISE}\Z", re.IGNORECASE)
_EARLY_CLOSING = re.compile(r"""(?<=["”\d])\s*\)\s*(?:##|\n)""")
_END = re.compile(r"<\|\s*complete\s*\|>", re.IGNORECASE)
_END_OF_ALL = re.compile(r"<\|\s*complete\s*\|>[\s`]*\Z", re.IGNORECASE)
_ESCAPE = re.compile(r'\\u([0-9a-fA-F]{4})|\\(")')
_MARKS = re.compile(r"<\||\|>")
_BAR = "\\u007c"


@dataclass
class Records:
    """The records of a reply, by their kinds; `cut` where the end mark is missing."""

    found: list[tuple[str, Mapping[str, str]]] = field(default_factory=list[tuple[str, Mapping[str, str]]])
    dropped: list[str] = field(default_factory=list[str])
    repaired: list[str] = field(default_factory=list[str])
    cut: bool = False


def read(text: str) -> Records:
    """Return every record of a reply that can be read without guessing, and what is wrong with the others."""
    records = Records()
    openings = list(_OPENING.finditer(text))
    starts = [opening.start() for opening in openings] + [len(text)]
    rest = text[: starts[0]]
    _strays(rest, records)
    for n, opening in enumerate(openings, 1):
        rest = _record(text[starts[n - 1] : starts[n]], opening, f"record {n}", records)
        _strays(rest, records)
    records.cut = not (_END.search(rest) or _END_OF_ALL.search(text))
    return records


def _record(text: str, opening: re.Match[str], which: str, records: Records) -> str:
    """Read the record that a text opens with, and return what follows it."""
    kind = opening[opening.lastindex or 0].lower()
    if kind in _ALSO:
        records.repaired.append(f"{which}: {kind!r} was read as {_ALSO[kind]!r}")
        kind = _ALSO[kind]
    keys = KEYS.get(kind, ())
    closings = [found for closing in (_CLOSING, _EARLY_CLOSING) if (found := closing.search(text))]
    if not closings:
        records.dropped.append(f"{which}: it does not end")
        return ""
    bodies = [text[opening.end() - opening.start() : closing.start()] for closing in closings]
    # What follows a record may have a bracket too: of two endings, the one with the right number of fields.
    best = next((n for n, body in enumerate(bodies) if len(_PART.split(body)) == len(keys)), 0)
    parts = [_unquoted(part, which, records) for part in _PART.split(bodies[best])]
    if not keys:
        records.dropped.append(f"{which}: there are no records of kind {kind!r}")
    elif len(parts) != len(keys):
        records.dropped.append(f"{which}: {len(parts)} fields where a record of kind {kind!r} has {len(keys)}")
    else:
        if len(_MARKS.findall(bodies[best])) != bodies[best].count("<|>"):
            records.repaired.append(f"{which}: a damaged <|>")
        records.found.append((kind, dict(zip(keys, parts, strict=True))))
    return text[text.index(")", closings[best].start()) + 1 :]


def _strays(text: str, records: Records) -> None:
    """Report what looks like a record but does not open like one."""
    for line in re.split(r"##|\n", _END.sub("", text)):
        if _MARKS.search(line) or re.match(r"""\s*\(\s*["“]""", line):
            records.dropped.append(f"{line.strip()[:40]!r}: it does not open as a record does")


def _unquoted(part: str, which: str, records: Records) -> str:
    part = part.strip()
    if len(part) > 1 and part[0] == part[-1] == "'":
        part = f'"{part[1:-1]}"'
    for opening, closing in ('""', "“”"):
        if part.startswith(opening) or (opening == '"' and part.endswith(closing)):
            if not (len(part) > 1 and part.startswith(opening) and part.endswith(closing)):
                records.repaired.append(f"{which}: a quote was missing")
            part = part.removeprefix(opening).removesuffix(closing)
            break
    return _ESCAPE.sub(lambda m: m[2] or chr(int(m[1], 16)), part)


def write(records: Iterator[tuple[str, Sequence[str | float]]]) -> str:
    """Return records in the format; what a text may not contain in it is written as `\\u0022`."""
    lines = ["<|>".join((f'("{kind}"', *map(_field, values))) + ")" for kind, values in records]
    return "\n##\n".join(lines) + f"\n{END}"


def _field(value: str | float) -> str:
    if isinstance(value, float | int):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    safe = value.replace("\\", "\\u005c").replace('"', "\\u0022").replace("##", "#\\u0023")
    return f'"{safe.replace("|", _BAR)}"'
