# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The page with the robot, its dynamics and its schedules: `phalanx studio`.

- `session`, `running`, `playback`: the state, simulation and schedules that are shown, without a page;
- `markup`: the panel; `stage`: the 3D view; tabs: `robot_view`, `dynamics_view`, `schedule_views`;
- `server`: viser, reachable from this machine only, and which messages it accepts; `page` joins all;
- `report/`: one self-contained file, with studies (`collect`), the robot (`scene`), its sections and scripts.
"""
