# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The vector environments of the examples do what Gymnasium asks of one."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

gym = pytest.importorskip("gymnasium", reason='the extra "gym"')

EXAMPLES = {"Reach": "13_gymnasium.py", "Hop": "21_gymnasium_feet.py"}


@pytest.fixture(scope="module", name="Made", params=EXAMPLES)
def made_(request: pytest.FixtureRequest) -> Any:
    file = Path(__file__).parents[2] / "examples" / EXAMPLES[request.param]
    return runpy.run_path(str(file), run_name="example")[request.param]


def walk(env: Any, seed: int, rounds: int) -> list[np.ndarray]:
    """All that random actions lead to."""
    found = [env.reset(seed=seed)[0]]
    env.action_space.seed(seed)
    for _ in range(rounds):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        found += [observation, reward, terminated, truncated]
    return found


def test_results_lie_in_the_spaces(Made: Any) -> None:
    env = Made(num_envs=5)
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert info == {}
    observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
    assert env.observation_space.contains(observation)
    assert reward.shape == terminated.shape == truncated.shape == (5,)
    assert terminated.dtype == truncated.dtype == bool


def test_resets_pass_the_checks_of_gymnasium(Made: Any) -> None:
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    env = Made(num_envs=3)
    for check in ("reset_seed_determinism", "reset_options", "reset_return_type"):
        getattr(checker, f"check_{check}")(env)


def test_wrappers_of_gymnasium_see_where_episodes_end(Made: Any) -> None:
    env = Made(num_envs=3, most=5)
    watched = gym.wrappers.vector.RecordEpisodeStatistics(env)
    watched.reset(seed=2)
    still = np.zeros(env.action_space.shape, np.float32)
    sums, ends = np.zeros(3), 0
    for _ in range(11):
        _, reward, terminated, truncated, _ = watched.step(still)
        sums += reward
        ends += int((terminated | truncated).sum())
    assert watched.episode_count == ends >= 6
    np.testing.assert_allclose(sum(watched.return_queue), sums.sum(), rtol=1e-6)


def test_a_seed_repeats_everything(Made: Any) -> None:
    one, other = (walk(Made(num_envs=4), 7, 12) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_episodes_begin_anew_one_step_after_their_end(Made: Any) -> None:
    env = Made(num_envs=3, most=4)
    env.reset(seed=1)
    still = np.zeros(env.action_space.shape, np.float32)
    ended = [env.step(still)[3] for _ in range(4)][-1]
    assert ended.all()  # too long, all at once
    goal = env.goal.copy()
    _, reward, terminated, truncated, _ = env.step(still)
    assert not (terminated | truncated).any()
    np.testing.assert_array_equal(reward, 0.0)
    assert not np.allclose(env.goal, goal)
    assert not env.step(still)[3].any()
