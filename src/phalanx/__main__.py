# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`python -m phalanx`: the command line without an installed script."""

from .cli import main

raise SystemExit(main())
