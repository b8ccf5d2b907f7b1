# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The picture of a robot that needs no browser, read back by matplotlib."""

import io

import matplotlib.image
import numpy as np

import phalanx as px
from phalanx.studio.report.picture import encoded, png_of


def test_a_png_file_holds_the_pixels() -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 4), dtype=np.uint8)
    read = matplotlib.image.imread(io.BytesIO(encoded(image)), format="png")
    np.testing.assert_array_equal(np.rint(read * 255).astype(np.uint8), image)


def test_the_robot_fills_the_picture_and_leaves_its_ground_clear() -> None:
    robot = px.load("two_link")
    image = matplotlib.image.imread(io.BytesIO(png_of(robot, px.visuals("two_link"), 120, 90)), format="png")
    drawn = image[..., 3] > 0.5
    assert 0.02 < drawn.mean() < 0.8
    assert not drawn[0].any()
    assert not drawn[:, 0].any()
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    assert max(np.ptp(rows) / 90, np.ptp(columns) / 120) > 0.8


def test_what_is_nearer_hides_what_is_behind() -> None:
    text = """<robot name="two"><link name="a">
      <visual><origin xyz="0.64 -0.77 0.3"/><geometry><box size="2 2 2"/></geometry>
        <material name="r"><color rgba="1 0 0 1"/></material></visual>
      <visual><origin xyz="-1.3 1.5 -0.6"/><geometry><box size="1 1 1"/></geometry>
        <material name="b"><color rgba="0 0 1 1"/></material></visual>
    </link></robot>"""
    image = matplotlib.image.imread(
        io.BytesIO(png_of(px.load(text), px.visuals(text), 100, 100)), format="png"
    )
    seen = image[image[..., 3] > 0.99][:, :3]
    assert (seen[:, 0] > 0.2).mean() > 0.95
