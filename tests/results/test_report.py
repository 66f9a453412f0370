"""Reports: what they show, that they stand alone, and what a browser makes of them."""

from __future__ import annotations

import functools
import http.server
import math
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tgraph as tg
from tgraph.kernels.cpu.force_layout import place_vertices
from tgraph.results import Iteration, Result, Trace, charts
from tgraph.results.report import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
QUIET += ("--disable-component-update", "--disable-sync", "--disable-quic", "--enable-logging=stderr", "--v=0")


class Outline(HTMLParser):
    """The tags of a page, and whether each was closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def results(folder: Path) -> Iterator[Result]:
    graph = tg.generate.rmat(9, 8, seed=1, runtime="numpy")
    yield tg.pagerank(graph)
    yield tg.bfs(tg.from_edges(["<ann>", "b&b"], ["b&b", "cy"], runtime="numpy"), "<ann>", threads=1)
    yield tg.louvain(graph.symmetrize())
    yield tg.pagerank(tg.compress(graph))
    yield tg.bfs(graph.to("jax"), 0)
    yield tg.wcc(tg.from_edges([], [], runtime="numpy"))
    yield tg.sssp(tg.from_edges([0], [0], [math.inf], num_vertices=3, runtime="numpy"), 0)
    tg.write(graph.symmetrize(), folder / "graph.safetensors")
    yield tg.bfs(tg.open(folder / "graph.safetensors", "1MiB"), 0)


def test_pages_are_whole_and_load_nothing(tmp_path: Path) -> None:
    for result in results(tmp_path):
        text = page(result)
        outline = Outline()
        outline.feed(text)
        assert not outline.open
        assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in outline.seen}
        assert not re.search(r"https?:|url\(|@import|src=", text)
        for picture in re.findall(r"<svg.*?</svg>", text, re.S):
            ElementTree.fromstring(picture)


def test_the_user_finds_what_was_asked_for_and_found() -> None:
    graph = tg.from_edges(["<ann>", "b&b"], ["b&b", "cy"], runtime="numpy")
    text = page(tg.pagerank(graph, damping=0.5, threads=1))
    for words in ("damping", "0.5", "threads", "&lt;ann&gt;", "b&amp;b", "3 vertices", "tgraph 0", "residual"):
        assert words in text
    assert "<ann>" not in text


def test_vertices_without_edges_do_not_take_the_picture() -> None:
    graph = tg.from_edges([0, 1, 5], [1, 2, 5], num_vertices=9, runtime="numpy")  # 5 has an edge to itself alone
    text = page(tg.pagerank(graph))
    assert "Not shown: 6 vertices without edges to others." in text
    assert text.split('aria-label="the graph"')[1].count("<circle") == 3
    assert 'aria-label="the graph"' not in page(tg.wcc(tg.from_edges([], [], num_vertices=3, runtime="numpy")))


def test_bytes_are_shown_by_way_of_transfer() -> None:
    trace = Trace("out_of_memory")
    for moved in ({"compact": 4096, "filter": 10}, {"filter": 20}):
        trace.add(Iteration("push", 1, 3, 0.5, None, moved))
    graph = tg.from_edges([0], [1], runtime="numpy")
    text = page(Result("BFS", graph, {"levels": np.zeros(2, np.int32)}, trace, True))
    assert "bytes from far memory" in text
    assert ">compact<" in text
    assert ">filter<" in text


def test_long_runs_are_joined_to_few_bars() -> None:
    chart = charts.bars("edges", {"push": [1.0] * 1000}, "iteration")
    assert chart.count("<rect") == math.ceil(1000 / math.ceil(1000 / charts.MOST_BARS))
    assert "to a bar" in chart


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = tg.bfs(tg.from_edges([0], [1], runtime="numpy"), 0)
    result.report(tmp_path / "run.html")
    before = (tmp_path / "run.html").read_bytes()
    monkeypatch.setattr(charts, "bars", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        result.report(tmp_path / "run.html")
    assert [one.name for one in tmp_path.iterdir()] == ["run.html"]
    assert (tmp_path / "run.html").read_bytes() == before


def test_neighbours_are_placed_nearer_than_others() -> None:
    graph = tg.generate.grid(12, 12, runtime="numpy")
    offsets, neighbors, _ = graph.symmetrize().adjacency("out").to_numpy()
    places = place_vertices(offsets, neighbors)
    assert places.min() >= 0
    assert places.max() <= 1
    sources = np.repeat(np.arange(144), np.diff(offsets))
    near = np.linalg.norm(places[sources] - places[neighbors], axis=1).mean()
    all_pairs = np.linalg.norm(places[:, None] - places[None], axis=2).mean()
    assert near < 0.35 * all_pairs
    np.testing.assert_array_equal(places, place_vertices(offsets, neighbors))


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """A server for a folder, and what is asked of it."""
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("width", [1200, 390])
def test_a_browser_shows_it_without_a_word_or_a_request(width: int, tmp_path: Path) -> None:
    assert CHROMIUM is not None
    tg.pagerank(tg.generate.rmat(8, 4, seed=1, runtime="numpy")).report(tmp_path / "run.html")
    picture = tmp_path / "run.png"
    with served(tmp_path) as (address, asked):
        command = [CHROMIUM, *QUIET, f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}"]
        command += [f"--window-size={width},1600", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        done = subprocess.run([*command, f"{address}/run.html"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [path for path in asked if path != "/favicon.ico"] == ["/run.html"]  # the browser itself asks for an icon
    assert "CONSOLE" not in done.stderr
    from matplotlib.image import imread

    pixels = imread(picture)[:, :, :3]
    assert pixels.shape[:2] == (1600, width)
    blue = (np.abs(pixels - np.array([0.0, 0.447, 0.698])) < 0.05).all(axis=2)
    assert blue.mean() > 0.005  # bars of the charts
    assert (pixels > 0.98).all(axis=2).mean() > 0.5  # and room around them
    assert not blue[:, -4:].any()  # nothing sticks out
