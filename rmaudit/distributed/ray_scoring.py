"""Compute scores on a Ray cluster: on this machine, or at a given address.

Nodes that do not share the folder of scores reach it through a `FileServer` actor on this node; a
URL they reach themselves. What is begun on the cluster is ended, also by Ctrl-C.
"""

from __future__ import annotations

import logging
import math
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmaudit.distributed.scoring_rounds import Made, Planned, Say
from rmaudit.errors import SpecError
from rmaudit.interrupts import sigterm_stays_ours

if TYPE_CHECKING:
    from rmaudit.distributed.ray_pool import Pool
    from rmaudit.scores.score_store import Store

ON = "ray"
_NUMBERED = re.compile(r"cuda:[0-9]+")
_WAIT = 10  # seconds for an address to answer
_CLIENT, _MEMORY = "ray://", "memory://"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster to score on: its address, the number of workers, and the GPUs and CPUs of each.

    Attributes:
        address: as `ray.init` takes it; "ray" for the cluster that this machine is in, or else for
            one of this machine alone, for as long as it takes.
        workers: how many actors there are at once; None for as many as there is room for.
        gpus: of each actor, all on one node; None for 1 where there are any.
        cpus: of each actor.
    """

    address: str = ON
    workers: int | None = None
    gpus: float | None = None
    cpus: float = 1


def make(plans: Sequence[Planned], cluster: Cluster, say: Say) -> Made:
    """Compute on Ray the scores that the plans still miss, and return the outcome.

    `say` is called with a line for each need that is done.

    Raises:
        SpecError: Ray is missing or cannot be reached, it has no room for an actor, or its nodes
            cannot reach the store.
        RmauditError: planning fails.
    """
    ray, tried, made = _imported(), set[str](), Made()
    pool: Pool | None = None
    with ExitStack() as stack:
        while True:
            found = [planned() for planned in plans]
            missing = {need.key: need for plan in found for need in plan.missing_needs}
            todo = [need for key, need in missing.items() if need.settled and key not in tried]
            if not todo:
                made.left = [*missing.values()]
                return made
            if pool is None:
                store, device = found[0].store, found[0].device
                _refuse_unreachable(store, cluster.address)
                ours = stack.enter_context(_connected(ray, cluster.address))
                pool = _pool(ray, cluster, store, device, say)
                if not ours:  # else they end with the connection
                    stack.callback(pool.close)
            tried.update(need.key for need in todo)
            pool.make(todo, made)


def _imported() -> Any:  # noqa: ANN401  (the module)
    # Ray reports its use to its makers unless it is told not to, before it is imported.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        message = "Ray: the package ray is missing; pip install 'rmaudit[ray]'"
        raise SpecError(message) from None
    return ray


def _refuse_unreachable(store: Store, address: str) -> None:
    """Raise SpecError if the nodes of a cluster cannot reach the stored scores."""
    if store.root.startswith(_MEMORY):
        raise SpecError(f"Ray: {store.root} is the memory of this process; name a folder")
    if address.startswith(_CLIENT) and "://" not in store.root:
        message = f"Ray at {address}: it cannot write to {store.root} from there; name a URL "
        raise SpecError(f"{message}for the cache, such as s3://bucket/x, or run it on a node of it")


@contextmanager
def _connected(ray: Any, address: str) -> Iterator[bool]:  # noqa: ANN401  (the module)
    """Connect to Ray, or start it, for the block; yield False if it was connected before."""
    if ray.is_initialized():
        yield False
        return
    try:
        if address != ON:
            _try_connection(address)
        with sigterm_stays_ours():
            ray.init(
                None if address == ON else address,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except (ConnectionError, RuntimeError, ValueError, ImportError, OSError) as error:
        why = str(error).strip().splitlines()[0]
        message = f"Ray at {address}: {why}; write ray for this machine, or a cluster's address"
        raise SpecError(f"{message}. If it asks for a token, set RAY_AUTH_MODE=token") from None
    try:
        yield True
    finally:
        ray.shutdown()


def _try_connection(address: str) -> None:
    """Connect to a cluster's address once; raise at once if nothing answers there.

    Ray itself goes on trying for many minutes.
    """
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), _WAIT).close()


def _pool(ray: Any, cluster: Cluster, store: Store, device: str, say: Say) -> Pool:  # noqa: ANN401  (the module)
    """Return a pool of `cluster.workers` Ray actors, or as many as have room; raise if none has."""
    from rmaudit.distributed.ray_pool import Pool

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    gpus = cluster.gpus
    if gpus is None:
        gpus = 1 if any(node.get("GPU") for node in nodes) else 0
    if gpus and _NUMBERED.fullmatch(device):
        message = "Ray: each worker has GPUs of its own, which it calls cuda:0 and so on, and "
        raise SpecError(f"{message}{device} may be none of them; name no device, or cuda")
    wanted = {kind: n for kind, n in (("GPU", gpus), ("CPU", cluster.cpus)) if n}
    room = sum(
        min(math.floor(node.get(kind, 0) / n + 1e-6) for kind, n in wanted.items())
        for node in nodes
    )
    if not room:
        each = " and ".join(f"{n:g} {kind}" for kind, n in wanted.items())
        raise SpecError(f"Ray: no node has {each}, as each worker is to take")
    each_takes = {"num_gpus": gpus, "num_cpus": cluster.cpus}
    return Pool(ray, store, device, cluster.workers or room, each_takes, say)
