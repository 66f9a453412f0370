"""Settings of the process: `tgraph.config`, filled from the environment.

| setting | environment variable | meaning |
|---|---|---|
| `runtime` | `TGRAPH_RUNTIME` | runtime of new graphs: `torch` where it is installed, else `numpy` |
| `device` | `TGRAPH_DEVICE` | device of new graphs, `cpu` unless given |
| `num_threads` | `TGRAPH_NUM_THREADS` | threads of the CPU kernels, all cores unless given |
| `cache_dir` | `TGRAPH_CACHE_DIR` | where compiled programs are kept; a folder in the user's cache unless given |
| `progress` | `TGRAPH_PROGRESS` | `auto` (on a terminal, after a second), `on` or `off` |
"""

from __future__ import annotations

import importlib.util
import operator
import os
from collections.abc import Mapping
from typing import Any

from tgraph.errors import InvalidArgumentError, check_choice

RUNTIMES = {name: f"tgraph.runtime.{name}" for name in ("torch", "numpy", "jax", "tensorflow")}  # name: its module
PROGRESS = ("auto", "on", "off")
SETTINGS = ("runtime", "device", "num_threads", "cache_dir", "progress")


class Config:
    """The settings, checked when they are set.

    >>> from tgraph.config import Config
    >>> Config({"TGRAPH_NUM_THREADS": "3"}).num_threads
    3
    >>> Config({"TGRAPH_PROGRESS": "loud"})
    Traceback (most recent call last):
    ...
    tgraph.errors.InvalidArgumentError: TGRAPH_PROGRESS='loud' is not known; use one of 'auto', 'on', 'off'
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self.device: str
        self.cache_dir: str
        self._runtime: str | None = None
        self._origin = "TGRAPH_{}".format
        if "TGRAPH_RUNTIME" in environment:
            self.runtime = environment["TGRAPH_RUNTIME"]
        self.device = environment.get("TGRAPH_DEVICE", "cpu")
        self.num_threads = environment.get("TGRAPH_NUM_THREADS", _available_cores())
        self.cache_dir = environment.get("TGRAPH_CACHE_DIR", os.path.join(_user_cache(environment), "tgraph"))
        self.progress = environment.get("TGRAPH_PROGRESS", "auto")
        self._origin = "config.{}".format

    @property
    def runtime(self) -> str:
        """The runtime of new graphs; torch where it is installed, else numpy."""
        if self._runtime is None:
            self._runtime = "torch" if importlib.util.find_spec("torch") else "numpy"
        return self._runtime

    @runtime.setter
    def runtime(self, value: str) -> None:
        check_choice(self._name("runtime"), value, tuple(RUNTIMES))
        self._runtime = value

    @property
    def num_threads(self) -> int:
        """How many threads a CPU kernel may use."""
        return self._num_threads

    @num_threads.setter
    def num_threads(self, value: int | str) -> None:
        self._num_threads = check_num_threads(self._name("num_threads"), value)

    @property
    def progress(self) -> str:
        """Whether long runs show their progress: auto, on or off."""
        return self._progress

    @progress.setter
    def progress(self, value: str) -> None:
        check_choice(self._name("progress"), value, PROGRESS)
        self._progress = value

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_") and name not in SETTINGS:
            raise InvalidArgumentError(f"config.{name} is not known; use one of {', '.join(SETTINGS)}")
        if name in ("device", "cache_dir") and not isinstance(value, (str, os.PathLike)):
            raise InvalidArgumentError(f"config.{name}={value!r} must be a text")
        super().__setattr__(name, os.fspath(value) if isinstance(value, os.PathLike) else value)

    def _name(self, setting: str) -> str:
        name = self._origin(setting)
        return name.upper() if name.startswith("TGRAPH") else name

    def __repr__(self) -> str:
        return "Config(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in SETTINGS) + ")"


def check_num_threads(argument: str, value: Any) -> int:
    """Return `value` as a thread count, or raise an error that names the argument."""
    try:
        count = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        count = 0
    if isinstance(value, bool) or not 1 <= count <= 1024:
        raise InvalidArgumentError(f"{argument}={value!r} must be a whole number from 1 to 1024")
    return count


def _user_cache(environment: Mapping[str, str]) -> str:
    return environment.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


config = Config()
