# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Shared by all tests: the loops of `reference` by name, short repeatable searches."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from phalanx import dispatch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from reference.quick import MARK, exhaustive  # noqa: E402


def _xla_flags() -> str:
    """Flags for quick compiling; XLA ends the process at a flag that its version does not know."""
    flags = "--xla_backend_optimization_level=0"
    try:
        known = metadata.version("jaxlib").startswith("0.10.")
    except metadata.PackageNotFoundError:
        return flags
    return flags + " --xla_cpu_use_fusion_emitters=false" * known


# The tests must not run code that an older version has compiled; workers inherit the folder.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["PHALANX_CACHE_DIR"] = tempfile.mkdtemp(prefix="phalanx-tests-")
    # Most of JAX's time goes into compiling: fast rather than good code, and once for all workers.
    os.environ.setdefault("XLA_FLAGS", _xla_flags())
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", os.path.join(os.environ["PHALANX_CACHE_DIR"], "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("POCL_CACHE_DIR", os.path.join(os.environ["PHALANX_CACHE_DIR"], "pocl"))
    os.makedirs(os.environ["POCL_CACHE_DIR"], exist_ok=True)

# Traced programs are many small objects that live long: looking for garbage among them takes long, too.
gc.set_threshold(100_000, 50, 100)

settings.register_profile(
    "phalanx",
    max_examples=10,
    deadline=None,  # the cores are shared
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # seeds do not shrink
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("exhaustive", settings.get_profile("phalanx"), max_examples=40)
settings.load_profile("phalanx")


@pytest.hookimpl(tryfirst=True)  # before -m selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make test-all` what shows nothing new for a value of a parameter; skip "jax" without it."""
    for case in exhaustive(items):
        case.add_marker(MARK)
    if find_spec("jax") is None:
        for case in items:
            if any(isinstance(x, str) and x == "jax" for x in _parameters(case)):
                case.add_marker(pytest.mark.skip(reason="jax is not installed"))


def _parameters(case: pytest.Item) -> Iterable[Any]:
    return (
        case.callspec.params.values()
        if isinstance(case, pytest.Function) and hasattr(case, "callspec")
        else ()
    )


def pytest_unconfigure() -> None:
    """Remove the folder of compiled code with the last process."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ["PHALANX_CACHE_DIR"], ignore_errors=True)


@pytest.fixture(scope="module")
def auto_is_numpy() -> Iterator[None]:
    """Let "auto" stand for the NumPy reference in a file that says so: it states equations about many robots.

    Compiling each of them would take minutes. `contract/` holds every backend to the same results, and to
    those of Pinocchio and of MuJoCo.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "_PREFERRED", ("numpy",))
        yield


@pytest.fixture(scope="module", autouse=True)
def forget_compiled_programs() -> Iterator[None]:
    """Give back what XLA has compiled for a file: it is most of the memory, and no other file uses it.

    What is alive before a file stays alive: no collection of garbage looks at it again.
    """
    gc.collect()
    gc.freeze()
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
