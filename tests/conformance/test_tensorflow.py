"""TensorFlow's turn: all conformance tests on it, in a process without torch; and what is particular to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from runtimes import RUNTIMES
from tgraph import runtime as runtimes

HERE = Path(__file__).resolve().parent
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2"}
TENSORFLOW = pytest.mark.skipif("tensorflow" not in RUNTIMES, reason="this process does not test tensorflow")


def run_python(*arguments: str, **environment: str) -> str:
    command = [sys.executable, *arguments]
    variables = {**os.environ, **QUIET, **environment}
    done = subprocess.run(command, cwd=HERE.parents[1], env=variables, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.skipif("tensorflow" in RUNTIMES, reason="this is that process")
def test_everything_conforms_in_a_process_of_its_own() -> None:
    printed = run_python("-m", "pytest", "-p", "no:cacheprovider", str(HERE), TGRAPH_TEST_RUNTIMES="tensorflow")
    assert " passed" in printed
    assert "failed" not in printed


@pytest.mark.skipif("tensorflow" in RUNTIMES, reason="the other process does it")
def test_torch_and_tensorflow_share_memory() -> None:
    code = """
        import torch, numpy as np
        from tgraph import runtime
        tensorflow, torch_ = runtime.get("tensorflow"), runtime.get("torch")
        lent = torch.arange(5000)
        shared = tensorflow.share(lent)
        assert np.shares_memory(tensorflow.to_numpy(shared), lent.numpy())
        back = torch_.share(shared)
        assert back.data_ptr() == lent.data_ptr()
        assert not np.shares_memory(tensorflow.to_numpy(tensorflow.asarray(lent)), lent.numpy())
        import fake_accelerator
        assert tensorflow.share(lent.to("fake")).tolist() == lent.tolist()
        print("shared")
    """
    assert run_python("-c", "if True:" + code, PYTHONPATH=os.pathsep.join(sys.path)).strip() == "shared"


@TENSORFLOW
def test_a_skewed_repetition_needs_no_more_than_its_result() -> None:
    """`tf.repeat` would make a matrix of 200,001 times a million here."""
    rt = runtimes.get("tensorflow")
    counts = np.ones(200_001, np.int64)
    counts[7] = 1_000_000
    repeated = rt.repeat_interleave(rt.arange(0, counts.size, "int32"), rt.asarray(counts), int(counts.sum()))
    np.testing.assert_array_equal(rt.to_numpy(repeated), np.repeat(np.arange(counts.size, dtype=np.int32), counts))


@TENSORFLOW
def test_tensorflow_functions_take_the_tensors() -> None:
    import tensorflow as tf

    tensor = runtimes.get("tensorflow").asarray([1.5, 2.5])
    assert float(tf.reduce_sum(tensor)) == 4.0
    assert isinstance(tensor.tensor, tf.Tensor)


@TENSORFLOW
def test_numpy_memory_is_not_shared_with_tensors_that_must_not_change() -> None:
    array = np.zeros(1 << 16)
    tensor = runtimes.get("tensorflow").asarray(array)
    array[:] = 1
    assert not np.asarray(tensor).any()


@TENSORFLOW
@pytest.mark.parametrize("op", ["min", "max"])
def test_the_largest_float_is_no_infinity(op: str) -> None:
    rt = runtimes.get("tensorflow")
    largest = np.finfo(np.float64).max * (1 if op == "min" else -1)
    infinity = np.inf if op == "min" else -np.inf
    values, offsets = rt.asarray([largest, infinity, infinity]), rt.asarray([0, 2, 3, 3])
    assert rt.segment_reduce(values, offsets, op).tolist() == [largest, infinity, infinity]


@TENSORFLOW
def test_sizes_that_do_not_meet_are_refused() -> None:
    rt = runtimes.get("tensorflow")
    with pytest.raises(ValueError, match="tensors of 2 and 3 elements do not meet"):
        rt.asarray([1, 2]) + rt.asarray([1, 2, 3])
