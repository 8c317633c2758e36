"""Detects the encoding of bytes, and decodes them despite bytes that are invalid in it.

UTF-8 can be recognised reliably: bytes above 127 hardly ever form its sequences by chance. A file most of whose
characters are valid UTF-8 is read as UTF-8, with U+FFFD for what is invalid; only other files go to the detector. The
detector is statistical: it recognises other alphabets and Chinese, Japanese and Korean well, but takes French or
Spanish, even long texts, for Central European languages. For texts in the Latin alphabet this module therefore chooses
the encoding itself: the one in which the text has the letters of one language.
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
"""Encodings of Latin letters, the most likely first; of several that fit a text equally, the first is chosen."""
ALPHABETS = (
    "àâæçéèêëîïôœùûü", "áéíñóúüªº", "áâãàçéêíóôõúüªº", "äöüßé", "àèéìíîòóùú", "éèëêïóöüáíú", "åäöéàü",
    "æøåéèóô", "áðéíóúýþæö", "àçèéíïòóúü·", "äöõüšž", "ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž",
    "áéíóöőúüű", "ăâîşţșț", "čćđšž", "çğıi̇öşüâîû", "ąčęėįšųūž", "āčēģīķļņšūž",
)  # fmt: skip
"""The letters beyond ASCII of French, Spanish, Portuguese, German, Italian, Dutch, Swedish and Finnish, Danish and
Norwegian, Icelandic, Catalan, Estonian, Polish, Czech, Slovak, Hungarian, Romanian, Croatian and Slovene, Turkish,
Lithuanian and Latvian. French lacks ÿ here: it occurs in a few place names only, and 0xFF is a common damaged byte."""
_SAMPLE = 1 << 16
"""Number of characters from the beginning that are examined."""
_LETTER = r"[^\W\d_]"
_MARK = re.compile(
    rf"(?<!{_LETTER})[‘‚“„«‹¿¡–—…•\xa0]|[’“”»›–—…\xa0](?!{_LETTER})"
    rf"|(?<!{_LETTER})[€£§©®°±](?!{_LETTER})|(?<={_LETTER})’(?={_LETTER})"
)
"""A punctuation mark or sign in a plausible position: not within a word, except for the apostrophe."""
_OTHER = re.compile(r"[^\x00-\x7f]")
_INSIDE = re.compile(r"(?<=[a-z])[^\x00-\x7f]")
"""A character after a small letter, where a capital or a box-drawing character is implausible."""
_MIXED = 0.2
"""Share of non-Latin letters next to an ASCII letter above which they do not belong to another alphabet."""
_PLAUSIBLE = 0.5
"""Minimum share of the characters beyond ASCII that an encoding of Latin letters must account for."""
_SHORT = 16
"""Length in characters below which most letters of a text may be accented by chance."""
_DAMAGED = 0.1
"""Maximum share of characters that may be invalid: a file with more cannot be understood."""
_PIECE, _PIECES = 4096, 8
"""Bytes of a piece that the detector gets at a time, since one damaged byte can prevent it from recognising the whole;
and the number of such pieces, spread over the file."""
_RUN = re.compile(f"{REPLACEMENT}{{2,}}")
_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_SEVEN_BITS = ("iso2022", "hz", "utf-7")
"""Encodings whose bytes are also valid ASCII and UTF-8: they are used only if the file states them."""
_CONTROL = bytes(c for c in (*range(32), 127) if c not in b"\t\n\r\v\f\b\x1b")
_STRAY = 200
"""A file with NUL bytes counts as text if it has at most one NUL or control character per this many bytes."""


class Decoded(NamedTuple):
    """The text of bytes, and how it was decoded."""

    text: str
    encoding: str = "utf-8"
    invalid: int = 0
    """Bytes that are invalid in the encoding; a run of them that may have been one character becomes one U+FFFD."""
    first: int = -1
    """Offset in bytes of the first invalid byte; -1 if there is none."""
    guessed: bool = False
    """Whether the encoding was guessed from the text, rather than stated or recognised as UTF-8."""

    def warnings(self, document: str) -> tuple[EncodingWarning, ...]:
        """Return the warning for a document whose encoding was guessed, or that contains invalid bytes."""
        if not self.guessed and not self.invalid:
            return ()
        return (EncodingWarning(document, self.encoding, self.invalid, self.first),)


def decode(data: bytes, stated: str = "") -> Decoded:
    """Return the text of a file without its byte order mark, every newline as `\\n`.

    The encoding is that of the byte order mark; without one, it is UTF-8 if most of the file is valid UTF-8, else the
    encoding that the file states (`stated`) if most of it is valid in that, else the most likely encoding.

    Raises DocumentError: the bytes are not text, or no encoding fits them.
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
    """Decode bytes in the encoding of their byte order mark; raise DocumentError if too many are invalid."""
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
    """Decode bytes as UTF-8; up to three adjacent invalid bytes, perhaps of one character, become one U+FFFD."""
    try:
        return Decoded(data.decode())
    except UnicodeDecodeError as error:
        first = error.start
    text = data.decode("utf-8", "replace")
    own = data.count(REPLACEMENT.encode())  # in the file itself, from an earlier decoding error
    replaced = text.count(REPLACEMENT) - own
    invalid = len(data) - len(text.encode()) + len(REPLACEMENT.encode()) * replaced
    if not own:
        text = _RUN.sub(lambda run: REPLACEMENT * -(-len(run[0]) // 3), text)
    return Decoded(text, "utf-8", invalid, first)


def _decode_as(data: bytes, encoding: str) -> Decoded:
    """Decode bytes in an encoding, with U+FFFD for invalid ones."""
    try:
        return Decoded(data.decode(encoding), encoding)
    except UnicodeDecodeError as error:
        text = data.decode(encoding, "replace")
        return Decoded(text, encoding, text.count(REPLACEMENT), error.start)


def _codec_name(encoding: str) -> str:
    """Return Python's name of a text encoding; empty if Python does not know it."""
    try:
        b"".decode(encoding or "?")  # raises LookupError for a codec that does not produce text
        return codecs.lookup(encoding).name
    except LookupError:
        return ""


def _beyond_ascii(text: str) -> int:
    """Return the number of characters beyond ASCII, without U+FFFD."""
    return len(text) - len(text.encode("ascii", "ignore")) - text.count(REPLACEMENT)


def _damaged_share(decoded: Decoded) -> float:
    """Return the share of invalid characters among those beyond ASCII, or in a tenth of the text if those are fewer."""
    return decoded.invalid / max(_beyond_ascii(decoded.text) + decoded.invalid, len(decoded.text) / 10)


# Encodings older than UTF-8


def _as_legacy(data: bytes, utf8: Decoded, share: float) -> Decoded:
    """Decode a file in the most likely encoding; `share` of its characters beyond ASCII are valid UTF-8."""
    detected = _detect(data)
    if detected and not _is_latin(detected.text[:_SAMPLE]):
        return detected._replace(guessed=True)
    best = Decoded("")
    highest = max(share, _PLAUSIBLE)
    for encoding in ENCODINGS:
        decoded = _decode_as(data, encoding)
        # no language has as many accented letters
        if _beyond_ascii(decoded.text) * 2 > max(len(decoded.text), _SHORT):
            continue
        sample = decoded.text[:_SAMPLE]
        if not encoding.startswith("cp125"):  # their bytes for a no-break space are more likely damage
            sample = sample.replace("\xa0", REPLACEMENT)
        if (plausible := _latin_share(sample)) > highest:
            highest, best = plausible, decoded
    if best.text:
        return best._replace(guessed=True)
    if utf8.invalid <= _DAMAGED * len(utf8.text):  # ASCII, or UTF-8, with damaged bytes
        return utf8
    if detected:
        return detected._replace(guessed=True)
    raise DocumentError("is in an unknown text encoding; save it as UTF-8")


def _detect(data: bytes) -> Decoded | None:
    """Decode bytes in the encoding that the detector finds for most pieces by length; None if it finds none."""
    from charset_normalizer import from_bytes

    votes: Counter[str] = Counter()
    for at in range(0, len(data), max(len(data) // _PIECES, _PIECE)):
        start = data.rfind(b"\n", 0, at) + 1 if len(data) > _PIECE else 0
        piece = data[start : start + _PIECE]
        if len(piece) == _PIECE:  # only whole lines, unless a line is longer than the piece
            piece = piece.rpartition(b"\n")[0] or piece
        if best := from_bytes(piece).best():
            votes[best.encoding] += len(piece)
    return _decode_as(data, votes.most_common(1)[0][0]) if votes else None


def _is_latin(text: str) -> bool:
    """Return whether the letters beyond ASCII are Latin, or adjoin ASCII letters, as only Latin letters do."""
    letters = [i for i, c in enumerate(text) if c > "\x7f" and c.isalpha()]
    latin = ("LATIN", "FEMININE", "MASCULINE")
    others = [i for i in letters if not unicodedata.name(text[i], "").startswith(latin)]
    beside = sum(any(c.isascii() and c.isalpha() for c in text[max(i - 1, 0) : i + 2]) for i in others)
    return len(others) * 2 <= len(letters) or beside > _MIXED * len(others)


def _latin_share(text: str) -> float:
    """Return the share of the characters beyond ASCII that are letters of one language or common marks."""
    marks = len(_MARK.findall(text))
    words = _MARK.sub(" ", text)
    inside = sum(letter.isupper() or "─" <= letter <= "╿" for letter in _INSIDE.findall(words))
    letters = Counter(_OTHER.findall(words.lower()))
    of_language = max(
        sum(count for letter, count in letters.items() if letter in alphabet) for alphabet in ALPHABETS
    )
    return (marks + of_language - inside) / max(marks + letters.total(), 1)
