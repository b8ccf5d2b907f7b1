# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Straight-line programs as digital circuits: pipelines in Verilog.

A program becomes a circuit in four steps: `formats.py` chooses a fixed-point format for each value and
bounds the error of the results, `lower.py` writes every operation with the units of `units.py`,
`schedule.py` assigns clocks and shares units, `modules.py` writes the Verilog. `circuit.py` computes what
the module computes, bit for bit. `lower_floats.py` does without the first step: all values are float32.
"""
