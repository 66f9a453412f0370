"""A verb of the command line on a Ray cluster: every rank of the group is an actor, which Ray places on some machine.

An actor is a process of its own and runs the verb in it, so that a rank ends with its actor. Where one ends or fails,
all are ended and started anew, up to a limit: with a checkpoint the new ones go on from what was noted.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import socket
import sys
from typing import Any

from tgraph.config import config
from tgraph.errors import GroupError, MissingDependencyError


class Rank:
    """One process of a group, as an actor."""

    def find_address(self) -> tuple[str, int]:
        """Return where the others find this rank: its machine, and a port that nobody uses."""
        with socket.socket() as free:
            free.bind(("", 0))
            return str(_ray().util.get_node_ip_address()), int(free.getsockname()[1])

    def run(self, command: list[str], environment: dict[str, str], cores: int) -> tuple[int, str, str]:
        """Run a verb as this rank; return its exit code and what it wrote to stdout and stderr."""
        from tgraph.cli import main

        os.environ.update(environment)
        config.num_threads = cores
        sys.argv = ["tgraph", *command]
        out, err = io.StringIO(), io.StringIO()
        code: Any = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as end:
                code = end.code or 0
        return int(code), out.getvalue(), err.getvalue()


def run_on_ray(address: str, command: list[str], num_ranks: int, cores: int, max_restarts: int) -> str:
    """Run a verb on a group of actors and return what rank 0 wrote.

    Args:
        address: Of the cluster, `auto` for the one that this machine belongs to, or `local` for one of this machine.
        command: The verb and its arguments, with paths that all machines see.
        num_ranks: The size of the group.
        cores: Of every rank.
        max_restarts: How often all ranks are started again after one has ended or failed.
    """
    ray = _ray()
    ray.init(address=address, include_dashboard=False if address == "local" else None, log_to_driver=False)
    try:
        failures: list[str] = []
        for attempt in range(max_restarts + 1):
            outcome = _attempt(ray, command, num_ranks, cores, attempt)
            if isinstance(outcome, str):
                return outcome
            failures.append(f"attempt {attempt}: {outcome.text}")
    finally:
        ray.shutdown()
    raise GroupError(
        f"{command[0]} failed {len(failures)} times on {num_ranks} ranks of Ray; {'; '.join(failures)}; raise "
        "--max-restarts, or look at what the first failure says"
    )


class _Failure:
    def __init__(self, text: str) -> None:
        self.text = text


def _attempt(ray: Any, command: list[str], num_ranks: int, cores: int, attempt: int) -> str | _Failure:
    """Start all ranks and wait for them; return what rank 0 wrote, or what went wrong first."""
    make = ray.remote(num_cpus=cores, max_restarts=0)(Rank)
    ranks = [make.remote() for _ in range(num_ranks)]
    try:
        host, port = ray.get(ranks[0].find_address.remote())
        shared = {"WORLD_SIZE": str(num_ranks), "MASTER_ADDR": host, "MASTER_PORT": str(port)}
        shared |= {"TORCHELASTIC_RESTART_COUNT": str(attempt), "TGRAPH_NUM_THREADS": str(cores)}
        runs = {
            rank.run.remote(command, {**shared, "RANK": str(number)}, cores): number
            for number, rank in enumerate(ranks)
        }
        written, pending = "", list(runs)
        while pending:
            (done, *_), pending = ray.wait(pending, num_returns=1)
            code, out, err = ray.get(done)
            if code:
                return _Failure(f"rank {runs[done]} ended with exit code {code}: {err.strip() or out.strip()}")
            written = out if runs[done] == 0 else written
        return written
    except ray.exceptions.RayActorError as error:
        return _Failure(f"a rank was lost: {str(error).splitlines()[0]}")
    finally:
        for rank in ranks:
            ray.kill(rank)


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        raise MissingDependencyError("ray", "tgraph submit --ray", extra="distributed") from error
