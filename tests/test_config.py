"""Settings: where they come from and what they refuse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tgraph.config import RUNTIMES, Config
from tgraph.errors import InvalidArgumentError


def test_defaults() -> None:
    config = Config({})
    assert config.runtime == "torch"
    assert config.device == "cpu"
    assert config.num_threads >= 1
    assert config.progress == "auto"


def test_environment() -> None:
    config = Config(
        {"TGRAPH_RUNTIME": "numpy", "TGRAPH_DEVICE": "cuda:1", "TGRAPH_NUM_THREADS": "3", "TGRAPH_PROGRESS": "off"}
    )
    assert (config.runtime, config.device, config.num_threads, config.progress) == ("numpy", "cuda:1", 3, "off")
    assert Config({"TGRAPH_CACHE_DIR": "kept"}).cache_dir == "kept"
    config.cache_dir = "here"
    assert repr(config) == "Config(runtime='numpy', device='cuda:1', num_threads=3, cache_dir='here', progress='off')"


def test_without_torch_the_default_is_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert Config({}).runtime == "numpy"


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"TGRAPH_RUNTIME": "abacus"},
            "TGRAPH_RUNTIME='abacus' is not known; use one of 'torch', 'numpy', 'jax', 'tensorflow'",
        ),
        ({"TGRAPH_NUM_THREADS": "0"}, "TGRAPH_NUM_THREADS='0' must be a whole number from 1 to 1024"),
        ({"TGRAPH_NUM_THREADS": "many"}, "TGRAPH_NUM_THREADS='many' must be a whole number"),
        ({"TGRAPH_PROGRESS": "maybe"}, "TGRAPH_PROGRESS='maybe' is not known"),
    ],
)
def test_a_bad_environment_names_the_variable(environment: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Config(environment)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("runtime", "jam", "config.runtime='jam' is not known"),
        ("num_threads", -1, "config.num_threads=-1 must be a whole number from 1 to 1024"),
        ("num_threads", 1025, "config.num_threads=1025 must be"),
        ("num_threads", None, "config.num_threads=None must be"),
        ("num_threads", 2.5, "config.num_threads=2.5 must be"),
        ("num_threads", True, "config.num_threads=True must be"),
        ("progress", True, "config.progress=True is not known"),
    ],
)
def test_a_bad_setting_changes_nothing(setting: str, value: object, message: str) -> None:
    config = Config({})
    before = repr(config)
    with pytest.raises(InvalidArgumentError, match=message):
        setattr(config, setting, value)
    assert repr(config) == before


def test_a_setting_that_is_not_there() -> None:
    config = Config({})
    for name, value, message in (
        ("threads", 4, "config.threads is not known; use one of runtime, device, num_threads, cache_dir, progress"),
        ("device", 0, "config.device=0 must be a text"),
        ("cache_dir", None, "config.cache_dir=None must be a text"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            setattr(config, name, value)
    config.cache_dir = Path("here")  # type: ignore[assignment]
    assert config.cache_dir == "here"


def test_settings_can_be_changed() -> None:
    config = Config({})
    for name in RUNTIMES:
        config.runtime = name
        assert config.runtime == name
    config.num_threads = 2
    config.progress = "on"
    assert (config.num_threads, config.progress) == (2, "on")


def test_the_process_reads_its_environment() -> None:
    script = "import tgraph; print(tgraph.config.num_threads, tgraph.from_edges([0], [1]).runtime.name)"
    environment = {**os.environ, "TGRAPH_NUM_THREADS": "5", "TGRAPH_RUNTIME": "numpy"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["5", "numpy"]
