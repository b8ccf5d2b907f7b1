# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One robot compiled to SIMD machine code, called as a NumPy generalized ufunc.

    program ─► `emit/`, `loop` ─► `compile`, `cache` ─► `objects` ─► `compiled`
               LLVM IR            object code, on disk  a built-in    users' arrays

`build` does all of it for one call, under the lock of `locks`. The LLVM IR that all kernels share
(`runtime/`: argument checks, iteration over any strides, the sharing of rows by threads) is compiled once
for a machine. `rollout` compiles loops over time, `formulas` what is no dynamics, `freestanding` code for
other machines (`targets`). `kernel` and `gufunc` are what users hold.
"""
