"""Places for a picture of a small graph: vertices push each other away, edges pull (Fruchterman and Reingold, 1991).

Every pair is looked at in every round, so it is for some thousands of vertices. The start are distances in edges from a
few vertices far from each other, seen from where they differ most (Harel, Koren 2002), so that nothing lies folded; a
spiral parts those at equal distances. The same graph has the same picture. Each thread moves its part of the vertices,
from the places of the round before.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tgraph.kernels.cpu.ordered.breadth_first import search
from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

ROUNDS = 80
PIVOTS = 8  # vertices that distances are taken from
SPIRAL = 0.2  # of the size of the start
GRAVITY = 1.0  # towards the middle, so that parts which no edge holds stay in the picture
GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


def place_vertices(offsets: Array, neighbors: Array) -> Array:
    """Return places `[V, 2]` from 0 to 1, from the rows of a graph with both directions of every edge."""
    num_vertices = offsets.size - 1
    if num_vertices < 2:
        return np.full((num_vertices, 2), 0.5)
    places = _start(offsets, neighbors)
    spacing = 1.0 / math.sqrt(num_vertices)
    size = team_size(num_vertices * num_vertices)
    for number in range(ROUNDS):
        moved = np.empty_like(places)
        farthest = 0.2 * (1.0 - number / ROUNDS) + 0.1 * spacing
        run_team(_move, size, offsets, neighbors, places, moved, spacing, farthest)
        places = moved
    places -= places.min(axis=0)
    return np.ascontiguousarray(places / max(float(places.max()), 1e-12))


def _start(offsets: Array, neighbors: Array) -> Array:
    """Return first places `[V, 2]`, about -1 to 1."""
    num_vertices = offsets.size - 1
    numbers = np.arange(num_vertices)
    radii, angles = np.sqrt((numbers + 0.5) / num_vertices), numbers * GOLDEN_ANGLE
    spiral = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    distances = np.empty((num_vertices, PIVOTS))
    pivot, nearest = int(np.diff(offsets).argmax()), np.full(num_vertices, np.inf)
    for number in range(PIVOTS):
        levels = search((offsets, neighbors), np.array([pivot]))[2]
        distances[:, number] = np.where(levels < 0, levels.max() + 1, levels)
        nearest = np.minimum(nearest, distances[:, number])
        pivot = int(nearest.argmax())
    distances -= distances.mean(axis=0)
    _, vectors = np.linalg.eigh(distances.T @ distances)
    seen = distances @ vectors[:, -2:]
    return SPIRAL * spiral + seen / max(float(np.abs(seen).max()), 1e-12)


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
        x -= GRAVITY * places[u, 0]
        y -= GRAVITY * places[u, 1]
        length = math.sqrt(x * x + y * y)
        scale = min(1.0, farthest / length) if length > 0.0 else 0.0
        moved[u, 0], moved[u, 1] = places[u, 0] + x * scale, places[u, 1] + y * scale
