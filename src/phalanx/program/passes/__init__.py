# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Passes: functions from a program to a program.

Of straight-line code: `order` and `fuse` for every kernel, `order.for_registers` for GPUs,
`differentiate`. Of any program: `nonfinite` for every kernel and export, `specialise`, `unroll`,
`sections` for loops that end on data, `iterations` for work-groups. Each ends with `checked`, so that tests
verify what it returns.
"""
