# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Machines that run the equations; each is imported only when it is asked for.

`base` is the contract: the call that a backend gets, and the checks of its arrays. `numpy` is the reference,
`native/` compiles kernels, `jax/` and `torch/` serve arrays of these libraries, `devices/` OpenCL and CUDA.
`signatures` makes methods of all of them from the registry of functions; `fastpath` is what methods run from
the second call on; `structure` says for which robots a function has an inverse.
"""
