# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A Gymnasium vector environment with rigid contact: hoppers jump to heights, all in one rollout."""

from time import perf_counter

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

import phalanx as px

PART = 0.25  # the length of thigh and shank


def hopper() -> px.Robot:
    """A trunk on a vertical slide with one leg, whose joints stop at their limits."""
    builder = px.RobotBuilder("hopper")
    builder.add_link("rail")
    builder.add_link("trunk", mass=3.0)
    builder.add_link("thigh", mass=0.4, com=(0, 0, -PART / 2), inertia=(2e-3, 2e-3, 1e-4))
    builder.add_link("shank", mass=0.2, com=(0, 0, -PART / 2), inertia=(1e-3, 1e-3, 5e-5))
    builder.add_joint("slide", "prismatic", "rail", "trunk", axis=(0, 0, 1))
    builder.add_joint("hip", "revolute", "trunk", "thigh", axis=(0, 1, 0), lower=-0.5, upper=1.5)
    builder.add_joint(
        "knee", "revolute", "thigh", "shank", axis=(0, 1, 0), origin=(0, 0, -PART), lower=-2.6, upper=-0.2
    )
    builder.add_frame("foot", "shank", (0, 0, -PART))
    return builder.build()


def law(t, q, qd, u, robot):
    """Hip and knee go where `u` wants them, with at most 60 N·m; nothing drives the slide."""
    torque = np.clip(100.0 * (u - q[1:]) - 2.0 * qd[1:], -60.0, 60.0)
    return np.concatenate([np.zeros(1), torque])


class Hop(VectorEnv):
    """Bring the trunk to a random height; an action is where hip and knee go, between their limits."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, num_envs: int, dt: float = 1e-3, substeps: int = 10, most: int = 200) -> None:
        self.num_envs, self.substeps, self.most = num_envs, substeps, most
        self.robot = hopper()
        ground = px.contact.rigid(px.contact.plane(), points=["foot"], friction=0.8)
        self.sim = self.robot.simulation(
            dt=dt, integrator="implicit", control=law, controls=2, forces=ground, limits="rigid"
        )
        lower, upper = self.robot.limits.lower[1:], self.robot.limits.upper[1:]
        self.middle, self.half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        self.single_action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (8,), np.float32)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, num_envs)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, num_envs)

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        super().reset(seed=seed)
        self.q, self.qd, self.goal = (np.zeros((self.num_envs, *n)) for n in ((3,), (3,), ()))
        self.age, self.over = np.zeros(self.num_envs, int), np.zeros(self.num_envs, bool)
        self._restart(~self.over)
        return self._observe(), {}

    def _restart(self, some: np.ndarray) -> None:
        """New starts and goals: a leg stands, bent at random; its trunk is to rise to 0.5 to 0.8 m."""
        bend, goal = self.np_random.uniform((0.5, 0.5), (1.0, 0.8), (int(some.sum()), 2)).T
        self.q[some] = np.stack([2 * PART * np.cos(bend), bend, -2 * bend], axis=1)
        self.qd[some], self.age[some], self.goal[some] = 0.0, 0, goal

    def _observe(self) -> np.ndarray:
        foot = self.robot.frame_pose(self.q, "foot")[:, 2, 3]
        return np.column_stack([self.q, self.qd, foot, self.goal]).astype(np.float32)

    def step(self, actions: np.ndarray):
        fresh = self.over  # those that ended last time begin anew instead
        target = self.middle + self.half * np.clip(np.asarray(actions, float), -1.0, 1.0)
        run = self.sim.rollout(
            self.q,
            self.qd,
            controls=target[:, None],
            steps=self.substeps,
            every=self.substeps,
            record=("contact_forces", "contact_residual"),
        )
        self.q, self.qd = run.final
        self._restart(fresh | run.diverged)
        self.age += ~fresh
        gap = self.goal - self.q[:, 0]
        low = self.q[:, 0] < 0.1  # the trunk is about to hit the ground
        terminated = ((gap < 0.0) | low) & ~fresh
        truncated = ((self.age >= self.most) | run.diverged) & ~fresh & ~terminated
        self.over = terminated | truncated
        reward = np.where(fresh, 0.0, terminated * np.where(low, -1.0, 1.0) - 0.01 * np.abs(gap))
        load, residual = run["contact_forces"][:, 0, 0, 2], run["contact_residual"][:, 0]
        info = {"load": np.where(fresh, 0.0, load), "residual": np.where(fresh, 0.0, residual)}
        return self._observe(), reward, terminated, truncated, info


def policy(env: Hop, observation: np.ndarray) -> np.ndarray:
    """Not learnt: crouch, stretch until the foot leaves the ground, and prepare to land."""
    bend, up, foot = observation[:, 1], observation[:, 3], observation[:, 6]
    push = (up > 0.2) | ((bend > 1.0) & (up > -0.1))
    want = np.where(foot > 1e-3, 0.7, np.where(push, 0.2, 1.2))
    return ((np.stack([want, -2 * want], axis=1) - env.middle) / env.half).astype(np.float32)


if __name__ == "__main__":
    hop = Hop(num_envs=256)
    env = gym.wrappers.vector.RecordEpisodeStatistics(hop)  # as any environment, it can be wrapped
    observation, _ = env.reset(seed=0)
    rounds, reached, missed, residual, begin = 1000, 0, 0, 0.0, perf_counter()
    for _ in range(rounds):
        observation, reward, terminated, truncated, info = env.step(policy(hop, observation))
        good = terminated & (reward > 0.0)
        reached, missed = reached + int(good.sum()), missed + int((terminated & ~good | truncated).sum())
        residual = max(residual, info["residual"].max())
        assert (info["load"] >= 0.0).all()  # the ground never pulls
    rate = rounds * env.num_envs / (perf_counter() - begin)
    print(f"{rate:,.0f} actions a second, each of {hop.substeps} steps")
    print(f"{reached:,} heights reached, {missed} missed; contact's residual is {residual:.0e} m/s at most")
    print(f"an episode takes {np.mean(env.length_queue):.0f} actions")
    assert reached > env.num_envs
    assert missed == 0
    assert env.episode_count == reached
    assert residual < 1e-9
