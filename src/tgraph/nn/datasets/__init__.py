"""Readers of the data that models are compared on."""

from tgraph.nn.datasets.interactions import Interactions, read_interactions
from tgraph.nn.datasets.planetoid import LabelledVertices, read_planetoid

__all__ = ["Interactions", "LabelledVertices", "read_interactions", "read_planetoid"]
