"""How is Ray reached? A local one started here, or a cluster by its address; without dashboard and usage statistics."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any, Final

from surfer_lab.errors import OptionError

__all__ = ["connect", "disconnect", "patiently"]

_ATTEMPTS: Final = 4  # Ray gives its own processes 30 s, which a busy machine may exceed


def connect(address: str | None, *, workers: int) -> bool:
    """Connect this process to Ray; True where a local one was started, which `disconnect` ends.

    Ray 2.59 and newer makes a token for a local one by itself; a cluster's must be here as on its nodes (README).
    Locally as many workers may run as are asked for, whatever the number of cores: each counts as one CPU of Ray's.
    OptionError where Ray is not installed, or no cluster answers at the address.
    """
    if importlib.util.find_spec("ray") is None:
        raise OptionError("Ray is not installed, and it runs the workers", remedy='pip install "surfer-lab[cluster]"')
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # a worker without a GPU of its own sees them all
    import ray

    if ray.is_initialized():
        return False
    words: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "namespace": "surfer-lab"}
    if address is not None:
        try:
            ray.init(address=address, **words)
        except ray.exceptions.RayError as error:  # since Ray 2.52: a token is wanted that is not here, or another one
            raise OptionError(
                f"the Ray cluster at {address} does not let this process in ({type(error).__name__})",
                remedy="the cluster's token in ~/.ray/auth_token or RAY_AUTH_TOKEN, or RAY_AUTH_MODE=disabled on all "
                "nodes and here",
            ) from error
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise OptionError(
                f"no Ray cluster answers at {address} ({type(error).__name__})",
                remedy="ray start --head, or no --address",
            ) from error
        return False
    cpus = max(workers + 1, os.cpu_count() or 1)
    patiently(lambda: ray.init(address="local", num_cpus=cpus, include_dashboard=False, **words), ray.shutdown)
    return True


def patiently(start: Callable[[], Any], give_up: Callable[[], Any]) -> Any:
    """What `start` returns; again after `give_up` where Ray's own processes were too slow to start, a few times."""
    for _ in range(_ATTEMPTS):
        try:
            return start()
        except Exception as error:  # Ray raises a bare Exception for this
            give_up()
            if "during startup" not in str(error):
                raise
    raise OptionError(
        f"Ray's own processes did not start within 30 s, {_ATTEMPTS} times: this machine is busy",
        remedy="again when it is less so, or `ray start --head` once and its address",
    )


def disconnect() -> None:
    """End the local Ray, or leave the cluster."""
    import ray

    ray.shutdown()
