# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The results of functions that have several: named tuples.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

A = TypeVar("A")


class InverseDynamicsDerivatives(NamedTuple, Generic[A]):
    """The results of `inverse_dynamics_derivatives`."""

    dq: A  # (…, nv, nv)
    dqd: A  # (…, nv, nv)
    dqdd: A  # (…, nv, nv)


class ForwardDynamicsDerivatives(NamedTuple, Generic[A]):
    """The results of `forward_dynamics_derivatives`."""

    dq: A  # (…, nv, nv)
    dqd: A  # (…, nv, nv)
    dtau: A  # (…, nv, nv)


class InverseDynamicsDerivativesValue(NamedTuple, Generic[A]):
    """The results of `inverse_dynamics_derivatives` with its value."""

    dq: A  # (…, nv, nv)
    dqd: A  # (…, nv, nv)
    dqdd: A  # (…, nv, nv)
    tau: A  # (…, nv)


class ForwardDynamicsDerivativesValue(NamedTuple, Generic[A]):
    """The results of `forward_dynamics_derivatives` with its value."""

    dq: A  # (…, nv, nv)
    dqd: A  # (…, nv, nv)
    dtau: A  # (…, nv, nv)
    qdd: A  # (…, nv)
