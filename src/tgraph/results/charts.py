"""Charts as SVG text, for pages that stand alone: no script, no font, nothing that is loaded."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

import numpy as np

from tgraph.runtime import Array

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 34, 34
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")  # told apart without red and green
MOST_BARS = 160


def bars(title: str, series: Mapping[str, Sequence[float]], axis: str) -> str:
    """Return bars side by side, one per position, what several series have there on top of each other."""
    count = max((len(values) for values in series.values()), default=0)
    per_bar = max(math.ceil(count / MOST_BARS), 1)
    heights = {name: _join(values, per_bar) for name, values in series.items()}
    num_bars = math.ceil(count / per_bar)
    highest = max(map(sum, zip(*heights.values(), strict=True)), default=0.0) or 1.0
    step = (WIDTH - LEFT - RIGHT) / max(num_bars, 1)
    bottoms, marks = [0.0] * num_bars, []
    for color, values in zip(COLORS, heights.values(), strict=False):
        for place, value in enumerate(values):
            if value > 0:
                top = _y((bottoms[place] + value) / highest)
                size = _y(bottoms[place] / highest) - top
                marks.append(_rectangle(LEFT + place * step, top, max(step * 0.86, 0.5), size, color))
                bottoms[place] += value
    below = f"{axis}, {per_bar} to a bar" if per_bar > 1 else axis
    ends = ("1", f"{count:,}") if count > 1 else ("", "1" if count else "")
    return _frame(title, [*marks, *_legend(list(series))], highest, ends, below)


def histogram(title: str, counts: Sequence[int], axis: str, ends: tuple[str, str]) -> str:
    """Return how often values occur, on a logarithmic scale: a count of 1 is still seen."""
    top = math.log10(max(max(counts, default=1), 10) * 1.0)
    step = (WIDTH - LEFT - RIGHT) / max(len(counts), 1)
    marks = []
    for place, count in enumerate(counts):
        if count:
            y = _y((math.log10(count) + 0.1) / (top + 0.1))
            marks.append(_rectangle(LEFT + place * step, y, step * 0.86, HEIGHT - BOTTOM - y, COLORS[0]))
    return _frame(title, marks, None, ends, axis, ("1", _short(10**top)))


def levels(title: str, values: Sequence[float], axis: str) -> str:
    """Return a line on a logarithmic scale; values of 0 or less are left out."""
    known = [(place, math.log10(value)) for place, value in enumerate(values) if value > 0 and math.isfinite(value)]
    if not known:
        return ""
    low, high = math.floor(min(y for _, y in known)), math.ceil(max(y for _, y in known))
    high += high == low
    step = (WIDTH - LEFT - RIGHT) / max(len(values) - 1, 1)
    points = " ".join(f"{LEFT + x * step:.1f},{_y((y - low) / (high - low)):.1f}" for x, y in known)
    line = f'<polyline points="{points}" fill="none" stroke="{COLORS[0]}" stroke-width="2"/>'
    return _frame(title, [line], None, ("1", f"{len(values):,}"), axis, (f"1e{low}", f"1e{high}"))


def points(title: str, series: Mapping[str, tuple[Array, Array]], axis: str) -> str:
    """Return points on logarithmic scales, from pairs of positive arrays; names become a legend."""
    widest = max((float(x.max()) for x, _ in series.values() if x.size), default=1.0)
    highest = max((float(y.max()) for _, y in series.values() if y.size), default=1.0)
    across, up = math.log10(max(widest, 10.0)), math.log10(max(highest, 10.0))
    marks = []
    for color, (x, y) in zip(COLORS, series.values(), strict=False):
        places = LEFT + np.log10(x) / across * (WIDTH - LEFT - RIGHT)
        tops = [_y(part) for part in (np.log10(y) / up).tolist()]
        for place, top in zip(places.tolist(), tops, strict=True):
            marks.append(f'<circle cx="{place:.1f}" cy="{top:.1f}" r="2.2" fill="{color}" fill-opacity="0.7"/>')
    ends = "1", f"{10**across:,.0f}"
    return _frame(title, [*marks, *_legend(list(series))], None, ends, axis, ("1", f"{10**up:,.0f}"))


def network(title: str, places: Array, sources: Array, targets: Array, shades: Array) -> str:
    """Return vertices at `places [V, 2]` (0 to 1) with lines between them; `shades [V]` is 0 (pale) to 1 (strong)."""
    side, margin = 640, 12
    xy = margin + places * (side - 2 * margin)
    lines = [
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>'
        for a, b in zip(xy[sources].tolist(), xy[targets].tolist(), strict=True)
    ]
    radius = max(2.0, min(7.0, 120.0 / math.sqrt(max(len(places), 1))))
    sizes, depths = radius * (0.6 + 0.8 * shades), 0.25 + 0.75 * shades
    circles = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" opacity="{depth:.2f}"/>'
        for (x, y), size, depth in zip(xy.tolist(), sizes.tolist(), depths.tolist(), strict=True)
    ]
    name = html.escape(title)
    return (
        f'<svg viewBox="0 0 {side} {side}" role="img" aria-label="{name}"><title>{name}</title>'
        f'<g stroke="currentColor" stroke-opacity="0.15">{"".join(lines)}</g>'
        f'<g fill="{COLORS[0]}">{"".join(circles)}</g></svg>'
    )


def _join(values: Sequence[float], per_bar: int) -> list[float]:
    return [float(sum(values[first : first + per_bar])) for first in range(0, len(values), per_bar)]


def _y(part: float) -> float:
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def _rectangle(x: float, y: float, width: float, height: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}"/>'


def _legend(names: list[str]) -> list[str]:
    """Return the names of several series, from right to left."""
    if len(names) < 2:
        return []
    parts, x = [], float(WIDTH - RIGHT)
    for name, color in reversed(list(zip(names, COLORS, strict=False))):
        x -= 7.0 * len(name) + 20
        parts.append(_rectangle(x, TOP - 18, 9, 9, color))
        parts.append(_text(x + 13, TOP - 10, name, "start"))
    return parts


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _frame(
    title: str,
    marks: list[str],
    highest: float | None,
    ends: tuple[str, str],
    axis: str,
    scale: tuple[str, str] | None = None,
) -> str:
    """Return a chart around its marks: axes, their ends, and a title for those who do not see it."""
    low, high = scale or ("0", _short(highest or 0.0))
    name, floor = html.escape(title), HEIGHT - BOTTOM
    lines = f'<path d="M{LEFT} {TOP}V{floor}H{WIDTH - RIGHT}" fill="none" stroke="currentColor" stroke-opacity="0.4"/>'
    labels = [
        _text(LEFT - 6, TOP + 4, high, "end"),
        _text(LEFT - 6, floor, low, "end"),
        _text(LEFT, floor + 15, ends[0], "start"),
        _text(WIDTH - RIGHT, floor + 15, ends[1], "end"),
        _text((LEFT + WIDTH - RIGHT) / 2, floor + 28, axis, "middle"),
        _text(LEFT - 52, TOP - 16, title, "start"),
    ]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}"><title>{name}</title>'
        f"{lines}{''.join(marks)}{''.join(labels)}</svg>"
    )


def _short(number: float) -> str:
    """Return a number in few signs.

    >>> _short(12_345_678), _short(7_071.0), _short(0.00123), _short(7.0)
    ('12.3 M', '7,071', '0.00123', '7')
    """
    for size, letter in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(number) >= size:
            return f"{number / (size if size != 1e4 else 1e3):.3g}{letter}"
    return f"{number:,.0f}" if abs(number) >= 1e3 else f"{number:.3g}"
