"""A plugin for pytest: counts which functions of NetworkX really ran in the back end, and in which tests.

Loaded with `-p suite_counter` beside `NETWORKX_TEST_BACKEND=tgraph`; writes one JSON line per process into the folder
that TGRAPH_SUITE_COUNTS names: `{function: [tests]}`.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from inspect import isgenerator
from pathlib import Path
from typing import Any

import pytest

from tgraph.interop.networkx import registry
from tgraph.interop.networkx.dispatch import backend

LEFT: Counter[str] = Counter()  # calls that NetworkX did after all, by name
TESTS: dict[str, set[str]] = defaultdict(set)
CURRENT = [""]


def _counted(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    def finish(left_before: int) -> None:
        if LEFT[name] == left_before and CURRENT[0]:
            TESTS[name].add(CURRENT[0])

    def watch(result: Iterator[Any], left_before: int) -> Iterator[Any]:
        for number, value in enumerate(result):
            if number == 0:
                finish(left_before)
            yield value

    def counted(*args: Any, **kwargs: Any) -> Any:
        left_before = LEFT[name]
        result = run(*args, **kwargs)
        if isgenerator(result):
            return watch(result, left_before)
        finish(left_before)
        return result

    return counted


def pytest_configure() -> None:
    plain = registry.networkx_runs

    def networkx_runs(name: str, args: Any, kwargs: Any) -> Any:
        LEFT[name] += 1
        return plain(name, args, kwargs)

    registry.networkx_runs = networkx_runs
    for name, function in registry.FUNCTIONS.items():
        setattr(backend, name, _counted(name, function.run))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    CURRENT[0] = item.nodeid


def pytest_sessionfinish() -> None:
    folder = os.environ.get("TGRAPH_SUITE_COUNTS")
    if folder:
        counts = {name: sorted(tests) for name, tests in TESTS.items()}
        Path(folder, f"{os.getpid()}.json").write_text(json.dumps(counts))
