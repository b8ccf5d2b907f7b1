# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What an algorithm costs on a robot, how it runs on p processors, and which one to take.

- `cost`, `closed_form`, `accuracy`, `compare`, `recommend`, `schedule`: one module per question;
- `machines`, `scheduling/`: processors and links; tasks assigned to them, and a validity check;
- `charts/`: `chart` holds what every drawing of a schedule shows, `gantt` draws it; `sets` draws
  what passes through a systolic machine;
- `workload`, `calibration`: the work of kernels, and its unit costs on this machine;
- `figures/` with the style of `plotting`; `markup`: HTML and SVG;
- `papers/`: a folder for each paper: a data file of its printed figures, and what the library computes.
"""
