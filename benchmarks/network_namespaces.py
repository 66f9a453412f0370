"""Network namespaces joined by a bridge: processes in them have addresses of their own, as on several machines.

Needs Linux, root and `ip` (Debian: iproute2). All of it is removed at the end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

INTERFACE = "eth0"  # in every namespace
NETWORK = "10.213.77"


def obstacle() -> str | None:
    """Return why there can be no namespaces here, or None."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("ip") is None:
        return "network namespaces need Linux, root and the program ip (iproute2)"
    name = f"tgraph-{os.getpid()}-try"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return "this machine does not let network namespaces be made"
    _ip("netns", "del", name)
    return None


@contextmanager
def namespaces(count: int) -> Iterator[list[tuple[str, str]]]:
    """Make namespaces that reach each other, and yield the name and the address of each."""
    own = os.getpid()
    bridge, names = f"tgbr{own}", [f"tgraph-{own}-{number}" for number in range(count)]
    addresses = [f"{NETWORK}.{number + 1}" for number in range(count)]
    try:
        _ip("link", "add", bridge, "type", "bridge")
        _ip("link", "set", bridge, "up")
        for number, (name, address) in enumerate(zip(names, addresses, strict=True)):
            outer = f"tg{own}v{number}"
            _ip("netns", "add", name)
            _ip("link", "add", outer, "type", "veth", "peer", "name", INTERFACE, "netns", name)
            _ip("link", "set", outer, "master", bridge, "up")
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", INTERFACE)
            _ip("-n", name, "link", "set", INTERFACE, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield list(zip(names, addresses, strict=True))
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", bridge], capture_output=True, check=False)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
