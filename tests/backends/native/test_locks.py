# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Compiling is left at Ctrl-C, and very long steps take a time in proportion to their length."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import compile, locks, rollout
from phalanx.backends.native.locks import leavable


def test_results_and_exceptions_are_those_of_the_work() -> None:
    assert leavable(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        leavable(lambda: 1 // 0)


@pytest.mark.skipif(os.name != "posix", reason="sends itself a signal of POSIX")
def test_an_interrupt_leaves_the_work_and_the_next_waits_for_it() -> None:
    end, order = threading.Event(), []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert end.wait(60.0)
        order.append("left")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
    try:
        with pytest.raises(KeyboardInterrupt):
            leavable(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert order == []
    (thread,) = locks._left
    threading.Timer(0.3, end.set).start()
    leavable(lambda: order.append("next"))
    assert order == ["left", "next"]
    assert not thread.is_alive()
    assert not locks._left


def test_only_what_takes_long_is_compiled_beside_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, seen = compile.parsed, []

    def watched(ir: str, *rest: Any) -> Any:
        seen.append((len(ir) > 400_000, threading.current_thread() is threading.main_thread()))
        return plain(ir, *rest)

    monkeypatch.setattr(compile, "parsed", watched)
    text = "define void @loop() {\n  ret void\n}\n"
    for each in (text, text + "; " + "x" * 400_000):
        assert compile.object_code(each, compile.host())
    assert seen == [(False, True), (True, False)]


def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    x = qd
    for k in range(20):
        x = 0.9 * np.sin(x) + 0.1 * k * q
    return u - x


def test_steps_too_long_for_an_effort_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = px.load("two_link")
    q, qd, u = robot.random_state(9, rng=0)
    runs, seen = [], []

    def watched(ir: str, target: Any, options: compile.CodegenOptions) -> bytes:
        seen.append(options.hasty)
        return object_code(ir, target, options)

    object_code = compile.object_code
    monkeypatch.setattr(compile, "object_code", watched)
    for longest in (rollout._LONGEST, 1000):
        monkeypatch.setattr(rollout, "_LONGEST", longest)
        monkeypatch.setattr(rollout, "_OF_EACH", 0)
        sim = robot.simulation(1e-3, control=law)
        runs.append(sim.rollout(q, qd, u[:, None], steps=20))
    assert seen == [False, True]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    np.testing.assert_array_equal(runs[0].qd, runs[1].qd)
