# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The example's vector environment does what Gymnasium asks of one."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason='the extra "gym"')

EXAMPLE = Path(__file__).parents[2] / "examples" / "13_gymnasium.py"


@pytest.fixture(scope="module", name="Reach")
def reach_() -> Any:
    return runpy.run_path(str(EXAMPLE), run_name="example")["Reach"]


def walk(env: Any, seed: int, rounds: int) -> list[np.ndarray]:
    """All that random actions lead to."""
    found = [env.reset(seed=seed)[0]]
    env.action_space.seed(seed)
    for _ in range(rounds):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        found += [observation, reward, terminated, truncated]
    return found


def test_results_lie_in_the_spaces(Reach: Any) -> None:
    env = Reach(num_envs=5)
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert info == {}
    observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
    assert env.observation_space.contains(observation)
    assert reward.shape == terminated.shape == truncated.shape == (5,)
    assert terminated.dtype == truncated.dtype == bool


def test_a_seed_repeats_everything(Reach: Any) -> None:
    one, other = (walk(Reach(num_envs=4), 7, 12) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_episodes_begin_anew_one_step_after_their_end(Reach: Any) -> None:
    env = Reach(num_envs=3, most=4)
    env.reset(seed=1)
    still = np.zeros((3, 7), np.float32)
    ended = [env.step(still)[3] for _ in range(4)][-1]
    assert ended.all()  # too long, all at once
    goal = env.goal.copy()
    _, reward, terminated, truncated, _ = env.step(still)
    assert not (terminated | truncated).any()
    np.testing.assert_array_equal(reward, 0.0)
    assert not np.allclose(env.goal, goal)
    assert not env.step(still)[3].any()
