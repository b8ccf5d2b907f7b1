# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Users' own functions, traced: control laws, costs, forces and records of simulations, `robot.function`.

A function is called once with arrays of recording scalars (`arrays.py`), on which NumPy's functions act by
the rules of `elementwise.py` and `vocabulary.py`, and with a robot whose functions add to the same graph
(`equations.py`). `calls.py` calls it and checks what it returns, `refusals.py` words what cannot be traced.
`function.py` makes a compiled function of it, with derivatives.
"""
