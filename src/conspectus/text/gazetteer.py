"""Short lists of words, in lower case, that tell what a name names: hints, for the context decides."""

from __future__ import annotations

from conspectus.text.data import word_lists

_LISTS = word_lists("gazetteer")

GIVEN_NAMES = frozenset(_LISTS["given_names"].split())

COUNTRIES_AND_CITIES = frozenset(_LISTS["countries_and_cities"].split())

NATIONALITIES = frozenset(_LISTS["nationalities"].split())

CALENDAR = frozenset(_LISTS["calendar"].split())

CURRENCIES = frozenset(
    "AED AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR INR JPY KRW MXN NOK NZD PLN RMB RON SEK SGD USD ZAR".split()
)

ROLES = frozenset(_LISTS["roles"].split())
"""A name made of these words alone is an office, not a thing."""

ORGANIZATION_WORDS = frozenset(_LISTS["organization_words"].split())

LOCATION_WORDS = frozenset(_LISTS["location_words"].split())

EVENT_WORDS = frozenset(_LISTS["event_words"].split())

WORK_WORDS = frozenset(_LISTS["work_words"].split())

CONCEPT_WORDS = frozenset(_LISTS["concept_words"].split())

SAYING = frozenset(_LISTS["saying"].split())
"""Words after the name of a person."""

BEFORE_PERSONS = frozenset("named meet met i'm cousin sister brother wife husband friend colleague".split())
BEFORE_PLACES = frozenset(
    "in near across outside around throughout from to 在 于 於 到 从 從 往 至 位于 前往 来自 抵达 赴 驻".split()
)
BEFORE_ORGANIZATIONS = frozenset("at joined left founded company startup firm".split())
BEFORE_WORKS = frozenset("wrote book read watching watched film movie novel song titled entitled album".split())
