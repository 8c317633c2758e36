"""Dates as documents state them, made ISO 8601."""

from __future__ import annotations

import re

_ISO = re.compile(r"\s*(\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:Z|[+-]\d\d:?\d\d)?)?)?)?)\s*")
_PDF = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d))?([Z+-])?(?:(\d\d)'?(\d\d))?")


def iso_date(text: str) -> str | None:
    """Return a date that is ISO 8601, None for another text."""
    found = _ISO.fullmatch(text)
    return found[1].replace(" ", "T", 1) if found else None


def mail_date(text: str) -> str | None:
    """Return the date of a mail header or an RSS item (RFC 5322), or one that is ISO 8601 already."""
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, IndexError):
        return iso_date(text)


def pdf_date(text: str) -> str | None:
    """Return the date of a PDF, `D:20240501123000+02'00'`."""
    found = _PDF.match(text)
    if not found or found[1] == "0000":
        return None
    year, month, day, hour, minute, second, zone, zone_hour, zone_minute = found.groups()
    date = "-".join(filter(None, (year, month, day)))
    if not (day and hour):
        return date
    offset = "" if zone is None else "Z" if zone == "Z" else f"{zone}{zone_hour or '00'}:{zone_minute or '00'}"
    return f"{date}T{hour}:{minute}:{second}{offset}"
