"""NAPA, the programming model of GraphTensor: NeighborApply weighs edges, Pull aggregates along them, Apply is dense.

Blocks are compressed rows, one per target, and each target is computed by one thread, or by one program of a GPU. With
kernels nothing of the size edges x features is made, forward or backward, unless a function says so; on devices without
kernels torch's own operations are used (`tgraph.nn.plain`). Half-precision embeddings are accumulated in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from torch import Tensor

from tgraph.errors import InvalidArgumentError, check_choice
from tgraph.nn import plain
from tgraph.nn.block import Block
from tgraph.nn.edge_functions import AddEnds, Cosine, Dot, LeakyDot, Softmax, SumEdges
from tgraph.nn.product_functions import MaxByProducts, Reading, SumByProducts, SumTimes
from tgraph.nn.pull_functions import Max, Sum
from tgraph.nn.row_kernels import kernels_of
from tgraph.nn.rows import Rows, gathered
from tgraph.nn.sums import HALF_DTYPES, divided_by_counts

SCORES = ("dot", "cosine", "additive", "product")
COMBINATIONS = ("multiply", "add")
REDUCTIONS = ("sum", "mean", "max", "softmax")


@dataclass(frozen=True)
class EdgeProduct:
    """A vector for each edge, the product of the embeddings at its ends; not stored, `pull` multiplies as it reads."""

    sources: Tensor | Rows  # [S, F] or [S, H, F]
    targets: Tensor | Rows  # [T, F] or [T, H, F]


def neighbor_apply(
    block: Block,
    source_embeddings: Tensor | Rows,
    target_embeddings: Tensor | Rows,
    g: str | Callable[[Tensor, Tensor], Tensor],
    attention: Tensor | None = None,
    negative_slope: float = 0.2,
) -> Tensor | EdgeProduct:
    """Return a weight for each edge from the embeddings at its two ends.

    Args:
        block: The edges.
        source_embeddings: x, `[S, F]` or with heads `[S, H, F]`.
        target_embeddings: y, `[T, F]` or `[T, H, F]`.
        g: How an edge is weighed:

            - `"dot"`: the dot product of x and y, `[E]` or `[E, H]`.
            - `"cosine"`: that of their directions; 0 where one of them is zero.
            - `"additive"`: x + y of projections that are already made, `[S, H]` and `[T, H]` (GAT; it saves the
              concatenation). With `attention [H, F]` (or `[F]` without heads) the sum over the features of
              `attention * leaky_relu(x + y)` (GATv2).
            - `"product"`: the element-wise product, a vector per edge that is not stored: an `EdgeProduct` for `pull`.
            - a function of x and y of every edge: both are gathered, which makes edges x features.
        attention: The attention vector of `"additive"`.
        negative_slope: Of the leaky_relu of `"additive"`.

    >>> import tgraph as tg, torch
    >>> block = Block.of_graph(tg.from_edges([0, 1, 0], [1, 2, 2], runtime="numpy"))
    >>> x = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    >>> neighbor_apply(block, x, x, "dot").tolist()  # edges 0-1, 0-2 and 1-2
    [2.0, 0.0, 3.0]
    >>> neighbor_apply(block, x, x, lambda a, b: (a - b).abs().sum(1)).tolist()
    [2.0, 4.0, 4.0]
    """
    x = source_embeddings
    _check_rows(block, x, target_embeddings)
    if callable(g):
        return g(*plain.ends(block, gathered(x), gathered(target_embeddings)))
    check_choice("g", g, SCORES)
    if x.shape[1:] != target_embeddings.shape[1:] or x.dtype != target_embeddings.dtype:
        raise InvalidArgumentError(
            f"sources are {_described(x)} and targets {_described(target_embeddings)}; they must agree in features "
            "and type"
        )
    if g == "product":
        return EdgeProduct(x, target_embeddings)
    y = gathered(target_embeddings)
    if attention is not None and (g != "additive" or attention.shape != x.shape[1:]):
        raise InvalidArgumentError(
            f"attention {tuple(attention.shape)} does not fit; it belongs to g='additive' and has the shape of "
            f"one embedding, {tuple(x.shape[1:])}"
        )
    if not _has_kernels(y):
        return plain.score(block, gathered(x), y, g, attention, negative_slope)
    if y.dtype in HALF_DTYPES:
        wide = None if attention is None else attention.float()
        scores = neighbor_apply(block, gathered(x).float(), y.float(), g, wide, negative_slope)
        return scores.to(y.dtype)  # type: ignore[union-attr]
    return _score(block, x, y, g, attention, negative_slope)


def _score(
    block: Block, x: Tensor | Rows, y: Tensor, g: str, attention: Tensor | None, negative_slope: float
) -> Tensor:
    if g == "additive" and attention is None:
        flat = AddEnds.apply(gathered(x).flatten(1), y.flatten(1), block)
        return flat.view(block.num_edges, *y.shape[1:])
    table, row_ids = _read(x)
    has_heads = y.ndim == 3
    if not has_heads:
        table, y = table.unsqueeze(1), y.unsqueeze(1)
    if attention is None:
        scores = (Dot if g == "dot" else Cosine).apply(table, y, block, row_ids)
    else:
        scores = LeakyDot.apply(table, y, attention.view(y.shape[1:]), negative_slope, block, row_ids)
    return scores if has_heads else scores.squeeze(1)


def pull(
    block: Block,
    embeddings: Tensor | Rows,
    edge_weights: Tensor | EdgeProduct | None = None,
    h: str = "multiply",
    f: str = "sum",
) -> Tensor:
    """Return for each target what its edges bring, `[T, F]` or `[T, H, F]`; 0 for a target without edges.

    Args:
        block: The edges.
        embeddings: x of the sources, `[S, F]` or `[S, H, F]`; `Rows` are read in place.
        edge_weights: w of the edges: `[E]`, one per head `[E, H]`, an `EdgeProduct`, or None.
        h: What an edge brings: `"multiply"` is w * x, `"add"` is x + w; without weights it is x.
        f: How that is aggregated: `"sum"`, `"mean"`, `"max"` (its gradient goes to the first edge that has it), or
            `"softmax"`: the weights are normalised over the edges of each target, then it is a sum.

    Sums and means of products multiply by what belongs to the target once, after they are summed: the sum of
    x_j + x_i * x_j is computed as (1 + x_i) * the sum of x_j, the same by algebra, and up to rounding in numbers.

    The messages x_j + x_i * x_j of NGCF, averaged:

    >>> import tgraph as tg, torch
    >>> block = Block.of_graph(tg.from_edges([0, 1, 0], [1, 2, 2], runtime="numpy"))
    >>> x = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    >>> pull(block, x, neighbor_apply(block, x, x, "product"), h="add", f="mean").tolist()
    [[0.0, 0.0], [3.0, 0.0], [1.5, 2.0]]
    >>> pull(block, x, f="max").tolist()
    [[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]]
    """
    check_choice("h", h, COMBINATIONS)
    check_choice("f", f, REDUCTIONS)
    _check_rows(block, embeddings, None)
    if isinstance(edge_weights, EdgeProduct):
        return _pull_products(block, embeddings, edge_weights, h, f)
    if f == "softmax" and edge_weights is None:
        raise InvalidArgumentError("f='softmax' normalises edge_weights, and there are none; give some or use 'mean'")
    weights = None if edge_weights is None else _checked_weights(block, embeddings, edge_weights)
    table, row_ids = _read(embeddings)
    if not _has_kernels(table):
        return plain.pull(block, gathered(embeddings), weights, h, f)
    has_weighted_heads = weights is not None and weights.ndim == 2 and weights.shape[1] > 1
    is_linear = f in ("sum", "mean") and (weights is None or h == "multiply")
    if table.dtype in HALF_DTYPES and (has_weighted_heads or not is_linear):
        wide = None if weights is None else weights.float()
        return pull(block, gathered(embeddings).float(), wide, h, f).to(table.dtype)
    if not has_weighted_heads:  # what is weighted alike is one long vector
        weights = None if weights is None else weights.reshape(-1, 1)
        table = table.flatten(1).unsqueeze(1)
    pulled = _pull(block, table, row_ids, weights, h == "add", f)
    return pulled.view(block.num_targets, *embeddings.shape[1:])


def _pull(block: Block, x: Tensor, row_ids: Tensor | None, weights: Tensor | None, adds: bool, f: str) -> Tensor:
    """`pull` of x `[N, H, F]` and weights `[E, H]`."""
    if f == "max":
        return Max.apply(x, weights, block, row_ids, adds)
    if f == "softmax":
        weights = Softmax.apply(weights, block)
    if weights is None or not adds:
        return Sum.apply(x, weights, block, row_ids, f == "mean")
    added = SumEdges.apply(weights, block)
    if f == "mean":
        added = divided_by_counts(block, added)
    return Sum.apply(x, None, block, row_ids, f == "mean") + added.unsqueeze(-1)


def _pull_products(block: Block, embeddings: Tensor | Rows, product: EdgeProduct, h: str, f: str) -> Tensor:
    if f == "softmax":
        raise InvalidArgumentError("f='softmax' needs a number per edge or head, not a product; use 'sum' or 'mean'")
    _check_rows(block, product.sources, product.targets)
    if embeddings.shape[1:] != product.sources.shape[1:] or embeddings.dtype != product.sources.dtype:
        raise InvalidArgumentError(
            f"embeddings are {_described(embeddings)} and the product {_described(product.sources)}; they must agree"
        )
    if product.sources.dtype in HALF_DTYPES or not _has_kernels(_read(product.targets)[0]):
        same = product.sources is embeddings
        rows = gathered(embeddings)
        gathered_product = EdgeProduct(rows if same else gathered(product.sources), gathered(product.targets))
        return _pull_gathered_products(block, rows, gathered_product, h, f)
    (table, row_ids), (factors, factor_row_ids) = _read(embeddings), _read(product.sources)
    is_same = factors is table and factor_row_ids is row_ids
    if h == "add" and f != "max":
        if is_same:
            pulled = _pull_times(block, table, row_ids, product.targets, f == "mean")
            return pulled.view(block.num_targets, *embeddings.shape[1:])
        return pull(block, embeddings, f=f) + gathered(product.targets) * pull(block, product.sources, f=f)
    how = Reading(block, row_ids, factor_row_ids, is_same, h == "add")
    flat = [one.flatten(1) for one in (table, table if is_same else factors, gathered(product.targets))]
    pulled = MaxByProducts.apply(*flat, how) if f == "max" else SumByProducts.apply(*flat, how, f == "mean")
    return pulled.view(block.num_targets, *embeddings.shape[1:])


def _pull_times(block: Block, table: Tensor, row_ids: Tensor | None, targets: Tensor | Rows, is_mean: bool) -> Tensor:
    """The sum or mean of x_j + x_i * x_j; the rows of targets are read in place unless they get a gradient."""
    own, own_ids = _read(targets)
    if own.requires_grad:
        own, own_ids = gathered(targets), None
    return SumTimes.apply(table.flatten(1), own.flatten(1), block, row_ids, own_ids, is_mean)


def _pull_gathered_products(block: Block, embeddings: Tensor, product: EdgeProduct, h: str, f: str) -> Tensor:
    """Where there are no kernels torch's own operations are used, and half precision is accumulated in float32."""
    sources, targets = cast(Tensor, product.sources), cast(Tensor, product.targets)
    if not _has_kernels(targets):
        return plain.pull(block, embeddings, plain.score(block, sources, targets, "product"), h, f)
    wide = embeddings.float()
    factors = wide if sources is embeddings else sources.float()
    return _pull_products(block, wide, EdgeProduct(factors, targets.float()), h, f).to(targets.dtype)


def edge_softmax(block: Block, scores: Tensor) -> Tensor:
    """Return scores `[E]` or `[E, H]` normalised over the edges of each target, as `f="softmax"` does before it sums.

    >>> import tgraph as tg, torch
    >>> block = Block.of_graph(tg.from_edges([0, 1, 0], [1, 2, 2], runtime="numpy"))
    >>> edge_softmax(block, torch.zeros(3)).tolist()
    [1.0, 0.5, 0.5]
    """
    if not _has_kernels(scores) or scores.dtype in HALF_DTYPES:
        return plain.softmax(block, scores)
    return Softmax.apply(scores.view(block.num_edges, -1), block).view(scores.shape)


def apply(embeddings: Tensor | Rows, *modules: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the dense part of a layer: the embeddings through each module or function in turn.

    >>> import torch
    >>> apply(torch.tensor([[1.0, -2.0]]), torch.nn.Identity(), torch.relu).tolist()
    [[1.0, 0.0]]
    """
    values = gathered(embeddings)
    for module in modules:
        values = module(values)
    return values


def _read(embeddings: Tensor | Rows) -> tuple[Tensor, Tensor | None]:
    """Return the tensor to read and which of its rows the sources are, None = in order. What is far is fetched once."""
    if isinstance(embeddings, Rows) and embeddings.is_far:
        return embeddings.gather(), None
    return (embeddings.table, embeddings.ids) if isinstance(embeddings, Rows) else (embeddings, None)


def _has_kernels(embeddings: Tensor) -> bool:
    return kernels_of(embeddings) is not None


def _described(embeddings: Tensor | Rows) -> str:
    return f"{list(embeddings.shape)} {embeddings.dtype}"


def _check_rows(block: Block, sources: Tensor | Rows, targets: Tensor | None) -> None:
    pairs: list[tuple[str, Any, int]] = [("source", sources, block.num_sources), ("target", targets, block.num_targets)]
    for name, values, count in pairs:
        if values is None:
            continue
        if values.shape[0] != count:
            raise InvalidArgumentError(f"there are {values.shape[0]} {name} embeddings; the block has {count} {name}s")
        if len(values.shape) not in (2, 3) or not values.dtype.is_floating_point:
            raise InvalidArgumentError(
                f"{name} embeddings are {_described(values)}; give floats of [vertices, F] or [vertices, heads, F]"
            )


def _checked_weights(block: Block, embeddings: Tensor | Rows, weights: Tensor) -> Tensor:
    """Return the weights in the type of the embeddings."""
    heads = embeddings.shape[1] if len(embeddings.shape) == 3 else 1
    if tuple(weights.shape) not in ((block.num_edges,), (block.num_edges, 1), (block.num_edges, heads)):
        raise InvalidArgumentError(
            f"edge_weights are {list(weights.shape)}; the block has {block.num_edges} edges and the embeddings {heads} "
            "heads: give [E] or [E, heads]"
        )
    return weights.to(embeddings.dtype)
