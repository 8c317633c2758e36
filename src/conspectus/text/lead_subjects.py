"""What a passage is about: its title, and the subject of its first sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conspectus.text.mentions import is_name
from conspectus.text.words import CJK, SMALL, name_key

_SUBJECT = re.compile(r"^\W*(.{2,70}?)\s*(?:\(|\b(?:is|was|are|were|refers|may|has|had|also|born|known|became)\b|;|:)")
_OTHER_NAME = re.compile(rf"(?:known (?:\w+ )?as|born|née|called)\s+[\"“]?((?:[^\W\d_{SMALL}][\w.'’-]*\s?){{2,5}})")
_CHINESE_SUBJECT = re.compile(r"^[《“\"「]?([^，。；：,（(是为]{2,20}?)[》”\"」]?(?:[（(，,]|是|为)")
_PARENTHESIS = re.compile(r"\s*[(（][^)）]*[)）]$")


def title_key(title: str) -> str:
    """Return the key of a title without what it closes with in parentheses."""
    key = name_key(_PARENTHESIS.sub("", title))
    return key if is_name(key) else ""


def lead_subjects(sentence: str) -> list[str]:
    """Return the keys of what a first sentence is about, the fullest first, and the other names it gives it.

    The subject is what stands before the first verb that defines, a parenthesis or a colon, if it is written
    as a name; its part before a comma counts too.
    """
    found = [*_subject(sentence), *map(name_key, _OTHER_NAME.findall(sentence))]
    return [key for key in dict.fromkeys(found) if is_name(key)]


def _subject(sentence: str) -> Iterator[str]:
    if CJK.search(sentence):
        match = _CHINESE_SUBJECT.match(sentence)
        if match:
            yield name_key(match.group(1))
        return
    match = _SUBJECT.match(sentence)
    subject = match.group(1).strip(' ,"“”') if match else ""
    if subject and (subject[0].isupper() or subject[0].isdigit()) and len(subject.split()) <= 9:
        yield name_key(subject)
        if "," in subject:
            yield name_key(subject.partition(",")[0])
