"""The result of a run: named tensors in vertex order, shown under the user's ids."""

from __future__ import annotations

import html
import importlib
import os
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.errors import InvalidArgumentError, MissingDependencyError, VertexNotFoundError
from tgraph.graph import Graph
from tgraph.io.files import replacing
from tgraph.results.trace import Trace
from tgraph.runtime import Array, Tensor

SHOWN_ROWS = 10


@dataclass(repr=False)
class Result:
    """What an algorithm found.

    Each tensor of `fields` is also an attribute (`result.ranks`), in vertex order. `result["ann"]` is the value of the
    user's vertex "ann"; `to_pandas()` and `top()` use the user's ids too.

    >>> import tgraph as tg
    >>> result = tg.bfs(tg.from_edges(["ann", "bob"], ["bob", "cy"]), "ann")
    >>> result["cy"], result.levels.tolist(), result.converged
    (2, [0, 1, 2], True)
    """

    name: str
    graph: Graph
    fields: dict[str, Tensor]  # name -> [V]; the first is the main one
    trace: Trace
    converged: bool
    residual: float | None = None  # None = the algorithm is exact
    vertex_fields: tuple[str, ...] = field(default=())  # fields whose values are vertex numbers

    def __getattr__(self, name: str) -> Tensor:
        fields = self.__dict__.get("fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(f"a {self.__dict__.get('name', '')} result has no {name!r}; it has {', '.join(fields)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.fields]

    @property
    def values(self) -> Tensor:
        """The main tensor, in vertex order."""
        return next(iter(self.fields.values()))

    @property
    def iterations(self) -> int:
        """How many iterations were run."""
        return len(self.trace)

    def __getitem__(self, label: Any) -> Any:
        """Return the main value of the vertex with this id."""
        return self.column(next(iter(self.fields)))[[self.graph.vertex_of(label)]].tolist()[0]

    def __contains__(self, label: Any) -> bool:
        """Whether there is a vertex with this id."""
        try:
            self.graph.vertex_of(label)
        except VertexNotFoundError:
            return False
        return True

    __iter__ = None  # values are found by id; without this, Python would count ids from 0

    def to_numpy(self) -> Array:
        """Return the main tensor as a NumPy array, in vertex order."""
        return self.graph.runtime.to_numpy(self.values)

    def column(self, name: str) -> Array:
        """Return one field as a NumPy array; vertex numbers become the user's ids."""
        if name not in self.fields:
            raise InvalidArgumentError(f"field={name!r} is not in this result; use one of {', '.join(self.fields)}")
        array = self.graph.runtime.to_numpy(self.fields[name])
        return self.graph.labels_of(array) if name in self.vertex_fields else array

    def vertex_ids(self, vertices: Array | None = None) -> Array:
        """Return the user's ids of these vertex numbers, of all vertices by default."""
        return self.graph.labels_of(np.arange(self.graph.num_vertices) if vertices is None else vertices)

    def table(self) -> dict[str, Array]:
        """Return what is written to files: columns with one entry per vertex, its id first."""
        return {"vertex": self.vertex_ids(), **{name: self.column(name) for name in self.fields}}

    def to_pandas(self) -> Any:
        """Return all fields as a pandas DataFrame whose index are the user's ids."""
        pandas = import_pandas()
        labels = self.vertex_ids()
        index = pandas.Index(labels.astype(object) if labels.dtype.kind == "T" else labels, name="vertex")
        return pandas.DataFrame({name: _plain(self.column(name)) for name in self.fields}, index=index)

    def top(self, count: int = 10, field: str | None = None, smallest: bool = False) -> list[tuple[Any, Any]]:
        """Return the vertices with the largest (or smallest) values as pairs (id, value); ties by vertex order.

        >>> import tgraph as tg
        >>> [(vertex, rank)] = tg.pagerank(tg.from_edges([1, 2, 3], [9, 9, 9])).top(1)
        >>> vertex
        9
        """
        name = self._field_to_rank(count, field)
        order = ranking(self.graph.runtime.to_numpy(self.fields[name]), smallest)[:count]
        return list(zip(self.vertex_ids(order).tolist(), self.column(name)[order].tolist(), strict=True))

    def _field_to_rank(self, count: int, field: str | None) -> str:
        """Return the field that `top` ranks by, the main one unless given; check its arguments."""
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
            raise InvalidArgumentError(f"count={count!r} must be a whole number, 0 or more")
        name = next(iter(self.fields)) if field is None else field
        if name not in self.fields:
            raise InvalidArgumentError(f"field={name!r} is not in this result; use one of {', '.join(self.fields)}")
        return name

    def plot(self, kind: str = "iterations") -> Any:
        """Draw what the run did, iteration by iteration, as a matplotlib figure.

        Args:
            kind: `iterations` (active edges and seconds), or `transfers` (bytes from far memory by way of transfer).
        """
        from tgraph.results.plots import draw

        return draw(self.trace, kind, f"{self.name}: {kind}")

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write what the run did and found to one HTML file that needs nothing else.

        It shows the trace, the seconds and bytes, the first vertices under the user's ids, how values and degrees are
        distributed, parameters and versions, and a picture of a small graph.

        >>> import tempfile, tgraph as tg
        >>> result = tg.pagerank(tg.from_edges(["ann", "bob"], ["bob", "cy"]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.report(folder + "/run.html")
        """
        from tgraph.results.report import page

        with replacing(Path(path)) as temporary:
            temporary.write_text(page(self), encoding="utf-8")

    def to(self, runtime: str | None = None, device: str | None = None) -> Result:
        """Return the result with its tensors and its graph on another runtime or device."""
        target = runtimes.get(runtime, device)
        fields = {name: target.asarray(tensor) for name, tensor in self.fields.items()}
        graph = self.graph.to(runtime, device)
        return Result(self.name, graph, fields, self.trace, self.converged, self.residual, self.vertex_fields)

    def summary(self) -> str:
        """Return the outcome in one line."""
        words = [f"{self.graph.num_vertices:,} vertices", f"{self.iterations} iterations"]
        words.append("converged" if self.converged else "not converged")
        if self.residual is not None:
            words.append(f"residual {self.residual:.3g}")
        return ", ".join([*words, f"{self.trace.total_seconds:.3f} s"])

    def __repr__(self) -> str:
        return f"Result({self.name}: {', '.join(self.fields)}; {self.summary()})"

    def _repr_html_(self) -> str:
        shown = np.arange(min(SHOWN_ROWS, self.graph.num_vertices))
        columns = [self.vertex_ids(shown).tolist(), *(self.column(name)[: shown.size].tolist() for name in self.fields)]
        head = "".join(f"<th>{html.escape(str(name))}</th>" for name in ("vertex", *self.fields))
        rows = zip(*columns, strict=True)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
        more = self.graph.num_vertices - shown.size
        note = f"<p>and {more:,} more vertices</p>" if more else ""
        title = f"<p><b>{html.escape(self.name)}</b>: {html.escape(self.summary())}</p>"
        return f"{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def import_pandas() -> Any:
    """Return pandas, or say how to get it."""
    try:
        return importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        raise MissingDependencyError("pandas", "to_pandas()") from error


def _plain(column: Array) -> Array:
    return column.astype(object) if column.dtype.kind == "T" else column


def ranking(values: Array, smallest: bool) -> Array:
    """Return the positions of the values, the largest (or smallest) first; equal ones keep their order."""
    return np.argsort(values if smallest else _descending(values), kind="stable")


def _descending(values: Array) -> Array:
    """Return keys whose ascending order is the descending order of the values, also for the smallest integer."""
    return -values if values.dtype.kind == "f" else ~values
