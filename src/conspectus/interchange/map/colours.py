"""Colours of communities: roots as far apart as can be, parts in shades of what they are part of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import cos, pi, sin

from conspectus.rows import Community

GREY = "#9a9a9a"
"""What is in no community."""
_GOLDEN = 137.508
_TONES = ((0.66, 0.15), (0.58, 0.13), (0.74, 0.13))
"""Lightness and chroma that roots take in turn."""


def colours(communities: Sequence[Community]) -> list[str]:
    """Return a colour `#rrggbb` for each community, the largest roots the farthest apart."""
    shades: dict[int, tuple[float, float, float]] = {}
    roots = sorted((c for c in communities if c.parent < 0), key=lambda c: (-c.size, c.number))
    for place, root in enumerate(roots):
        lightness, chroma = _TONES[place % len(_TONES)]
        shades[root.number] = (lightness, chroma, (25 + place * _GOLDEN) % 360)
    below = [c for c in sorted(communities, key=lambda c: c.level) if c.children]
    for community in below:
        _shade(community.children, shades[community.number], 32 / (1 + community.level), shades)
    return [hexadecimal(*shades[c.number]) if c.number in shades else GREY for c in communities]


def _shade(
    children: Iterable[int],
    parent: tuple[float, float, float],
    width: float,
    shades: dict[int, tuple[float, float, float]],
) -> None:
    listed = list(children)
    lightness, chroma, hue = parent
    for place, child in enumerate(listed):
        aside = (place + 0.5) / len(listed) - 0.5
        lighter = (0.0, 0.07, -0.07)[place % 3]
        shades[child] = (min(0.82, max(0.5, lightness + lighter)), chroma, (hue + 2 * width * aside) % 360)


def hexadecimal(lightness: float, chroma: float, hue: float) -> str:
    """Return a colour of the OKLCh space (Ottosson 2020; hue in degrees) as `#rrggbb`, cut to what a screen
    shows."""
    a, b = chroma * cos(hue * pi / 180), chroma * sin(hue * pi / 180)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    return "#" + "".join(f"{_eight_bits(value):02x}" for value in linear)


def _eight_bits(value: float) -> int:
    value = min(1.0, max(0.0, value))
    return round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))
