# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The shared comparison: infinities widen no tolerance."""

import numpy as np
import pytest

from reference.sampling import agree


def test_an_infinite_entry_hides_no_other_error() -> None:
    expected = np.array([np.inf, 1.0])
    agree(np.array([np.inf, 1.0]), expected)
    for wrong in ([np.inf, 2.0], [1.0, 1.0], [-np.inf, 1.0], [np.nan, 1.0]):
        with pytest.raises(AssertionError):
            agree(np.array(wrong), expected)
