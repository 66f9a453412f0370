from __future__ import annotations

import io
from contextlib import redirect_stderr

import pytest

import tgraph as tg
from tgraph.results import Iteration
from tgraph.results import progress as progress_module
from tgraph.results.progress import Progress

ITERATION = Iteration("push", 1234, 56789, 0.1)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables by which a user tells terminals apart must not decide these tests."""
    for variable in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


def shown(stream: io.StringIO, mode: str, times: int = 3, max_iterations: int | None = None) -> str:
    """Return what a run of some iterations writes to such a stream."""
    with redirect_stderr(stream), Progress("Search", mode, max_iterations) as progress:
        for _ in range(times):
            progress.show(ITERATION)
    return stream.getvalue()


def test_on_shows_a_line_on_a_terminal() -> None:
    text = shown(Terminal(), "on", max_iterations=50)
    assert "Search: iteration 3 of at most 50, push, 1,234 active vertices, 56,789 edges" in text
    assert text.endswith("\x1b[2K")  # the line is removed in the end


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert shown(Terminal(), "on", times=1) == "Search: iteration 1, push, 1,234 active vertices, 56,789 edges\n"


def test_auto_is_quiet_for_a_second() -> None:
    assert shown(Terminal(), "auto") == ""


def test_auto_speaks_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "QUIET_SECONDS", 0.0)
    assert "Search: iteration 3, push" in shown(Terminal(), "auto")


def test_off_is_always_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "QUIET_SECONDS", 0.0)
    assert shown(Terminal(), "off") == ""


def test_on_writes_plain_lines_into_a_log() -> None:
    text = shown(io.StringIO(), "on", times=5)
    first, last = text.splitlines()
    assert first == "Search: iteration 1, push, 1,234 active vertices, 56,789 edges"
    assert last.startswith("Search: iteration 5, push")
    assert "\x1b" not in text


def test_auto_writes_nothing_into_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "QUIET_SECONDS", 0.0)
    assert shown(io.StringIO(), "auto") == ""


@pytest.mark.parametrize("wish", ["on", True])
def test_a_run_with_progress_writes_to_stderr(wish: str | bool, capsys: pytest.CaptureFixture[str]) -> None:
    tg.bfs(tg.from_edges([0, 1], [1, 2]), 0, parents=False, progress=wish)
    captured = capsys.readouterr()
    assert "BFS: iteration 3" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("wish", ["off", False, "auto"])
def test_a_run_without_progress_writes_nothing(wish: str | bool, capsys: pytest.CaptureFixture[str]) -> None:
    tg.bfs(tg.from_edges([0, 1], [1, 2]), 0, progress=wish)
    assert capsys.readouterr() == ("", "")


def test_the_line_is_removed_when_a_run_fails() -> None:
    terminal = Terminal()

    def fail() -> None:
        with redirect_stderr(terminal), Progress("Search", "on", None) as progress:
            progress.show(ITERATION)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert terminal.getvalue().endswith("\x1b[2K")
