"""Sentences: their spans in a text, and how well each one reads on its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from conspectus.lazy import cached_by_hash
from conspectus.text.blocks import is_data
from conspectus.text.language import ENGLISH, function_words, text_pattern
from conspectus.text.language_rules import rules_of
from conspectus.text.question import question_pattern
from conspectus.text.words import CJK, SMALL, STOPWORDS, UNSPACED, VAGUE, is_unspaced, stopwords

_NOTES = r"(?:(?:\[\d{1,3}\]|[¹²³⁰⁴-⁹])++|(?<=[^\W\d_]{3}[.?!])\d{1,3}(?:[,–-]\d{1,3})*+)?+"
"""Numbers of notes after the end of a sentence: "in the north.[12]", "in women.8", which are no decimals."""
_WIDE = re.compile(
    rf"(?=[。！？；…!?])(?:[。！？；…]++(?!\s*等)|(?<={CJK.pattern})[!?]+(?=[”’」』）》]*{CJK.pattern}))[”’」』）》]*{_NOTES}"
)
"""End marks that need no space after them; the lookahead at the first character saves half of the time."""


@cache
def _runs(marks: str) -> re.Pattern[str]:
    """Return the pattern of runs of end marks with the closing quotes after them.
    Its second group participates if a space and then no lower-case word follows. Runs that end no sentence are matched
    as well, so that each is examined only once: 60 kB of dots took 94 s when every dot was tried.
    """
    return re.compile(
        rf"""([{marks}]++)["'”’“»)\]]*+{_NOTES}(?:(?=\s+(?:[-*•|]\s+)?(?:["'“‘„¿¡(\[]|«\s?)*[^\W_{SMALL}等])())?"""
    )


_MARKS, _GREEK_MARKS = ".!?…؟۔।॥", ".!;?…؟۔।॥"
_ABBREVIATION = question_pattern(ENGLISH, "abbreviation", re.NOFLAG)
_BEFORE_NUMBER = re.compile(f"{_ABBREVIATION.pattern}|{text_pattern('sentences', 'before_number').pattern}")
_ABBREVIATION_ELSEWHERE = text_pattern("sentences", "abbreviation_elsewhere")
_ITEM = re.compile(r"\s+[-*•|]\s+")
_LISTS = re.compile(r":\s+[-*•]\s")
"""The start of a list inside a line; its items form one sentence, while other items are sentences of their own."""
VALUE_WORDS = 3
"""Number of words up to which a table cell with an end mark is a value ("Tolan Inc. | 1976") and not a sentence."""
_ORDINAL = re.compile(r"(?:^|\W)(?:\d{1,3}|[IVX]{1,4})$")
_NEXT_WORD = re.compile(r"\W*(\w+)")
ORDINALS = frozenset("de da no fi pl cs hu".split())
"""Languages that write a full stop after an ordinal number."""
_TIME = text_pattern("sentences", "time").pattern
_MARKS_ITEM = rf"[-*•–—>#|]|\d+(?:\)|\.\s\s)\s|[{SMALL}][.)]\s(?!\w\.|\d)|(?=\[|\d+[-./]){_TIME}"
_BULLET = re.compile(rf"\s*(?:{_MARKS_ITEM})|[^|]+ \| ")
_NUMBERED = re.compile(r"\s*(\d{1,3})\.\s")
_LABELLED = rf"<\S{{1,30}}>\s|(?:[^\W\d_{SMALL}][^:：\n]{{0,40}}|[^\W\d_]\w*)(?::(?!\S)|：)"
_LABEL = re.compile(rf"\s*(?:{_TIME})?(?:{_LABELLED})")
_NOT_BLANK = re.compile(r"^.*\S.*$", re.MULTILINE)
_LABEL_IN_LOWER_CASE = re.compile(r"\w+(?: \w+){0,3}:")
WRAPPED = 55
"""Length in characters from which on a line may have been wrapped, so that its sentence continues in the next. Of 1,899
lines of a novel of 70 columns that end inside a sentence 98.6 % are at least this long; with 65 it would be 91.5 %."""
MOST_WRAPPED = 120
"""The length above which a line is a paragraph: of 1,143 such lines of podcasts, medquad, society and mathematics without
an end mark, which another line follows at once, 14 go on below, all in lower case."""
WRAPPED_BEFORE_SMALL = 30
"""The same if the next line opens with a lower-case letter. All 52 such lines below 55 characters in 20 wire stories,
whose first lines are short, continue; of shorter ones in READMEs, half are code or lists."""


def lines(text: str, language: str = ENGLISH) -> Iterator[tuple[int, int]]:
    """Yield the spans of logical lines: paragraphs, headings, list items, turns of speech.
    A newline ends a logical line unless the line looks wrapped: long, but no paragraph, without table cells or an end mark ("i.e." before
    lower case is none), not followed by a list item, table row, time or label ("Name: …"), nor by a blank line unless
    it goes on in lower case. A number with a full stop opens an item in a list, but not if 1 may be an ordinal.
    """
    start: int | None = None
    stop = previous_length = 0
    number, first = (-1, 0) if language in ORDINALS else (0, 1)
    ended, last = False, ""
    for line in _NOT_BLANK.finditer(text):
        raw, words, below = line[0], line[0].strip(), line.start() > stop + 1
        small = words[0].islower() and not (below and _LABEL_IN_LOWER_CASE.match(words))
        ended &= not (small and _ABBREVIATION.search(last))
        ended |= previous_length < (WRAPPED_BEFORE_SMALL if small and not below else WRAPPED)
        ended |= previous_length > MOST_WRAPPED and not small
        numbered = _NUMBERED.match(raw)
        follows = numbered and int(numbered[1]) in (number + 1, first)
        ended |= bool(follows or _BULLET.match(raw) or _LABEL.match(raw))
        if start is not None and (ended or (below and not small)):
            yield start, stop
            start = None
        start = line.start() if start is None else start
        number = int(numbered[1]) if numbered else number
        previous_length = 0 if " | " in raw else len(raw)
        last = raw.rstrip()[-13:-1]
        ended = (
            words[-1] in ".!?:。！？…" or "...." in words or ". . . ." in words
        )  # leaders of a contents line
        stop = line.end()
    if start is not None:
        yield start, len(text)


def sentences(
    text: str, start: int = 0, end: int | None = None, language: str = ENGLISH
) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences in a line, without surrounding white space."""
    end = len(text) if end is None else end
    begin, in_list = start, False
    for at, stop in _ends(text, start, end, _GREEK_MARKS if language == "el" else _MARKS):
        before = max(begin - 1, at - 12, 0)  # far enough back for an abbreviation
        abbreviation = _BEFORE_NUMBER if text[stop + 1 : stop + 2].isdigit() else _ABBREVIATION
        if text[at] == "." and abbreviation.search(text, before, at):
            continue
        if language != ENGLISH and _continues(text, before, at, stop, language):
            continue
        item = _ITEM.match(text, stop, end)
        if item and "|" in item[0]:
            cell = text[max(text.rfind("|", begin, at) + 1, begin) : at]
            is_value = text[at] in _MARKS and len(cell.split()) <= VALUE_WORDS
        else:
            in_list = item is not None and (in_list or bool(_LISTS.search(text, begin, at)))
            is_value = False
        if in_list or is_value:
            continue
        if span := _trimmed(text, begin, stop):
            yield span
        begin, in_list = item.end() if item else stop, False
    if span := _trimmed(text, begin, end):
        yield span


def _ends(text: str, start: int, end: int, marks: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of end marks with the closing quotes after them; overlapping spans are merged."""
    ends = [run.span() for run in _runs(marks).finditer(text, start, end) if run.group(2) is not None]
    if not text.isascii():
        ends += (wide.span() for wide in _WIDE.finditer(text, start, end))
        ends.sort()
    for i, (at, stop) in enumerate(ends):
        if i + 1 < len(ends) and ends[i + 1][0] < stop:
            ends[i + 1] = at, max(stop, ends[i + 1][1])
        else:
            yield at, stop


def _continues(text: str, before: int, start: int, end: int, language: str) -> bool:
    """Return whether a sentence continues after the end mark from `start` to `end`.
    It does if a lower-case word follows, after an abbreviation, or after a number that the mark makes an ordinal
    ("am 3. Oktober") unless a function word follows, which opens a new sentence.
    """
    following = _NEXT_WORD.match(text, end)
    word = following.group(1) if following else ""
    if word[:1].islower() and text[end : end + 1].isspace():
        return True
    if text[start:end] != ".":
        return False
    if _ABBREVIATION_ELSEWHERE.search(text, before, start):
        return True
    opens = word.lower() in function_words(language)
    return language in ORDINALS and not opens and bool(_ORDINAL.search(text, before, start))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end].lstrip()
    start = end - len(piece)
    return (start, start + len(piece.rstrip())) if piece else None


_OPENING = question_pattern(ENGLISH, "opens_loosely")
_FILLER = question_pattern(ENGLISH, "filler", re.NOFLAG)
"""Filler words, in lower case since a pattern that ignores case takes three times as long. Of 1,000 words in findings
on 60 parts of podcasts, 14 are filler words; 26 if these do not lower the score."""
_DANGLING = question_pattern(ENGLISH, "dangles")
_WORD = re.compile(r"[^\W_]++(?:['’][^\W_]++)?+")
_SAYS_LITTLE = STOPWORDS | VAGUE
_ADDRESS = re.compile(r"\S*(?:@|://)\S*|^(?:Subject|Re|Fwd?): .*")
_VERB = re.compile(rf"[^\W\d_] (?:is|was|are|were|has|had|may|can|will|would) [{SMALL}]")
_END = re.compile(rf"[.!?。！？…؟۔।][\"”’'»)\]」』]*{_NOTES}$")
ASKS = ("?", "？", "؟")
"""The end marks of questions, and the closing quotes and brackets that may follow them."""
CLOSING = "\"”’'」』）)»"

# Chinese and Japanese
_OPENING_UNSPACED = question_pattern("zh", "opens_loosely", re.NOFLAG)
_DANGLING_UNSPACED = question_pattern("zh", "dangles", re.NOFLAG)
_SHORT = 12
"""Characters at which a Chinese or Japanese sentence is long enough; half or double changes no quotation of cmrc-zh."""


def without_opening(sentence: str, language: str = ENGLISH) -> str:
    """Return the sentence without opening words that only link it to the previous one ("Yeah, and so …")."""
    if UNSPACED.match(sentence):
        return _OPENING_UNSPACED.sub("", sentence, count=1)
    # a fragment in lower case stays: with a capital, it would look like a sentence
    if language != ENGLISH or sentence[:1].islower():
        return sentence
    opening = _OPENING.match(sentence)
    rest = sentence[opening.end() :] if opening else sentence
    if len(rest) < 25:
        return sentence
    # most sentences stay the same: return the same object, since copies would take as much memory again
    return rest if rest[:1] == (capital := rest[:1].upper()) else capital + rest[1:]


CACHED = 1 << 17
"""Sentences whose quality is cached (up to 13 MB), since extraction and descriptions read the same ones. 16.8 MB of
web pages on society have 55,867 sentences; with 1 << 14, their descriptions take 4.7 CPU seconds instead of 3.6."""


def quality(sentence: str, language: str = ENGLISH) -> float:
    """Return how well a sentence reads on its own, 0 to 1. Fragments, greetings and questions score near 0."""
    return _quality(without_opening(sentence, language), language)


@cached_by_hash(CACHED)
def _quality(rest: str, language: str) -> float:
    score = 1.0 if _END.search(rest) else 0.35
    first = rest.lstrip("\"“‘'([«„¿¡「『《（")[:1]
    if first.islower() or not first.isalnum():
        score *= 0.35
    if rest.rstrip(CLOSING).endswith(ASKS):
        score *= 0.3
    if is_unspaced(rest):
        score *= min(1.0, len(UNSPACED.findall(rest)) / _SHORT)
        return score * (0.55 if _DANGLING_UNSPACED.match(rest) else 1.0)
    small = rest.lower()
    words = _WORD.findall(small.replace("’", "'"))
    count = len(words)
    if count < 4:
        return 0.05 if count else 0.0
    little = _SAYS_LITTLE if language == ENGLISH else stopwords(language)
    content = count - sum(map(little.__contains__, words))
    length = 0.3 + 0.08 * count if count < 8 else max(0.3, 1 - max(count - 38, 0) / 60)
    score *= min(content / count / 0.45, 1.0) * length
    if language != ENGLISH:
        return score * (0.55 if words[0] in rules_of(language).before_verbs else 1.0)
    if _DANGLING.match(rest):
        score *= 0.55
    return score * 0.75 ** len(_FILLER.findall(small))


MIN_SMALL, MANY_SMALL = 5, 12
"""Lower-case words from which on a line without end mark and verb is no heading: the first number if there are twice as
many of them as other words, the second in any case. The sample's headings have at most 10 (two of 17 lines that pass
are headings); Wikipedia's one-line tables of facts, which answer a few of MuSiQue's questions, have 19 or more."""
_SAYS_NOTHING = question_pattern(ENGLISH, "says_nothing")
"""A sentence that only points to further reading, or has a number of 30 or more digits. Without it 9 of 56 answers on
diseases change, and quote "Check the list of …"."""
_REFERENCE = question_pattern(ENGLISH, "refers_to_work", re.NOFLAG)
"""Parts of a bibliographic reference: volume and pages, DOI, ISBN. Without it, 4 of 92 answers quote references."""
_PROSE = question_pattern(ENGLISH, "prose", re.NOFLAG)


def states(sentence: str) -> bool:
    """Return whether a text is a statement: no question, heading, row of names or figures, reference or pointer."""
    if sentence.endswith(ASKS) or _SAYS_NOTHING.match(sentence):
        return False
    if is_data(sentence):
        return False
    if _REFERENCE.search(sentence) and not _PROSE.search(sentence):
        return False
    ended = _END.search(sentence) is not None or sentence.endswith("；")
    if is_unspaced(sentence):
        return ended or len(UNSPACED.findall(sentence)) >= _SHORT
    words = [word[0] for word in _WORD.findall(_ADDRESS.sub("", sentence)) if not word[0].isdigit()]
    small = sum(not first.isupper() for first in words)
    least = max(MIN_SMALL, min(MANY_SMALL, 2 * (len(words) - small)))
    return small >= (1 if ended or _VERB.search(sentence) else least)
