"""Training: epochs with early stopping and checkpoints, for vertices with classes and for recommendation."""

from tgraph.nn.training.checkpoint import load_checkpoint, save_checkpoint
from tgraph.nn.training.epochs import Epoch, Plan, Training
from tgraph.nn.training.links import train_links
from tgraph.nn.training.ranking import score_ranking
from tgraph.nn.training.vertices import train_vertices

__all__ = [
    "Epoch",
    "Plan",
    "Training",
    "load_checkpoint",
    "save_checkpoint",
    "score_ranking",
    "train_links",
    "train_vertices",
]
