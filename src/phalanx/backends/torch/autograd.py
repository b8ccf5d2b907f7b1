# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The functions of a robot and their derivatives as one function of autograd.

Derivatives are such functions again: the gradient of "value" is "vjp", that of "vjp" consists of "hvp" and
"jvp". So `torch.func` and second derivatives find rules wherever they look.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ...errors import PhalanxError
from .derivatives import Work, require_gradients


class Applied(torch.autograd.Function):  # type: ignore[misc]
    """A function of a robot ("value") or a derivative of it, on tensors; all results as a tuple."""

    @staticmethod
    def forward(work: Work, mode: str, *tensors: Any) -> Any:
        """The results of the compiled kernel, which reads and writes the memory of the tensors."""
        arrays = [t.detach().resolve_neg().numpy() for t in tensors]
        return tuple(map(torch.from_numpy, getattr(work, mode)(*arrays)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Store the arrays that derivatives need."""
        ctx.work, ctx.mode, *tensors = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Gradients with respect to those inputs that need one, summed over what was broadcast."""
        tensors, needed = ctx.saved_tensors, ctx.needs_input_grad[2:]
        if ctx.mode == "value":
            made = _gradients(ctx.work, tensors, cotangents[0], needed)
        elif ctx.mode == "vjp":
            made = _second_gradients(ctx.work, tensors, cotangents, needed)
        else:
            raise PhalanxError(f"{ctx.work.function}: {_MOST}")
        fitted = [
            None if g is None or not is_needed else g if g.shape == t.shape else g.sum_to_size(t.shape)
            for g, t, is_needed in zip(made, tensors, needed, strict=True)
        ]
        return (None, None, *fitted)

    @staticmethod
    def jvp(ctx: Any, *changes: Any) -> Any:
        """The changes of all results along changes of the inputs, in forward mode."""
        work, tensors, changes = ctx.work, ctx.saved_tensors, changes[2:]
        given, last = tensors[: len(work.given)], len(work.given)
        for name, change in zip(work.given[work.inputs :], changes[work.inputs : last], strict=True):
            if change is not None:
                raise PhalanxError(
                    f"{work.function}: has no forward mode with respect to {name}; use reverse mode, or pass "
                    f"{name}.detach()."
                )
        along = _filled(changes[: work.inputs], given)
        if ctx.mode == "value":
            return Applied.apply(work, "jvp", *given, *along)
        if ctx.mode == "jvp" or ctx.mode == "hvp":
            raise PhalanxError(f"{work.function}: {_MOST}")
        _require_flat(work)
        made = Applied.apply(work, "hvp", *tensors, *along)
        if changes[last] is not None:
            more = Applied.apply(work, "vjp", *given, changes[last])
            made = [a + b for a, b in zip(made, more, strict=False)]
        return (*made, *(torch.zeros_like(t) for t in given[work.inputs :]))

    @staticmethod
    def vmap(info: Any, in_dims: Any, work: Work, mode: str, *tensors: Any) -> Any:
        """One more batch axis in front: kernels take any batch."""
        cores = work.cores(mode)
        dims = in_dims[2:]
        logical = [t.ndim - (d is not None) - core for t, d, core in zip(tensors, dims, cores, strict=True)]
        most = max(logical)
        aligned = [
            t if d is None else _in_front(t, d, most - own)
            for t, d, own in zip(tensors, dims, logical, strict=True)
        ]
        made = Applied.apply(work, mode, *aligned)
        return made, (0,) * len(made)


# PyTorch asks for it at every call, which would take as long as the dynamics of an arm.
Applied.forward.__signature__ = inspect.signature(Applied.forward)  # type: ignore[attr-defined]

_MOST = (
    "derivatives end with the second order: gradients of gradients, in reverse mode or forward over reverse."
)


def _gradients(work: Work, tensors: Sequence[Any], cotangent: Any, needed: Sequence[bool]) -> Sequence[Any]:
    if cotangent is None:
        return [None] * len(tensors)
    if len(work.given) > work.inputs:
        wanted = dict(zip(work.given, needed, strict=True))
        require_gradients(work, wanted)
        work = replace(work, wanted=frozenset(name for name, is_wanted in wanted.items() if is_wanted))
    made: Sequence[Any] = Applied.apply(work, "vjp", *tensors, cotangent)
    return made


def _second_gradients(
    work: Work, tensors: Sequence[Any], changes: Sequence[Any], needed: Sequence[bool]
) -> Sequence[Any]:
    """Gradients of gradients, weighted by `changes`, with respect to what is given and to the cotangent."""
    given, behind = tensors[: len(work.given)], len(work.given)
    _require_flat(work)
    for name, change, is_needed in zip(work.given, changes, needed, strict=False):
        if name in work.given[work.inputs :] and (change is not None or is_needed):
            raise PhalanxError(
                f"{work.function}: has no second derivatives with respect to {name}; pass {name}.detach()."
            )
    along = _filled(changes[: work.inputs], given)
    made = [None] * len(tensors)
    if any(needed[: work.inputs]):
        made[: work.inputs] = Applied.apply(work, "hvp", *tensors, *along)
    if needed[behind]:
        made[behind] = Applied.apply(work, "jvp", *given, *along)[0]
    return made


def _filled(changes: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    """The tangents of all inputs, zero where autograd has none."""
    return [torch.zeros_like(t) if c is None else c for c, t in zip(changes, like, strict=False)]


def _require_flat(work: Work) -> None:
    if not work.is_flat:
        raise PhalanxError(
            f'{work.function}: robot "{work.robot.name}" has joints with quaternions, which have first '
            "derivatives only; robot.hvp has others in the tangent space, robot.jax those of coordinates."
        )


def _in_front(tensor: Any, dim: int, missing: int) -> Any:
    """The tensor with axis `dim` first, and as many axes of length one behind it as it misses."""
    tensor = tensor.movedim(dim, 0)
    return tensor.reshape((tensor.shape[0], *(1,) * missing, *tensor.shape[1:]))
