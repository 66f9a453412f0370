"""Training: what is learnt, stopping early, going on after a stop, and how rankings are scored."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tgraph as tg
from tgraph import nn
from tgraph.errors import FileFormatError, InterruptedRunError, InvalidArgumentError
from tgraph.nn.datasets import Interactions, LabelledVertices
from tgraph.nn.training import Plan, load_checkpoint, save_checkpoint, score_ranking, train_links, train_vertices
from tgraph.nn.training import epochs as epochs_module


def two_circles(size: int = 40) -> LabelledVertices:
    """Two circles without a path between them; features are noise, so that only the graph tells the class."""
    ring = np.arange(size)
    ends = np.concatenate([ring, ring + size]), np.concatenate([(ring + 1) % size, (ring + 1) % size + size])
    graph = tg.from_edges(*ends, directed=False, num_vertices=2 * size, runtime="torch")
    generator = torch.Generator().manual_seed(1)
    classes = torch.arange(2 * size) // size
    features = torch.randn(2 * size, 8, generator=generator) + classes[:, None]
    order = torch.randperm(2 * size, generator=generator)
    return LabelledVertices(graph, features, classes, order[:20], order[20:40], order[40:])


@pytest.mark.parametrize("fanouts", [None, (3, 3)])
@pytest.mark.parametrize("make", [nn.GCN, nn.GraphSAGE, nn.GAT, nn.GIN])
def test_classes_are_learnt(make: Any, fanouts: tuple[int, ...] | None) -> None:
    torch.manual_seed(0)
    data = two_circles()
    training = train_vertices(make(8, 16, 2), data, Plan(epochs=80, progress="off"), fanouts=fanouts, batch_size=7)
    assert training.scores["accuracy"] > 0.8
    assert training.epochs[-1].loss < training.epochs[0].loss


@pytest.mark.parametrize(("make", "decays"), [(nn.GCN, False), (nn.GAT, True)])
def test_the_last_layer_decays_where_the_paper_has_it(make: Any, decays: bool) -> None:
    torch.manual_seed(0)
    model = make(8, 16, 2)
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    train_vertices(model, two_circles(), Plan(epochs=1, progress="off"), learning_rate=0.01, weight_decay=1e6)
    after = dict(model.named_parameters())
    shrink = {
        name: bool((after[name].abs() < old.abs())[old.abs() > 0.01].all()) for name, old in before.items() if old.any()
    }
    assert all(shrink[name] for name in shrink if name.startswith("layers.0"))
    assert all(shrink[name] for name in shrink if name.startswith("layers.1")) == decays


def test_the_same_seed_gives_the_same_training_and_leaves_others_numbers_alone() -> None:
    data, losses = two_circles(), []
    for seed in (0, 0, 1):
        torch.manual_seed(5)
        model = nn.GCN(8, 8, 2, order="combine_first")
        before = torch.get_rng_state()
        training = train_vertices(model, data, Plan(epochs=5, seed=seed, progress="off"))
        assert torch.equal(torch.get_rng_state(), before)
        losses.append([epoch.loss for epoch in training.epochs])
    assert losses[0] == losses[1] != losses[2]


def test_the_best_epoch_is_kept_and_patience_ends() -> None:
    data = two_circles()
    data.classes[data.validation[:6]] ^= 1  # so that who becomes surer becomes worse some day
    torch.manual_seed(0)
    model = nn.GCN(8, 8, 2, dropout=0.0)
    training = train_vertices(model, data, Plan(epochs=300, patience=10, progress="off"))
    assert training.best is not None
    assert len(training.epochs) == training.rose_at + 11 < 300
    assert training.best.score == max(epoch.score for epoch in training.epochs)
    told = model(nn.Block.of_graph(model.prepare(data.graph)), data.features)[data.validation]
    loss = torch.nn.functional.cross_entropy(told, data.classes[data.validation])
    assert -float(loss.detach()) == pytest.approx(training.best.score)
    assert not model.training


@pytest.mark.parametrize("fanouts", [None, (2, 2)])
def test_training_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fanouts: tuple[int, ...] | None
) -> None:
    monkeypatch.setattr(epochs_module, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    data, results = two_circles(), []
    for steps in ((12,), (5, 12)):
        file = tmp_path / f"{len(steps)}.safetensors"
        for count in steps:
            torch.manual_seed(3)
            model = nn.GCN(8, 8, 2, order="aggregate_first")  # "auto" follows the clock
            plan = Plan(epochs=count, checkpoint=file, progress="off")
            training = train_vertices(model, data, plan, fanouts=fanouts, batch_size=6)
        results.append([(epoch.loss, epoch.score) for epoch in training.epochs])
        assert list(tmp_path.glob(".*")) == []
    assert results[0] == results[1]


def test_checkpoints_of_other_models_and_broken_ones(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    save_checkpoint(file, nn.GCN(8, 8, 2), notes={"a": 1})
    assert load_checkpoint(file, nn.GCN(8, 8, 2)) == ({"a": 1}, {})
    with pytest.raises(InvalidArgumentError, match=r"is of another model"):
        load_checkpoint(file, nn.GCN(9, 8, 2))
    optimizer = torch.optim.Adam(nn.GCN(8, 8, 2).parameters())
    with pytest.raises(InvalidArgumentError, match=r"holds a model, but no training"):
        load_checkpoint(file, nn.GCN(8, 8, 2), optimizer)
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(FileFormatError, match=r"is not that of a checkpoint"):
        load_checkpoint(file, nn.GCN(8, 8, 2))


def test_what_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"patience=0 must be 1 or more"):
        Plan(patience=0)
    data = two_circles()
    data.features[3] = math.inf
    with pytest.raises(InvalidArgumentError, match=r"the loss of epoch 0 is nan; use a smaller learning rate"):
        train_vertices(nn.GCN(8, 8, 2), data, Plan(epochs=2, progress="off"))


def test_an_interrupt_gives_what_was_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def interrupt(*_: Any) -> float:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return 0.5

    model = nn.GCN(8, 8, 2)
    optimizer = torch.optim.Adam(model.parameters())
    with pytest.raises(InterruptedRunError, match=r"training was stopped after 3 epochs") as caught:
        epochs_module.run_epochs(model, optimizer, Plan(epochs=9, progress="off"), interrupt, lambda: 0.1)
    assert len(caught.value.result.epochs) == 3


def choices(num_users: int = 30, num_items: int = 24) -> Interactions:
    """Users and items of two tastes; a fifth of the choices is held out."""
    rng = np.random.default_rng(0)
    likes = (np.arange(num_users)[:, None] % 2) == (np.arange(num_items) % 2)
    users, items = np.nonzero(likes & (rng.random(likes.shape) < 0.7))
    held = rng.random(users.size) < 0.2
    train, test = (users[~held], items[~held]), (users[held], items[held])
    ends = train[0], train[1] + num_users
    graph = tg.from_edges(*ends, directed=False, num_vertices=num_users + num_items, runtime="torch")
    return Interactions(graph, num_users, num_items, train, test)


@pytest.mark.parametrize("fanouts", [None, (4, 4)])
@pytest.mark.parametrize("spread", [nn.LightGCN(2), nn.NGCF(8, 8, 2)])
def test_choices_are_learnt(spread: Any, fanouts: tuple[int, ...] | None) -> None:
    torch.manual_seed(0)
    data = choices()
    model = nn.Recommender(54, 8, spread)
    plan = Plan(epochs=30, look_every=10, progress="off")
    training = train_links(model, data, plan, learning_rate=0.02, batch_size=64, fanouts=fanouts)
    assert training.scores["recall@20"] > 0.9
    assert sum(not math.isnan(epoch.score) for epoch in training.epochs) == 3
    with torch.no_grad():
        model.embeddings.normal_()
    assert score_ranking(model.embeddings.detach(), data, count=3)["recall@3"] < 0.7


def test_rankings_against_plain_lists() -> None:
    data, rng = choices(), np.random.default_rng(2)
    embeddings = torch.from_numpy(rng.normal(size=(54, 4)))
    scores = (embeddings[:30] @ embeddings[30:].T).numpy()
    known = {(u, i) for u, i in zip(*data.train, strict=True)}
    recalls, ndcgs = [], []
    for user in np.unique(data.test[0]):
        wanted = set(data.test[1][data.test[0] == user].tolist())
        ranked = [i for i in np.argsort(-scores[user]).tolist() if (user, i) not in known][:5]
        hits = [place for place, item in enumerate(ranked) if item in wanted]
        recalls.append(len(hits) / len(wanted))
        best = sum(1 / math.log2(place + 2) for place in range(min(len(wanted), 5)))
        ndcgs.append(sum(1 / math.log2(place + 2) for place in hits) / best)
    found = score_ranking(embeddings, data, count=5)
    np.testing.assert_allclose([found["recall@5"], found["ndcg@5"]], [np.mean(recalls), np.mean(ndcgs)])


def run_cli(*words: str, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from tgraph.cli import main; main()", "train", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def write_choices(folder: Path) -> Path:
    data = choices()
    for name, (users, items) in (("train.txt", data.train), ("test.txt", data.test)):
        lines = [" ".join(map(str, [u, *items[users == u].tolist()])) for u in np.unique(users)]
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def test_the_command_line(tmp_path: Path, shared_data: Path) -> None:
    words = ["lightgcn", "--data", str(write_choices(tmp_path)), "--epochs", "3", "--hidden", "8", "--runs", "2", "-q"]
    out, _ = run_cli(*words).communicate(timeout=200)
    assert "seed 0: recall@20" in out
    assert "mean of 2: recall@20" in out
    environment = {**os.environ, "TGRAPH_DATA": str(shared_data)}
    out, _ = run_cli("gcn", "--data", "cora", "--epochs", "2", "-q", env=environment).communicate(timeout=200)
    assert out.startswith("seed 0: accuracy 0.")
    out, _ = run_cli("gcn", "--data", "nowhere").communicate(timeout=100)
    assert "--data nowhere: there is no folder nowhere" in out


def test_ctrl_c_on_the_command_line_leaves_a_checkpoint(tmp_path: Path) -> None:
    folder, file = write_choices(tmp_path), tmp_path / "state.safetensors"
    words = ["lightgcn", "--data", str(folder), "--epochs", "100000", "--checkpoint", str(file), "-q"]
    process = run_cli(*words)
    for _ in range(600):
        if file.exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert "training was stopped after" in out
    assert file.exists()
