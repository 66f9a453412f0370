"""Longer steps for sweeps on undirected graphs: the same fixed point after fewer iterations.

A linear program on an undirected graph has equations x = M x + b whose M is symmetric but for a factor per vertex, so
all its eigenvalues are real. If none is beyond `bound`, then z + omega * (M x + b - z), where z is what x was one
iteration before and omega comes from the recurrence below, needs about the square root of the iterations that
x = M x + b does (Chebyshev's semi-iteration; Golub and Varga 1961). The bound is learnt from how fast the residual
falls, at first in plain iterations; if it was too low, the values still settle, only slower, and it is raised (Hageman
and Young 1981). A `total` adds a matrix of rank one to M; that of PageRank is the same after an iteration as before it,
so M is as if it were not there.

A residual is always the change that a plain iteration makes, and the last iteration is a plain one: a run stops where
it would stop without this. Where residuals grow, because M was not such a matrix, iterations are plain again.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tgraph.kernels.cpu.fused.pieces import KernelProgram, type_name
from tgraph.kernels.cpu.team import JIT

OMEGA, BOUND, STEPS, REFERENCE, SINCE, PREVIOUS, LEAST = range(7)  # what a course holds
NEVER = -1.0  # a bound: no more attempts
TOO_SLOW = 0.5  # residuals that fall slower than by this are worth longer steps, in place of new values at once
SLOW = 0.4  # residuals that fall faster than by this are left alone
WINDOW = 4  # iterations, after which a bound is judged
ROOM = 1.2  # by which residuals may fall slower than the bound promises
GROWTH = 100.0  # of a residual over the least one: then this does not serve
LARGEST = 0.99999  # bound


def can_accelerate(program: KernelProgram) -> bool:
    """Whether a program leaves the order of its steps free and is linear, on an undirected graph."""
    is_float = program.field_dtypes[program.main_field].kind == "f"
    return program.asynchronous and program.symmetric and is_float


def accelerated_lines(program: KernelProgram) -> list[str]:
    """The lines that make the step of a vertex longer, where omega is not 1; `before` has the value before the last."""
    name = program.main_field
    dtype = type_name(program.field_dtypes[name])
    return [
        "if omega != 1.0:",
        f"    new_{name} = np.{dtype}(before[u] + omega * (new_{name} - before[u]))",
        f"before[u] = F_{name}[u]",
    ]


@njit(**JIT)
def new_course():
    """Return what `next_omega` goes by, before the first iteration."""
    course = np.zeros(7)
    course[PREVIOUS] = course[LEAST] = math.inf
    return course


@njit(**JIT)
def next_omega(course, residual, tolerance, is_last):
    """Return omega for the next iteration, 1 = a plain one, after the residual of this one. The same on all threads."""
    course[LEAST] = min(course[LEAST], residual)
    course[SINCE] += 1.0
    if course[BOUND] == 0.0 and SLOW * course[PREVIOUS] < residual < course[PREVIOUS]:
        _begin(course, residual / course[PREVIOUS], residual, 1.0)
    elif course[BOUND] > 0.0 and not residual <= GROWTH * course[LEAST]:
        course[BOUND] = NEVER
    elif course[BOUND] > 0.0 and course[SINCE] >= WINDOW:
        _judge(course, residual)
    course[PREVIOUS] = residual
    if course[BOUND] <= 0.0:
        return 1.0
    if residual <= tolerance or is_last:
        _begin(course, course[BOUND], residual, 0.0)
    return _step(course)


@njit(**JIT)
def _begin(course, bound, residual, steps):
    """Start the recurrence anew with a bound, after so many plain steps (at most one), and a window of residuals."""
    course[BOUND], course[STEPS], course[REFERENCE], course[SINCE] = min(bound, LARGEST), steps, residual, 0.0


@njit(**JIT)
def _judge(course, residual):
    """Raise the bound if the residual fell slower than it promises; begin another window in any case.

    A residual that fell not at all in a window was by chance far below the error: the bound is learnt anew.
    """
    bound = course[BOUND]
    if residual >= course[REFERENCE]:
        course[BOUND] = 0.0
        return
    share = 1.0 + math.sqrt(1.0 - bound * bound)
    reached = share * (residual / course[REFERENCE]) ** (1.0 / course[SINCE])
    if reached > ROOM * bound:
        _begin(course, max(bound, (reached + bound * bound / reached) / 2.0), residual, 0.0)
    else:
        course[REFERENCE], course[SINCE] = residual, 0.0


@njit(**JIT)
def _step(course):
    """Return the next omega of the recurrence, whose first step is a plain one."""
    square = course[BOUND] * course[BOUND]
    if course[STEPS] == 0.0:
        course[OMEGA] = 1.0
    elif course[STEPS] == 1.0:
        course[OMEGA] = 1.0 / (1.0 - square / 2.0)
    else:
        course[OMEGA] = 1.0 / (1.0 - square * course[OMEGA] / 4.0)
    course[STEPS] += 1.0
    return course[OMEGA]
