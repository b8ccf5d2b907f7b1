# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A cable whose links are spread over MPI ranks falls, and keeps its energy.

    mpiexec -n 2 python examples/14_cable.py 1000000

One rank does as well: python examples/14_cable.py
"""

import sys
from time import perf_counter

import numpy as np
from mpi4py import MPI

import phalanx as px

comm = MPI.COMM_WORLD
links = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
own = 2 * (links // (2 * comm.size))  # of this rank; axes alternate, so that parts of even length fit
begun = perf_counter()
cable = px.DistributedChain(px.snake(own), comm)

i = comm.rank * own + np.arange(own)
q, qd = 0.02 * np.sin(2 * np.pi * i / 500), np.zeros(own)  # a flat wave, held at one end, let go
before = cable.potential_energy(q)
cable.forward_dynamics(q, qd, qd)
ready = perf_counter() - begun

begun = perf_counter()
steps = 20
q, qd = cable.rollout(q, qd, dt=1e-3, steps=steps)
seconds = perf_counter() - begun

moving = cable.kinetic_energy(q, qd)
lost = abs(moving + cable.potential_energy(q) - before)
assert lost < 1e-6 * moving + 1e-12 * abs(before)  # the last is rounding: a long cable reaches far down
if comm.rank == 0:
    print(f"{cable.n_links} links on {cable.size} ranks, ready after {ready:.1f} s")
    print(f"{1e3 * seconds / steps:.1f} ms a step of four evaluations")
    print(f"{moving:.4g} J from falling, of which {lost:.1g} J are lost")
