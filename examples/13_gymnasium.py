# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A Gymnasium vector environment around one rollout: many Pandas reach for points, all in one call."""

from time import perf_counter

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

import phalanx as px


class Reach(VectorEnv):
    """Move the hand to a random point; an action is a target for each joint, relative to where it is."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, num_envs: int, dt: float = 2e-3, substeps: int = 20, most: int = 100) -> None:
        self.num_envs, self.substeps, self.most = num_envs, substeps, most
        self.robot = px.load("panda")
        self.hand = "panda_hand"
        law = px.control.pd(200.0, 20.0, gravity=True)
        self.sim = self.robot.simulation(dt=dt, integrator="implicit", control=law)
        limits = self.robot.limits
        self.lower, self.upper = limits.lower + 0.1, limits.upper - 0.1
        nv = self.robot.nv
        self.single_action_space = gym.spaces.Box(-1.0, 1.0, (nv,), np.float32)
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (2 * nv + 6,), np.float32)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, num_envs)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, num_envs)

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        super().reset(seed=seed)
        self.q, self.qd, self.goal = (np.zeros((self.num_envs, n)) for n in (7, 7, 3))
        self.age, self.over = np.zeros(self.num_envs, int), np.zeros(self.num_envs, bool)
        self._restart(~self.over)
        return self._observe(), {}

    def _restart(self, some: np.ndarray) -> None:
        """New starts and goals; a goal is where a random pose would have the hand."""
        count = int(some.sum())
        draw = self.np_random.uniform(self.lower, self.upper, (2, count, 7))
        self.q[some], self.qd[some], self.age[some] = draw[0], 0.0, 0
        self.goal[some] = self.robot.frame_pose(draw[1], self.hand)[:, :3, 3]

    def _observe(self) -> np.ndarray:
        self.at = self.robot.frame_pose(self.q, self.hand)[:, :3, 3]
        return np.concatenate([self.q, self.qd, self.goal, self.goal - self.at], axis=1).astype(np.float32)

    def step(self, actions: np.ndarray):
        fresh = self.over  # those that ended last time begin anew instead
        target = np.clip(self.q + 0.2 * np.asarray(actions, float), self.lower, self.upper)
        run = self.sim.rollout(
            self.q, self.qd, controls=target[:, None], steps=self.substeps, every=self.substeps
        )
        self.q, self.qd = run.final
        self._restart(fresh | run.diverged)
        self.age += ~fresh
        observation = self._observe()
        gap = np.linalg.norm(self.goal - self.at, axis=1)
        terminated = (gap < 0.05) & ~fresh
        truncated = ((self.age >= self.most) | run.diverged) & ~fresh & ~terminated
        self.over = terminated | truncated
        return observation, np.where(fresh, 0.0, terminated - gap), terminated, truncated, {"gap": gap}


if __name__ == "__main__":
    env = Reach(num_envs=256)
    observation, _ = env.reset(seed=0)
    # Not learnt, but a policy: along the transposed Jacobian towards the goal.
    rounds, reached, begin = 300, 0, perf_counter()
    for _ in range(rounds):
        q, gap = observation[:, :7].astype(float), observation[:, -3:].astype(float)
        jacobian = env.robot.jacobian(q, env.hand)[:, 3:]
        action = np.clip(12.0 * np.einsum("bij,bi->bj", jacobian, gap), -1, 1)
        observation, reward, terminated, truncated, _ = env.step(action)
        reached += int(terminated.sum())
    took = perf_counter() - begin
    rate = rounds * env.num_envs / took
    print(f"{rate:,.0f} actions a second, each of {env.substeps} steps; {reached:,} goals reached")
    assert reached > env.num_envs
    assert np.isfinite(observation).all()
