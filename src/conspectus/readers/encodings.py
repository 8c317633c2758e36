"""The encoding of bytes: which one they are in, and what to do with bytes that are invalid in it.

UTF-8 recognises itself: bytes above 127 that form its sequences hardly ever do so by chance. A file most of whose
characters are valid UTF-8 is read as UTF-8, and what is invalid in it costs one U+FFFD each; only a file that is
mostly something else goes to the detector. The detector works by statistics: it tells other alphabets and Chinese,
Japanese and Korean well, but mistakes French or Spanish, even long texts, for Central European languages. Of texts in
the Latin alphabet we therefore choose the encoding ourselves: the one that makes words of them.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from typing import NamedTuple

from conspectus.errors import DocumentError
from conspectus.readers import BINARY, newlines
from conspectus.rows import EncodingWarning

REPLACEMENT = "\ufffd"
ENCODINGS = ("cp1252", "cp1250", "cp1254", "cp1257", "iso8859_2", "iso8859_9", "mac_roman", "cp850", "cp852")
"""From the likeliest on: of two that say the same of a text, it is the first."""
ALPHABETS = (
    "àâæçéèêëîïôœùûü", "áéíñóúüªº", "áâãàçéêíóôõúüªº", "äöüßé", "àèéìíîòóùú", "éèëêïóöüáíú", "åäöéàü",
    "æøåéèóô", "áðéíóúýþæö", "àçèéíïòóúü·", "äöõüšž", "ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž",
    "áéíóöőúüű", "ăâîşţșț", "čćđšž", "çğıi̇öşüâîû", "ąčęėįšųūž", "āčēģīķļņšūž",
)  # fmt: skip
"""The letters beyond ASCII of French, Spanish, Portuguese, German, Italian, Dutch, Swedish and Finnish, Danish and
Norwegian, Icelandic, Catalan, Estonian, Polish, Czech, Slovak, Hungarian, Romanian, Croatian and Slovene, Turkish,
Lithuanian and Latvian. French has no ÿ here: it is in a few place names only, and 0xFF is a common damaged byte."""
_SAMPLE = 1 << 16
"""Characters that tell."""
_LETTER = r"[^\W\d_]"
_MARK = re.compile(
    rf"(?<!{_LETTER})[‘‚“„«‹¿¡–—…•\xa0]|[’“”»›–—…\xa0](?!{_LETTER})"
    rf"|(?<!{_LETTER})[€£§©®°±](?!{_LETTER})|(?<={_LETTER})’(?={_LETTER})"
)
"""A mark where marks stand: not within a word, but for the apostrophe."""
_OTHER = re.compile(r"[^\x00-\x7f]")
_INSIDE = re.compile(r"(?<=[a-z])[^\x00-\x7f]")
"""A character where no capital stands, and no line of a box."""
_MIXED = 0.2
"""Share of letters beside those of ASCII above which they are none of another alphabet."""
_PLAUSIBLE = 0.5
"""Share of the characters beyond ASCII that an encoding of Latin letters must account for."""
_SHORT = 16
"""Characters of a text in which accented letters may be the most by chance."""
_DAMAGED = 0.1
"""Share of the characters that may be invalid: of a file with more, nobody can tell what it says."""
_PIECE, _PIECES = 4096, 8
"""Bytes of a piece that the detector sees alone, since one damaged byte keeps it from recognising what holds it; and
how many pieces it sees, spread over the file."""
_RUN = re.compile(f"{REPLACEMENT}{{2,}}")
_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_SEVEN_BITS = ("iso2022", "hz", "utf-7")
"""Encodings whose bytes are ASCII, and so UTF-8, too: it takes a statement to know them."""
_CONTROL = bytes(c for c in (*range(32), 127) if c not in b"\t\n\r\v\f\b\x1b")
_STRAY = 200
"""A text of so many bytes may hold one stray NUL or control character for each of them, and is not binary for it."""


class Decoded(NamedTuple):
    """The text of bytes, and how it was had."""

    text: str
    encoding: str = "utf-8"
    invalid: int = 0
    """Bytes that are invalid in the encoding; each run of them that can have been one character is a U+FFFD."""
    first: int = -1
    """Offset of the first of them, in bytes."""
    guessed: bool = False
    """Whether the detector said which encoding it is."""

    def warnings(self, document: str) -> tuple[EncodingWarning, ...]:
        """Return what to tell of a document whose encoding had to be guessed, or that holds invalid bytes."""
        if not self.guessed and not self.invalid:
            return ()
        return (EncodingWarning(document, self.encoding, self.invalid, self.first),)


def decode(data: bytes, stated: str = "") -> Decoded:
    """Return the text of a file without its byte order mark, every newline as `\\n`.

    It is read as what a byte order mark says; or else as UTF-8 where it is mostly that; or else in the encoding that
    the file states, if it is mostly that; or else in the one that a detector finds most likely.

    Raises DocumentError: the bytes are not text, or in no encoding that could be told.
    """
    marked = next((name for bom, name in _BOMS if data.startswith(bom)), "")
    wide = marked in ("utf-16", "utf-32")
    control = len(data) - len(data.translate(None, _CONTROL))
    if not wide and control * (_STRAY if b"\0" in data else 10) > len(data):
        raise DocumentError(BINARY)
    text, encoding, invalid, first, guessed = (
        _with_bom(data, marked) if marked else _without_bom(data, stated)
    )
    if "\0" in text:
        if wide:
            raise DocumentError(BINARY)
        first = min(data.find(b"\0"), first if invalid else len(data))
        invalid += data.count(b"\0")
    return Decoded(newlines(text.replace("\0", REPLACEMENT)), encoding, invalid, first, guessed)


def _with_bom(data: bytes, encoding: str) -> Decoded:
    """Return a text by its byte order mark."""
    if encoding == "utf-8-sig":
        decoded = _as_utf8(data[len(codecs.BOM_UTF8) :])
        if decoded.invalid:
            decoded = decoded._replace(first=decoded.first + len(codecs.BOM_UTF8))
    else:
        decoded = _decode_as(data, encoding)
    if decoded.invalid and _damaged_share(decoded) > _DAMAGED:
        name = encoding.removesuffix("-sig").upper()
        raise DocumentError(
            f"begins with the byte order mark of {name} but is not valid in it at byte {decoded.first}; "
            "save it again as UTF-8"
        )
    return decoded


def _without_bom(data: bytes, stated: str) -> Decoded:
    codec = _codec_name(stated)
    if codec.startswith(_SEVEN_BITS):
        shifted = _decode_as(data, codec)
        if not shifted.invalid:
            return shifted
    utf8 = _as_utf8(data)
    valid = _beyond_ascii(utf8.text) if utf8.invalid else 0
    if valid >= utf8.invalid:
        return utf8
    if codec not in ("", "utf-8"):
        legacy = _decode_as(data, codec)
        if _damaged_share(legacy) <= _DAMAGED:
            return legacy
    return _as_legacy(data, utf8, valid / (valid + utf8.invalid))


def _as_utf8(data: bytes) -> Decoded:
    """Return bytes as UTF-8; a run of up to three invalid bytes can have been one character, and becomes one."""
    try:
        return Decoded(data.decode())
    except UnicodeDecodeError as error:
        first = error.start
    text = data.decode("utf-8", "replace")
    own = data.count(REPLACEMENT.encode())  # those of the file itself, by an earlier mishap
    replaced = text.count(REPLACEMENT) - own
    invalid = len(data) - len(text.encode()) + len(REPLACEMENT.encode()) * replaced
    if not own:
        text = _RUN.sub(lambda run: REPLACEMENT * -(-len(run[0]) // 3), text)
    return Decoded(text, "utf-8", invalid, first)


def _decode_as(data: bytes, encoding: str) -> Decoded:
    """Return bytes in an encoding, U+FFFD for what is invalid in it."""
    try:
        return Decoded(data.decode(encoding), encoding)
    except UnicodeDecodeError as error:
        text = data.decode(encoding, "replace")
        return Decoded(text, encoding, text.count(REPLACEMENT), error.start)


def _codec_name(encoding: str) -> str:
    """Return the name by which Python knows an encoding of text; empty where it does not."""
    try:
        b"".decode(encoding or "?")  # raises for what is a codec, but not of text
        return codecs.lookup(encoding).name
    except LookupError:
        return ""


def _beyond_ascii(text: str) -> int:
    """Return how many characters are beyond ASCII, U+FFFD left out."""
    return len(text) - len(text.encode("ascii", "ignore")) - text.count(REPLACEMENT)


def _damaged_share(decoded: Decoded) -> float:
    """Return the share of the characters beyond ASCII, and at least of a tenth of all, that are invalid."""
    return decoded.invalid / max(_beyond_ascii(decoded.text) + decoded.invalid, len(decoded.text) / 10)


# Encodings older than UTF-8


def _as_legacy(data: bytes, utf8: Decoded, share: float) -> Decoded:
    """Return a text that is hardly UTF-8, `share` of its characters beyond ASCII, in the likeliest encoding."""
    detected = _detect(data)
    if detected and not _is_latin(detected.text[:_SAMPLE]):
        return detected._replace(guessed=True)
    best = Decoded("")
    highest = max(share, _PLAUSIBLE)
    for encoding in ENCODINGS:
        decoded = _decode_as(data, encoding)
        # no language has so many accents
        if _beyond_ascii(decoded.text) * 2 > max(len(decoded.text), _SHORT):
            continue
        sample = decoded.text[:_SAMPLE]
        if not encoding.startswith("cp125"):  # their bytes for it are far likelier damaged than meant
            sample = sample.replace("\xa0", REPLACEMENT)
        if (plausible := _latin_share(sample)) > highest:
            highest, best = plausible, decoded
    if best.text:
        return best._replace(guessed=True)
    if utf8.invalid <= _DAMAGED * len(utf8.text):  # ASCII, or UTF-8, with damaged bytes
        return utf8
    if detected:
        return detected._replace(guessed=True)
    raise DocumentError("is in no text encoding that could be told; save it as UTF-8")


def _detect(data: bytes) -> Decoded | None:
    """Return a text in the encoding that the detector finds in most of it."""
    from charset_normalizer import from_bytes

    votes: Counter[str] = Counter()
    for at in range(0, len(data), max(len(data) // _PIECES, _PIECE)):
        start = data.rfind(b"\n", 0, at) + 1 if len(data) > _PIECE else 0
        piece = data[start : start + _PIECE]
        if len(piece) == _PIECE:  # whole lines, where these are not too long
            piece = piece.rpartition(b"\n")[0] or piece
        if best := from_bytes(piece).best():
            votes[best.encoding] += len(piece)
    return _decode_as(data, votes.most_common(1)[0][0]) if votes else None


def _is_latin(text: str) -> bool:
    """Tell whether the letters beyond ASCII are Latin, or stand in words with those of ASCII, as only Latin ones do."""
    letters = [i for i, c in enumerate(text) if c > "\x7f" and c.isalpha()]
    latin = ("LATIN", "FEMININE", "MASCULINE")
    others = [i for i in letters if not unicodedata.name(text[i], "").startswith(latin)]
    beside = sum(any(c.isascii() and c.isalpha() for c in text[max(i - 1, 0) : i + 2]) for i in others)
    return len(others) * 2 <= len(letters) or beside > _MIXED * len(others)


def _latin_share(text: str) -> float:
    """Return which share of the characters beyond ASCII one language, and the marks of all, account for."""
    marks = len(_MARK.findall(text))
    words = _MARK.sub(" ", text)
    inside = sum(letter.isupper() or "─" <= letter <= "╿" for letter in _INSIDE.findall(words))
    letters = Counter(_OTHER.findall(words.lower()))
    of_language = max(
        sum(count for letter, count in letters.items() if letter in alphabet) for alphabet in ALPHABETS
    )
    return (marks + of_language - inside) / max(marks + letters.total(), 1)
