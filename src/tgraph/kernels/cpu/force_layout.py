"""Places for a picture of a small graph: vertices push each other away, edges pull (Fruchterman and Reingold, 1991).

Every pair is looked at in every round, so it is for some thousands of vertices. The start is a spiral, so the same
graph has the same picture. Each thread moves its part of the vertices, from the places of the round before.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

ROUNDS = 80
GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


def place_vertices(offsets: Array, neighbors: Array) -> Array:
    """Return places `[V, 2]` from 0 to 1, from the rows of a graph with both directions of every edge."""
    num_vertices = offsets.size - 1
    if num_vertices < 2:
        return np.full((num_vertices, 2), 0.5)
    numbers = np.arange(num_vertices)
    radii, angles = np.sqrt((numbers + 0.5) / num_vertices), numbers * GOLDEN_ANGLE
    places = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    spacing = 1.0 / math.sqrt(num_vertices)
    size = team_size(num_vertices * num_vertices)
    for number in range(ROUNDS):
        moved = np.empty_like(places)
        farthest = 0.2 * (1.0 - number / ROUNDS) + 0.1 * spacing
        run_team(_move, size, offsets, neighbors, places, moved, spacing, farthest)
        places = moved
    places -= places.min(axis=0)
    return np.ascontiguousarray(places / max(float(places.max()), 1e-12))


@njit(**JIT)
def _move(rank, size, offsets, neighbors, places, moved, spacing, farthest):
    """Writes moved[u] for its part of the vertices."""
    first, last = part(rank, size, places.shape[0])
    for u in range(first, last):
        x, y = 0.0, 0.0
        for v in range(places.shape[0]):
            dx, dy = places[u, 0] - places[v, 0], places[u, 1] - places[v, 1]
            squared = dx * dx + dy * dy + 1e-9
            x += dx * spacing * spacing / squared
            y += dy * spacing * spacing / squared
        for e in range(offsets[u], offsets[u + 1]):
            v = neighbors[e]
            dx, dy = places[u, 0] - places[v, 0], places[u, 1] - places[v, 1]
            distance = math.sqrt(dx * dx + dy * dy)
            x -= dx * distance / spacing
            y -= dy * distance / spacing
        x -= 0.05 * places[u, 0]
        y -= 0.05 * places[u, 1]
        length = math.sqrt(x * x + y * y)
        scale = min(1.0, farthest / length) if length > 0.0 else 0.0
        moved[u, 0], moved[u, 1] = places[u, 0] + x * scale, places[u, 1] + y * scale
