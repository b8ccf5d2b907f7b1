# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One robot compiled to SIMD machine code, called as a NumPy generalized ufunc.

    program ─► `emit/`, `loop` ─► `compile`, `cache` ─► `objects`, `gufunc` ─► `kernel`
               LLVM IR            object code, on disk  a built-in, a ufunc    users' arrays

`build` does all of it for one call, under the lock of `locks`. The LLVM IR that all kernels share
(`runtime/`: argument checks, iteration over any strides, the sharing of rows by threads) is compiled once
for a machine. `bound_arrays` is behind `kernel.bind`, `threads` says how many rows a thread takes at once.
`rollout` compiles loops over time, `refill` loops that end on data, `formulas` functions other than the
dynamics, `mailboxes` the workers of schedules, `part_kernels` parts of a chain on several machines, and
`freestanding` code for other processors (`targets`).
"""
