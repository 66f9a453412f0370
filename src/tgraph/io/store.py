"""The native file: a safetensors file that is mapped, not loaded, so that opening takes no time at any size.

Tensors (little-endian, one behind the other; the format executes nothing on load):

| name | type | meaning |
|---|---|---|
| `out_offsets` | int64 `[V+1]` | where the edges of each vertex begin |
| `out_targets` | int32 or int64 `[E]` | the vertices that edges lead to |
| `weights` | float32, float64, int32 or int64 `[E]` | optional |
| `in_offsets`, `in_sources`, `in_weights` | as above | optional: the reverse direction |
| `vertex_labels` | int64 `[V]` | optional: the user's ids, where they are integers |
| `vertex_label_bytes`, `vertex_label_offsets` | uint8 `[B]`, int64 `[V+1]` | optional: the ids as UTF-8 |

Beside `out_targets` and `in_sources`, or instead of them, the same can be there in fewer bytes (`coded_store`). A
compressed graph has `layered_offsets`, `layered_neighbors` and `layers` instead of rows (`layered_store`).

The metadata holds `format` ("tgraph"), `version`, `directed`, `num_edges`, `is_sorted` and, with weights,
`weight_range`: the smallest, the largest, and how many are NaN. Other tensors are ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from safetensors import SafetensorError, safe_open

from tgraph import runtime as runtimes
from tgraph.dtypes import index_dtype
from tgraph.errors import FileFormatError, InvalidArgumentError, InvalidGraphError, check_choice
from tgraph.graph import Adjacency, CompressedGraph, Graph
from tgraph.graph.labels import STRING_DTYPE
from tgraph.io.coded_store import NEIGHBORS, CodedIds, CodedRows, coded_tensors
from tgraph.io.files import replacing, split_ending
from tgraph.io.layered_store import build_layered, layer_tensors
from tgraph.io.rows import FilePath, check_neighbors, check_offsets
from tgraph.io.tensor_file import Tensors, find_tensor, map_tensors, write_tensors
from tgraph.kernels.cpu.coded_ids import PADDING_BYTES
from tgraph.runtime import Array

FORMAT, VERSION = "tgraph", 1
LARGEST_HEADER_BYTES = 1 << 20  # that is worth fetching; the header of a graph has a few hundred

_WEIGHT_DTYPES = ("I64", "I32", "F64", "F32")
OffsetsCheck: TypeAlias = Callable[[FilePath, str, Array, int], None]  # raises


CHECKS = ("offsets", "bounds", "all")
_ROWS = {"out": ("out_offsets", "out_targets", "weights"), "in": ("in_offsets", "in_sources", "in_weights")}


def read(path: FilePath, *, check: str = "bounds", runtime: str | None = None, device: str | None = None) -> Graph:
    """Map a native file as a graph. The pages are read when they are used, and shared by all processes that map it.

    Args:
        path: A file that `write` made. It must not be changed in place while the graph exists; `write` itself never
            does that.
        check: How much to make sure of. `offsets`: the header, all sizes and the offsets; opens a file of any size at
            once, but only a file that you trust. `bounds`: also that every edge leads to a vertex, which reads all
            edges once. `all`: every invariant of a graph.
        runtime: The tensor runtime of the graph, the configured one if None.
        device: The device of the tensors; on the CPU the mapped memory itself is used.

    >>> import tempfile, tgraph as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(tg.from_edges([7, 7], [8, 9]), folder + "/small.safetensors")
    ...     read(folder + "/small.safetensors", runtime="numpy")
    Graph(3 vertices, 2 edges, directed, unweighted, labelled, numpy on cpu)
    """
    check_choice("check", check, CHECKS)
    return map_graph(path, check).to(runtime, device)


def map_graph(
    path: FilePath, check: str = "offsets", check_rows: OffsetsCheck = check_offsets, decode: bool = True
) -> Graph:
    """Do what `read` does, on NumPy; `check_rows(path, name, offsets, num_arcs)` makes sure of offsets.

    Neighbours that are only there coded are decoded into memory, unless `decode` says that they stay in the file.
    """
    _check_not_compressed(path)
    metadata = _read_metadata(path)
    tensors = map_tensors(path)
    if "layers" in tensors:
        return _map_compressed(path, metadata, tensors, check)
    out = _settled(_adjacency(path, tensors, "out", metadata["num_arcs"], check_rows), decode)
    directed = metadata["directed"]
    reverse = None
    if directed and "in_offsets" in tensors:
        reverse = _settled(_adjacency(path, tensors, "in", metadata["num_arcs"], check_rows), decode)
        _check_same_size(path, out, reverse)
    _check_num_edges(path, metadata, out.num_arcs)
    labels = _read_labels(path, tensors, out.num_vertices)
    graph = Graph(
        out,
        directed=directed,
        num_edges=metadata["num_edges"],
        labels=labels,
        is_sorted=metadata["is_sorted"],
        reverse=reverse,
        weight_range=metadata["weight_range"] if check == "offsets" else None,
    )
    if check != "offsets":
        check_neighbors(path, "out_targets", out.neighbors, out.num_vertices)
        if reverse is not None:
            check_neighbors(path, "in_sources", reverse.neighbors, out.num_vertices)
    if check == "all":
        _check_fully(path, graph)
        _check_coded(path, tensors, {"out": out, "in": reverse}, check_rows)
    return graph


def _map_compressed(path: FilePath, metadata: dict[str, Any], tensors: Tensors, check: str) -> Graph:
    kinds = {"layered_offsets": ("I32", "I64"), "layered_neighbors": ("I32",), "layers": ("I64",)}
    arrays = {name: find_tensor(path, tensors, name, dtypes) for name, dtypes in kinds.items()}
    if metadata["num_arcs"] is None:
        raise FileFormatError(path, "metadata", "num_arcs is missing, which a compressed graph needs")
    _check_num_edges(path, metadata, metadata["num_arcs"])
    num_vertices = int(arrays["layers"][0]) if arrays["layers"].size else 0
    labels = _read_labels(path, tensors, num_vertices)
    properties = {name: metadata[name] for name in ("directed", "num_edges", "is_sorted")}
    return build_layered(path, arrays, metadata["num_arcs"], labels, properties, check)


def map_rows(path: FilePath) -> tuple[Adjacency, bool, dict[str, Array]]:
    """Return the mapped outgoing edges of a native file, whether it is directed, and its tensors of labels.

    The header, all sizes and the offsets are made sure of; where edges lead and what the labels say is not. Neighbours
    that are only there coded are decoded slice by slice.
    """
    _check_not_compressed(path)
    metadata, tensors = _read_metadata(path), map_tensors(path)
    rows = _adjacency(path, tensors, "out", metadata["num_arcs"], check_offsets)
    _check_num_edges(path, metadata, rows.num_arcs)
    return rows, metadata["directed"], _label_arrays(path, tensors, rows.num_vertices)


class MappedParts(NamedTuple):
    """What a rank of a group reads its part from: mapped arrays, of which nothing was read but the offsets."""

    rows: dict[str, Adjacency]  # out, and in where the file has it
    directed: bool
    num_edges: int
    is_sorted: bool
    labels: dict[str, Array]
    weight_range: tuple[Any, Any, int] | None  # None = the file does not say

    def labels_between(self, path: FilePath, first: int, last: int) -> Array | None:
        """Return the ids of the vertices from `first` to `last`, not included."""
        if "vertex_label_bytes" not in self.labels:
            return np.array(self.labels["vertex_labels"][first:last]) if self.labels else None
        bounds = np.array(self.labels["vertex_label_offsets"][first : last + 1])
        return _decode(path, self.labels["vertex_label_bytes"][bounds[0] : bounds[-1]], bounds - bounds[0])


def map_parts(path: FilePath, check_rows: OffsetsCheck = check_offsets) -> MappedParts:
    """Map a native file to be read in parts; where edges lead is not made sure of, coded ids are decoded by slices."""
    _check_not_compressed(path)
    metadata, tensors = _read_metadata(path), map_tensors(path)
    if "layers" in tensors:
        raise InvalidArgumentError(f"{path} holds a compressed graph, which is not divided; use graph.decompress()")
    rows = {"out": _adjacency(path, tensors, "out", metadata["num_arcs"], check_rows)}
    if metadata["directed"] and "in_offsets" in tensors:
        rows["in"] = _adjacency(path, tensors, "in", metadata["num_arcs"], check_rows)
        _check_same_size(path, rows["out"], rows["in"])
    _check_num_edges(path, metadata, rows["out"].num_arcs)
    kinds = (metadata["directed"], metadata["num_edges"], metadata["is_sorted"])
    labels = _label_arrays(path, tensors, rows["out"].num_vertices)
    return MappedParts(rows, *kinds, labels, metadata["weight_range"])


def write(graph: Graph, path: FilePath, *, reverse: bool = False, neighbors: str = "plain") -> None:
    """Write a graph as a native file.

    Args:
        graph: Any graph whose vertex labels are integers or strings, compressed or not.
        path: Where to write; an existing file is replaced in one step.
        reverse: Also store the incoming edges of a directed graph, so that they need not be built after reading.
        neighbors: `plain` ids, `coded` ones, which are smaller and faster to be moved where a graph does not fit into
            memory (`tgraph.open`), or `both`, of which `tgraph.open` uses what is faster on its disk.

    >>> import tempfile, tgraph as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(tg.generate.web_like(3000, 8, seed=1), folder + "/web.safetensors", reverse=True, neighbors="coded")
    ...     len(tg.bfs(tg.open(folder + "/web.safetensors", memory="1MiB"), 2999).levels)
    3000
    """
    _check_not_compressed(path)
    check_choice("neighbors", neighbors, NEIGHBORS)
    names = _ROWS
    tensors: dict[str, Array] = {}
    metadata = graph_metadata(graph.directed, graph.num_edges, graph.is_sorted)
    if isinstance(graph, CompressedGraph):
        _refuse_for_compressed(reverse=reverse, neighbors=neighbors)
        tensors, more = layer_tensors(graph)
        metadata |= more
        names = {}
    for side in names if reverse and graph.directed else tuple(names)[:1]:
        rows = zip(names[side], graph.adjacency(side).to_numpy(), strict=True)
        tensors |= {name: array for name, array in rows if array is not None}
        if neighbors != "plain":
            ids = tensors[names[side][1]] if neighbors == "both" else tensors.pop(names[side][1])
            tensors |= coded_tensors(side, ids)
            metadata["num_arcs"] = json.dumps(graph.num_arcs)
    tensors |= _label_tensors(graph)
    if graph.weighted:
        metadata["weight_range"] = json.dumps([value.item() for value in map(np.asarray, graph.weight_range)])
    with replacing(path) as temporary:
        write_tensors(temporary, tensors, metadata)


def _refuse_for_compressed(reverse: bool, neighbors: str) -> None:
    if reverse:
        raise InvalidArgumentError("reverse=True is not for compressed graphs: their rows serve both directions")
    if neighbors != "plain":
        raise InvalidArgumentError(
            f"neighbors={neighbors!r} is not for compressed graphs, which run in memory; write graph.decompress()"
        )


# --- reading ---------------------------------------------------------------------------------------------------------
def _check_not_compressed(path: FilePath) -> None:
    compression = split_ending(path)[1]
    if compression:
        raise InvalidArgumentError(
            f"{os.fspath(path)} ends in {compression}: a compressed native file could not be mapped into memory; "
            f"use the name without {compression}, or another format"
        )


def _read_metadata(path: FilePath) -> dict[str, Any]:
    """Let the safetensors library validate the header and return the graph's properties."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{os.fspath(path)} does not exist or is no file")
    _fetch_header(path)
    try:
        with safe_open(os.fspath(path), framework="numpy") as opened:
            metadata = opened.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise FileFormatError(path, "header", f"is not a safetensors header: {error}") from error
    if metadata.get("format") != FORMAT:
        raise FileFormatError(path, "metadata", f"format is {metadata.get('format')!r}, not {FORMAT!r}: not a graph")
    if metadata.get("version") != str(VERSION):
        found = metadata.get("version")
        raise FileFormatError(path, "metadata", f"version is {found!r}; this release reads {VERSION}: update tgraph")
    types = {"directed": bool, "num_edges": int, "is_sorted": bool}
    properties = {name: _property(path, metadata, name, kind) for name, kind in types.items()}
    found = _property(path, metadata, "weight_range", list) if "weight_range" in metadata else None
    properties["num_arcs"] = _property(path, metadata, "num_arcs", int) if "num_arcs" in metadata else None
    return {**properties, "weight_range": None if found is None else tuple(found)}


def _fetch_header(path: FilePath) -> None:
    """Bring the pages of the header near, and no others: the library maps the file, and for a page that is missing the
    system reads megabytes around it, which may be more than a budget has.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        header_bytes = int.from_bytes(file.read(8), "little")
        file.read(min(header_bytes, LARGEST_HEADER_BYTES))


def _property(path: FilePath, metadata: dict[str, str], name: str, kind: type) -> Any:
    try:
        value = json.loads(metadata[name])
    except (KeyError, ValueError):
        value = None
    if type(value) is not kind:
        raise FileFormatError(path, "metadata", f"{name} is {metadata.get(name)!r}; it must be of type {kind.__name__}")
    return value


def _adjacency(
    path: FilePath, tensors: Tensors, side: str, num_arcs: int | None, check_rows: OffsetsCheck
) -> Adjacency:
    """Return the rows of one direction; neighbours that are only there coded are `CodedIds`."""
    offsets, neighbors, weights = _ROWS[side]
    offset_array = find_tensor(path, tensors, offsets, ("I64",))
    is_coded = neighbors not in tensors and f"{side}_coded" in tensors
    neighbor_array: Any
    if is_coded:
        neighbor_array = _coded_ids(path, tensors, side, num_arcs, offset_array.size - 1, check_rows)
    else:
        neighbor_array = find_tensor(path, tensors, neighbors, ("I32", "I64"))
    check_rows(path, offsets, offset_array, neighbor_array.size)
    expected = index_dtype(offset_array.size - 1)
    if neighbor_array.dtype != expected:
        name = f"{side}_coded" if is_coded else neighbors
        raise FileFormatError(
            path, name, f"is {neighbor_array.dtype.name}; {offset_array.size - 1} vertices need {expected.name}"
        )
    weight_array = None
    if weights in tensors:
        weight_array = find_tensor(path, tensors, weights, _WEIGHT_DTYPES)
        if weight_array.size != neighbor_array.size:
            raise FileFormatError(path, weights, f"has {weight_array.size} entries for {neighbor_array.size} edges")
    return Adjacency(runtimes.get("numpy"), offset_array, neighbor_array, weight_array)


def _coded_ids(
    path: FilePath, tensors: Tensors, side: str, num_arcs: int | None, num_vertices: int, check_rows: OffsetsCheck
) -> CodedIds:
    coded = find_tensor(path, tensors, f"{side}_coded", ("U8",))
    frames = find_tensor(path, tensors, f"{side}_frames", ("I64",))
    if num_arcs is None:
        raise FileFormatError(path, "metadata", "num_arcs is missing, which coded neighbours need")
    check_rows(path, f"{side}_frames", frames, coded.size - PADDING_BYTES)
    return CodedIds(path, f"{side}_coded", coded, frames, num_arcs, num_vertices)


def _settled(rows: Adjacency, decode: bool) -> Adjacency:
    """Return rows whose neighbours are an array, or which say that they are none."""
    ids: Any = rows.neighbors
    if not isinstance(ids, CodedIds):
        return rows
    if not decode:
        return CodedRows(rows.runtime, rows.offsets, ids, rows.weights)
    return Adjacency(rows.runtime, rows.offsets, ids[:], rows.weights)


def _check_coded(
    path: FilePath, tensors: Tensors, sides: dict[str, Adjacency | None], check_rows: OffsetsCheck
) -> None:
    """Raise where coded neighbours are something else than the ids beside them."""
    for side, rows in sides.items():
        if rows is not None and f"{side}_coded" in tensors and _ROWS[side][1] in tensors:
            ids = _coded_ids(path, tensors, side, rows.num_arcs, rows.num_vertices, check_rows)
            if not np.array_equal(ids[:], rows.neighbors):
                raise FileFormatError(path, f"{side}_coded", f"holds other neighbours than {_ROWS[side][1]}")


def _check_same_size(path: FilePath, out: Adjacency, reverse: Adjacency) -> None:
    sizes = [(rows.num_vertices, rows.num_arcs, rows.weights is not None) for rows in (out, reverse)]
    if sizes[0] != sizes[1]:
        raise FileFormatError(
            path, "in_offsets", f"the incoming edges (vertices, edges, weighted) are {sizes[1]}, not {sizes[0]}"
        )


def _check_num_edges(path: FilePath, metadata: dict[str, Any], num_arcs: int) -> None:
    found, least = metadata["num_edges"], num_arcs if metadata["directed"] else (num_arcs + 1) // 2
    if not least <= found <= num_arcs:
        raise FileFormatError(path, "metadata", f"num_edges is {found}, which {num_arcs} stored directions contradict")


def _label_arrays(path: FilePath, tensors: Tensors, num_vertices: int) -> dict[str, Array]:
    """Return the tensors of labels, none where there are no labels; their sizes fit."""
    if "vertex_labels" in tensors:
        labels = find_tensor(path, tensors, "vertex_labels", ("I64",))
        if labels.size != num_vertices:
            raise FileFormatError(path, "vertex_labels", f"has {labels.size} entries for {num_vertices} vertices")
        return {"vertex_labels": labels}
    if "vertex_label_bytes" not in tensors:
        return {}
    raw = find_tensor(path, tensors, "vertex_label_bytes", ("U8",))
    offsets = find_tensor(path, tensors, "vertex_label_offsets", ("I64",))
    check_offsets(path, "vertex_label_offsets", offsets, raw.size)
    if offsets.size != num_vertices + 1:
        raise FileFormatError(path, "vertex_label_offsets", f"has {offsets.size} entries for {num_vertices} vertices")
    return {"vertex_label_bytes": raw, "vertex_label_offsets": offsets}


def _read_labels(path: FilePath, tensors: Tensors, num_vertices: int) -> Array | None:
    arrays = _label_arrays(path, tensors, num_vertices)
    if "vertex_label_bytes" not in arrays:
        return arrays.get("vertex_labels")
    return _decode(path, arrays["vertex_label_bytes"], arrays["vertex_label_offsets"])


def _decode(path: FilePath, raw: Array, offsets: Array) -> Array:
    content = raw.tobytes()
    try:
        texts = [content[begin:end].decode() for begin, end in pairwise(offsets.tolist())]
    except UnicodeDecodeError as error:
        raise FileFormatError(path, "vertex_label_bytes", f"is not UTF-8: {error}") from error
    return np.asarray(texts, STRING_DTYPE)


def _check_fully(path: FilePath, graph: Graph) -> None:
    try:
        graph.check()
    except InvalidGraphError as error:
        raise FileFormatError(path, "tensors", str(error)) from error


# --- writing ---------------------------------------------------------------------------------------------------------
def _label_tensors(graph: Graph) -> dict[str, Array]:
    labels = graph.vertex_labels
    if labels is None:
        return {}
    if labels.dtype.kind == "i":
        return {"vertex_labels": labels}
    if labels.dtype.kind != "T":
        kind = type(labels[0]).__name__ if labels.size else labels.dtype.name
        raise InvalidArgumentError(
            f"the vertex labels are of type {kind}; a file holds integers or strings: use graph.relabel(str)"
        )
    texts = [label.encode() for label in labels.tolist()]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return {"vertex_label_bytes": np.frombuffer(b"".join(texts), np.uint8), "vertex_label_offsets": offsets}


def graph_metadata(directed: bool, num_edges: int, is_sorted: bool) -> dict[str, str]:
    """Return what the header says of a graph."""
    return {
        "format": FORMAT,
        "version": str(VERSION),
        "directed": json.dumps(bool(directed)),
        "num_edges": json.dumps(int(num_edges)),
        "is_sorted": json.dumps(bool(is_sorted)),
    }
