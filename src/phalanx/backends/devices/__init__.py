# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels on devices with memory of their own: OpenCL, CUDA.

`base` finds the class of a device and checks arrays. `opencl` launches sources that `languages/` writes and
`opencl_programs` builds; `cuda` launches PTX (`ptx`) through `cuda_driver` on arrays of any library
(`cuda_arrays`). A work-item has a state of its own; in `opencl_groups` and `ptx_groups` a group shares one.
"""
