"""Every test of a primitive runs on every runtime."""

from __future__ import annotations

import pytest

from runtimes import RUNTIMES, get
from tgraph.runtime import Runtime


@pytest.fixture(params=RUNTIMES)
def rt(request: pytest.FixtureRequest) -> Runtime:
    return get(request.param)


@pytest.fixture
def host_rt(rt: Runtime) -> Runtime:
    """A runtime on the CPU: it shares memory, and looks at what it is given; a device would have to be waited for."""
    if rt.device != "cpu":
        pytest.skip("on the CPU only, as the Protocol says")
    return rt
