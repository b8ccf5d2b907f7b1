# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.torch`: the functions of a robot on tensors of PyTorch on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ...algorithms import FUNCTIONS, NOTHING
from ...errors import PhalanxError, listing
from ...robot.frames import frames_cached
from ...robot.robot import Robot
from .autograd import Applied
from .derivatives import Work, require_gradients
from .signatures import TorchSignatures

_REAL = (torch.float64, torch.float32)


class TorchFunctions(TorchSignatures):
    """Functions of one robot on CPU tensors by compiled kernels, without a copy; any batch shape.

    Float64 and float32 in, the same out. Gradients come from the compiled `robot.vjp`, tangents of forward
    mode from `robot.jvp`; the gradient with respect to q is that of its nq coordinates.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

        self._known: dict[Any, Work] = {}

    def __repr__(self) -> str:
        return f"<functions of {self.robot!r} on PyTorch>"

    def evaluate(
        self,
        function: str,
        inputs: Mapping[str, Any],
        *,
        frame: str | None = None,
        choices: Mapping[str, Any] = NOTHING,
        algorithm: Any = "auto",
        threads: int | None = None,
    ) -> Any:
        """The function of the robot for a batch of inputs by name."""
        if torch.compiler.is_compiling():
            # Kernels are left to Python. Said here, where PyTorch has loaded its compiler anyway.
            how = {"frame": frame, "choices": choices, "algorithm": algorithm, "threads": threads}
            return torch.compiler.disable(self.evaluate)(function, inputs, **how)
        given = {n: x for n, x in inputs.items() if x is not None or n in FUNCTIONS[function].inputs}
        if isinstance(given.get("external"), Mapping):
            given["external"] = self._wrenches(function, given["external"])
        for name, value in given.items():
            _require_tensor(f"{function}: {name}", value, f"robot.{function}")
        _require_one_type(function, given)
        work = self._work(function, tuple(given), frame, choices, algorithm, threads)
        if len(FUNCTIONS[function].outputs) == 1:
            require_gradients(work, {n: x.requires_grad for n, x in given.items()})
            return Applied.apply(work, "value", *given.values())[0]
        if torch.is_grad_enabled() and any(x.requires_grad for x in given.values()):
            raise PhalanxError(
                f"{function}: its results have no gradient; call it under torch.no_grad(), or with tensors "
                "that need none, as q.detach()."
            )
        return FUNCTIONS[function].packed(Applied.apply(work, "value", *given.values()))

    def _work(
        self,
        function: str,
        given: tuple[str, ...],
        frame: str | None,
        choices: Mapping[str, Any],
        algorithm: Any,
        threads: int | None,
    ) -> Work:
        """What is to be done, with the kernels that it has made before."""
        keywords = {"frame": frame} if frame is not None else {}
        if not isinstance(algorithm, str) or not isinstance(frame, str | None):
            return Work(self.robot, function, given, keywords, choices, algorithm, threads)
        key = (function, given, frame, *choices.values(), algorithm, threads)
        if key not in self._known:
            if len(self._known) > frames_cached(self.robot):
                self._known.clear()
            self._known[key] = Work(self.robot, function, given, keywords, dict(choices), algorithm, threads)
        return self._known[key]

    def _wrenches(self, function: str, given: Mapping[str, Any]) -> Any:
        """Wrenches on all links from those on some frames."""
        total: Any = None
        for frame, wrench in given.items():
            on_links = self.robot.wrenches({frame: np.eye(6)})
            where = f'{function}: external on "{frame}"'
            _require_tensor(where, wrench, f"robot.{function}")
            if not wrench.ndim or wrench.shape[-1] != 6:
                raise PhalanxError(
                    f'{where} has shape {tuple(wrench.shape)}, expected (…, 6) for robot "{self.robot.name}".'
                )
            part = torch.einsum("...k,kli->...li", wrench, torch.from_numpy(on_links).to(wrench.dtype))
            total = part if total is None else total + part
        if total is None:
            raise PhalanxError(
                f'{function}: external is empty, expected {{"link": wrench}} or nothing at all.'
            )
        return total


def _require_tensor(where: str, value: Any, method: str) -> None:
    """Raise unless the value is a tensor that a kernel can read in place."""
    if not isinstance(value, torch.Tensor):
        raise PhalanxError(
            f"{where} is {type(value).__name__}, expected a torch.Tensor; torch.as_tensor makes one, and "
            f"{method} takes arrays of NumPy."
        )
    if value.device.type != "cpu":
        raise PhalanxError(f"{where} is on {value.device}, expected a tensor on the CPU; pass x.cpu().")
    if value.dtype not in _REAL:
        raise PhalanxError(
            f"{where} has dtype {value.dtype}, expected torch.float64 or torch.float32; pass x.double()."
        )
    if value.layout != torch.strided:
        raise PhalanxError(f"{where} has layout {value.layout}, expected a dense tensor; pass x.to_dense().")


def _require_one_type(function: str, given: Mapping[str, Any]) -> None:
    if len({x.dtype for x in given.values()}) > 1:
        told = listing([f"{name} {x.dtype}" for name, x in given.items()])
        raise PhalanxError(f"{function}: dtypes differ: {told}; expected one for all, as by x.double().")
