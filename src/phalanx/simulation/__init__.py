# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Whole rollouts inside one kernel: a step with its law and forces, traced once, looped over time.

    control law     ─┐                                                              ┌─ records, every so often
    external forces ─┼─► one step on recording scalars ─► a loop over time ─► code ─┤
    joints          ─┘   `step`, `integrators`            `rollout`                 └─ the final state

Laws are users' Python functions, which `laws` runs on traced values (`tracing/`). All of a step is one
graph, in which equal operations on equal operands exist once: a law that needs kinematics shares that of the
dynamics. The number of steps is an argument of the kernel (`Program.sizes`). Tangents travel in the same
loop, adjoints in one that runs backwards over stored states. Robots that are too long for one kernel run
step by step (`stepping`).
"""
