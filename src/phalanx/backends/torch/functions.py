# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.torch`: the functions of a robot on tensors of PyTorch on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import torch

from ...algorithms import FUNCTIONS, NOTHING
from ...arrays import require_shape
from ...errors import PhalanxError
from ...robot.frames import frames_cached
from ...robot.robot import Robot
from ..array_functions import ArrayFunctions
from ..framework_methods import attach
from ..signatures import TORCH
from .autograd import Applied
from .derivatives import Work, require_gradients
from .own_functions import in_torch
from .tensors import is_readable, require_one_type, require_tensor


class TorchFunctions(ArrayFunctions[torch.Tensor, torch.Tensor]):
    """Functions of one robot on CPU tensors by compiled kernels, without a copy; any batch shape.

    Float64 and float32 in, the same out. Gradients come from the compiled `robot.vjp`, tangents of forward
    mode from `robot.jvp`; the gradient with respect to q is that of its nq coordinates.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

        self._known: dict[Any, Work] = {}

    def __repr__(self) -> str:
        return f"<functions of {self.robot!r} on PyTorch>"

    def function(self, f: Any, /, **sizes: Any) -> Any:
        """A function of your own on tensors: what `robot.function` made, or a Python function.

        Gradients of all orders, in both modes; the gradient with respect to q is that of its nq coordinates.
        """
        return in_torch(f if hasattr(f, "_trace") else self.robot.function(f, **sizes))

    def inverse_kinematics(self, targets: Mapping[str, Any], q0: Any = None, **options: Any) -> Any:
        """`robot.inverse_kinematics` of tensors; `s.q` has gradients with respect to the targets.

        By the implicit function theorem, first derivatives, zero where a target was not reached. The step of
        least length is taken where a target leaves motions free, and what is at a limit stays there.
        """
        frameworks = import_module("phalanx.inverse_kinematics.frameworks")
        return frameworks.in_torch(self.robot, targets, q0, options)

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
        f = FUNCTIONS[function]
        given = {n: x for n, x in inputs.items() if x is not None or n in f.inputs}
        external = given.get("external")
        if external is not None and isinstance(external, Mapping):
            given["external"] = self._wrenches(function, external)
        for name, value in given.items():
            if not is_readable(value):
                require_tensor(f"{function}: {name}", value, f"robot.{function}")
        if len(given) > 1:
            require_one_type(function, given)
        work = self._work(function, tuple(given), frame, choices, algorithm, threads)
        if len(f.outputs) == 1:
            if len(given) > len(f.inputs):
                require_gradients(work, {n: x.requires_grad for n, x in given.items()})
            return Applied.apply(work, "value", *given.values())[0]
        if torch.is_grad_enabled() and any(x.requires_grad for x in given.values()):
            raise PhalanxError(
                f"{function}: its results have no gradient; call it under torch.no_grad(), or with tensors "
                "that need none, as q.detach()."
            )
        return f.packed(Applied.apply(work, "value", *given.values()))

    def _work(
        self,
        function: str,
        given: tuple[str, ...],
        frame: str | None,
        choices: Mapping[str, Any],
        algorithm: Any,
        threads: int | None,
    ) -> Work:
        """The operation of a call for autograd, with the kernels compiled for it so far."""
        keywords = {"frame": frame} if frame is not None else {}
        if not isinstance(algorithm, str) or not (frame is None or isinstance(frame, str)):
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
            require_tensor(where, wrench, f"robot.{function}")
            require_shape(tuple(wrench.shape), (6,), where, f' for robot "{self.robot.name}"')
            part = torch.einsum("...k,kli->...li", wrench, torch.from_numpy(on_links).to(wrench.dtype))
            total = part if total is None else total + part
        if total is None:
            raise PhalanxError(
                f'{function}: external is empty, expected {{"link": wrench}} or nothing at all.'
            )
        return total


attach(TorchFunctions, TORCH)
