# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Six-dimensional algebra: transforms, twists, wrenches and inertias, one per body.

The only statement of the conventions: spatial vectors are [angular; linear], bodies lie on
the axis before the components, batches on the axes before that: `(…batch, n, 6)`.

Everything here is arithmetic, indexing and `matmul` on the array type that comes in, so
the same text serves floats, JAX arrays and object arrays of traced scalars. Operators stay
factored: a transform is a rotation and a translation, an inertia ten numbers, an
articulated inertia twenty-one. Sums are written without literal zeros so that a trace
counts what a person would. `reproducible` has what robots are built with, on floats alone.
"""

from .displacements import Displacement, DisplacementOperator
from .operators import (
    Articulated,
    Field,
    Inertia,
    Momentum,
    Projector,
    Transform,
    TransposedMomentum,
    TransposedTransform,
    at,
    beneath,
    beside,
    dense,
    each,
    unit_inertias,
)
from .reproducible import (
    arctan2,
    coarse,
    composed,
    congruent,
    cos_sin,
    inverse,
    length,
    moved,
    product,
    times,
)
from .tensors import Identity, Tensor, acceleration_tensor, inertial_wrench
from .vectors import (
    Array,
    angular,
    cross,
    dot,
    double_cross,
    force_cross,
    inner,
    join,
    linear,
    matvec,
    moments_of_inertia,
    motion_cross,
    namespace,
    parallel_axis,
    rotated,
    second_moments,
    transpose,
    unpack,
)

__all__ = [
    "Array",
    "Articulated",
    "Displacement",
    "DisplacementOperator",
    "Field",
    "Identity",
    "Inertia",
    "Momentum",
    "Projector",
    "Tensor",
    "Transform",
    "TransposedMomentum",
    "TransposedTransform",
    "acceleration_tensor",
    "angular",
    "arctan2",
    "at",
    "beneath",
    "beside",
    "coarse",
    "composed",
    "congruent",
    "cos_sin",
    "cross",
    "dense",
    "dot",
    "double_cross",
    "each",
    "force_cross",
    "inertial_wrench",
    "inner",
    "inverse",
    "join",
    "length",
    "linear",
    "matvec",
    "moments_of_inertia",
    "motion_cross",
    "moved",
    "namespace",
    "parallel_axis",
    "product",
    "rotated",
    "second_moments",
    "times",
    "transpose",
    "unit_inertias",
    "unpack",
]
