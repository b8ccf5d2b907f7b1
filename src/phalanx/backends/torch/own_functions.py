# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Users' own functions (`robot.function`) on tensors of PyTorch, with gradients of any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .tensors import require_one_type, require_tensor


def in_torch(f: Any) -> Callable[..., Any]:
    """A function of tensors on the CPU from what `robot.function` made; gradients by its vjp.

    Derivatives by q are those by its nq coordinates.
    """
    plain = f._plain

    def wrapped(*args: Any, **named: Any) -> Any:
        given = dict(zip(f.inputs, f._arguments(args, named), strict=True))
        for name, value in given.items():
            require_tensor(f"{f.name}: {name}", value, "robot.function")
        require_one_type(f.name, given)
        return f._packed(AppliedOwn.apply(plain, *given.values()))

    wrapped.__name__, wrapped.__doc__ = f.name, f"`{f.name}` on tensors of any batch shape."
    return wrapped


class AppliedOwn(torch.autograd.Function):  # type: ignore[misc]
    """A user's function on tensors; all results as a tuple. Its derivatives are such functions again."""

    @staticmethod
    def forward(f: Any, *tensors: Any) -> Any:
        """The results of the compiled function."""
        made = f._flat(*(t.detach().resolve_neg().numpy() for t in tensors))
        return tuple(torch.as_tensor(x, dtype=tensors[0].dtype) for x in made)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Store the arrays that derivatives need."""
        ctx.f, *tensors = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Gradients with respect to those inputs that need one, summed over what was broadcast."""
        f, tensors, needed = ctx.f, ctx.saved_tensors, ctx.needs_input_grad[1:]
        of = [name for name, c in zip(f.outputs, cotangents, strict=True) if c is not None]
        wrt = [name for name, is_needed in zip(f.inputs, needed, strict=True) if is_needed]
        if not of or not wrt:
            return (None, *(None for _ in tensors))
        weights = [c for c in cotangents if c is not None]
        found = dict(zip(wrt, AppliedOwn.apply(f.vjp._variant_of(of, wrt), *tensors, *weights), strict=True))
        return (
            None,
            *(
                _fitted(found[name], t) if name in found else None
                for name, t in zip(f.inputs, tensors, strict=True)
            ),
        )

    @staticmethod
    def jvp(ctx: Any, *changes: Any) -> Any:
        """The changes of all results along changes of the inputs, in forward mode."""
        f, tensors, changes = ctx.f, ctx.saved_tensors, changes[1:]
        wrt = [name for name, c in zip(f.inputs, changes, strict=True) if c is not None]
        along = [c for c in changes if c is not None]
        return AppliedOwn.apply(f.jvp._variant_of(tuple(f.outputs), wrt), *tensors, *along)

    @staticmethod
    def vmap(info: Any, in_dims: Any, f: Any, *tensors: Any) -> Any:
        """One more batch axis in front: functions take any batch."""
        cores = [len(shape) for shape in f.inputs.values()]
        dims = in_dims[1:]
        rows = zip(tensors, dims, cores, strict=True)
        most = max(t.ndim - (d is not None) - core for t, d, core in rows)
        made = AppliedOwn.apply(f, *_aligned(tensors, dims, cores, most))
        return made, (0,) * len(made)


def _aligned(tensors: Sequence[Any], dims: Sequence[Any], cores: Sequence[int], most: int) -> list[Any]:
    """Tensors with the mapped axis first, and as many batch axes behind it as the largest batch has."""
    made = []
    for t, d, core in zip(tensors, dims, cores, strict=True):
        if d is not None:
            t = t.movedim(d, 0)
            missing = most - (t.ndim - 1 - core)
            t = t.reshape((t.shape[0], *(1,) * missing, *t.shape[1:]))
        made.append(t)
    return made


def _fitted(gradient: Any, like: Any) -> Any:
    return gradient if gradient.shape == like.shape else gradient.sum_to_size(like.shape)
