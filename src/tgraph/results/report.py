"""A report of a run: one HTML file that stands alone, readable on a phone and in the dark.

| part | from |
|---|---|
| what ran: graph, engine, parameters, versions | the result and the packages |
| active edges, seconds, bytes by way of transfer, residuals, iteration by iteration | the trace |
| seconds by stage | the trace |
| the first vertices under the user's ids, how values and degrees are distributed | the result |
| a picture, if the graph is small | `kernels.cpu.force_layout` |
"""

from __future__ import annotations

import html
import importlib.metadata
import platform
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tgraph.results import charts
from tgraph.results.trace import Trace
from tgraph.runtime import Array

if TYPE_CHECKING:
    from tgraph.results.result import Result

MOST_PICTURED = 2_000  # vertices, and ten times as many edges
SHOWN_ITERATIONS = 500
TOP = 10
BINS = 40
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.2rem; margin: 1.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; }
.grid { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); }
svg { width: 100%; max-width: 40rem; height: auto; } svg text { fill: currentColor; font: 12px system-ui, sans-serif; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .2rem .8rem .2rem 0; text-align: right; vertical-align: top; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; } tr + tr { border-top: 1px solid #8884; }
.facts td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.facts td:first-child { white-space: nowrap; overflow-wrap: normal; }
"""


def page(result: Result) -> str:
    """Return the report of a result as the text of an HTML file."""
    name = html.escape(f"{result.name} on {result.graph.describe()}")
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{html.escape(result.name)}</h1><p>{html.escape(result.summary())}</p>",
        _section("What ran", _table(facts(result), "facts")),
        _section("Iterations", _grid(_iteration_charts(result.trace))),
        _section("Vertices", _grid([_top(result) + _values(result) + _degrees(result), _picture(result)])),
        _iterations(result.trace),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def facts(result: Result) -> list[tuple[str, Any]]:
    """Return what a run was, as pairs of names and values."""
    graph, trace = result.graph, result.trace
    rows = [("graph", graph.describe()), ("engine", f"{trace.engine}, {trace.kernel} kernels")]
    rows += [(name, value) for name, value in trace.parameters.items()]
    packages = dict.fromkeys(["tgraph", graph.runtime.name, "numpy", "numba"])
    versions = [f"{package} {_version(package)}" for package in packages]
    return [*rows, ("versions", ", ".join([f"Python {platform.python_version()}", *versions]))]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(version unknown)"


def _iteration_charts(trace: Trace) -> list[str]:
    found = []
    if len(trace):
        found.append(charts.bars("active edges", _by_direction(trace), "iteration"))
        found.append(charts.bars("seconds", {"seconds": [one.seconds for one in trace]}, "iteration"))
    ways = dict.fromkeys(way for one in trace for way in one.moved or ())
    if ways:
        moved = {way: [float((one.moved or {}).get(way, 0)) for one in trace] for way in ways}
        found.append(charts.bars("bytes from far memory", moved, "iteration"))
    residuals = [one.residual for one in trace if one.residual is not None]
    if len(residuals) > 1:
        found.append(charts.levels("residual", residuals, "iteration"))
    if trace.seconds:
        stages = [*((name, f"{seconds:.4g} s") for name, seconds in trace.seconds.items())]
        found.append(_table([*stages, ("all iterations", f"{trace.total_seconds:.4g} s")], "facts"))
    return found


def _by_direction(trace: Trace) -> dict[str, list[float]]:
    names = dict.fromkeys(one.direction for one in trace)
    return {name: [float(one.active_edges) if one.direction == name else 0.0 for one in trace] for name in names}


def _top(result: Result) -> str:
    if not result.graph.num_vertices:
        return ""
    name = next(iter(result.fields))
    rows = [("vertex", name), *((label, _cell(value)) for label, value in result.top(TOP))]
    return f"<div><h3>Largest {html.escape(name)}</h3>{_table(rows, 'wide')}</div>"


def _values(result: Result) -> str:
    """How the main values are distributed; those that are no numbers, or not finite, are left out."""
    values = result.to_numpy()
    if values.dtype.kind not in "iuf" or next(iter(result.fields)) in result.vertex_fields:
        return ""
    values = values[np.isfinite(values)]
    if not values.size:
        return ""
    counts, edges = np.histogram(values, BINS)
    ends = f"{edges[0]:.4g}", f"{edges[-1]:.4g}"
    return charts.histogram("vertices by value", counts.tolist(), next(iter(result.fields)), ends)


def _degrees(result: Result) -> str:
    graph = result.graph
    found = {"out": graph.out_degrees()} if graph.directed else {"degree": graph.out_degrees()}
    if graph.directed and graph.has_in_edges:
        found["in"] = graph.in_degrees()
    series = {name: _counted(graph.runtime.to_numpy(degrees)) for name, degrees in found.items()}
    return charts.points("vertices by degree", series, "degree") if any(x.size for x, _ in series.values()) else ""


def _counted(degrees: Array) -> tuple[Array, Array]:
    degrees, counts = np.unique(degrees[degrees > 0], return_counts=True)
    return degrees, counts


def _picture(result: Result) -> str:
    graph = result.graph
    is_small = 1 <= graph.num_vertices <= MOST_PICTURED and graph.num_arcs <= 10 * MOST_PICTURED
    if graph.is_far or graph.is_compressed or not is_small:
        return ""
    from tgraph.kernels.cpu.force_layout import place_vertices

    undirected = graph.to("numpy").symmetrize() if graph.directed else graph.to("numpy")
    offsets, neighbors, _ = undirected.adjacency("out").to_numpy()
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    sources, neighbors = sources[sources != neighbors], neighbors[sources != neighbors]
    joined, sources = np.unique(sources, return_inverse=True)  # those without edges would take the room of the others
    if not joined.size:
        return ""
    neighbors = np.searchsorted(joined, neighbors)
    offsets = np.searchsorted(sources, np.arange(joined.size + 1))
    once, places = sources < neighbors, place_vertices(offsets, neighbors)
    drawn = charts.network("the graph", places, sources[once], neighbors[once], _shades(result.to_numpy())[joined])
    lone = graph.num_vertices - joined.size
    return f"{drawn}<p>Not shown: {lone:,} vertices without edges to others.</p>" if lone else drawn


def _shades(values: Array) -> Array:
    """Return the places of values in their order, 0 to 1; what is no number comes first."""
    if values.dtype.kind not in "iuf" or not values.size:
        return np.full(len(values), 0.5)
    distinct, positions = np.unique(np.nan_to_num(values.astype(np.float64)), return_inverse=True)
    return positions / max(distinct.size - 1, 1)


def _iterations(trace: Trace) -> str:
    rows = trace.to_dicts()
    if not rows:
        return ""
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    listed = [names, *([_cell(row[name]) for name in names] for row in rows[:SHOWN_ITERATIONS])]
    more = f"<p>and {len(rows) - SHOWN_ITERATIONS:,} more</p>" if len(rows) > SHOWN_ITERATIONS else ""
    return f"<details><summary>Every iteration</summary>{_table(listed, 'wide')}{more}</details>"


def _section(title: str, content: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{content}</section>" if content else ""


def _grid(parts: list[str]) -> str:
    filled = [f"<div>{part}</div>" for part in parts if part]
    return f'<div class="grid">{"".join(filled)}</div>' if filled else ""


def _table(rows: Iterable[Iterable[Any]], kind: str) -> str:
    lines = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="{kind}"><table>{lines}</table></div>'


def _cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
