# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Messages that elements of the page send reach them; all others are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.studio.page import Page
from phalanx.studio.server import is_of_page

viser = pytest.importorskip("viser", reason="the page is viser's")
pytest.importorskip("trimesh", reason="meshes are read with trimesh")
messages = pytest.importorskip("viser._messages")

NAN, INF = float("nan"), float("inf")
CAMERA: dict[str, Any] = {
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (1.0, 1.0, 1.0),
    "fov": 0.8,
    "near": 0.1,
    "far": 100.0,
    "image_height": 600,
    "image_width": 800,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    made = Page(px.visuals("two_link"))
    yield made
    made.close()


def update(handle: Any, **updates: Any) -> Any:
    return messages.GuiUpdateMessage(handle._impl.uuid, updates)


def test_what_people_choose_passes(page: Page) -> None:
    dynamics, parallel = page.dynamics_view, page.parallel_view
    slider, handle = page.robot_view.sliders[0]
    chosen: list[tuple[Any, Any]] = [
        *((handle, value) for value in (slider.lower, slider.upper, 0, 0.5)),
        (page._dark, True),
        (dynamics._motion, "Hold the pose"),
        (dynamics._play, "Start"),
        (dynamics._force, [1, 2.5, -3.0]),
        (parallel._count, 64),
        (parallel._batch, 1),
        (parallel._ask, True),
    ]
    for element, value in chosen:
        assert is_of_page(page.server, update(element, value=value)), value
    assert is_of_page(page.server, messages.ViewerCameraMessage(**CAMERA))


@pytest.mark.parametrize("value", [NAN, INF, 1e3, "0.1", True, None, [0.1], {}, 10**400])
def test_what_no_slider_shows_is_dropped(value: Any, page: Page) -> None:
    _, handle = page.robot_view.sliders[0]
    assert not is_of_page(page.server, update(handle, value=value))


def test_what_no_element_offers_is_dropped(page: Page) -> None:
    dynamics, slider = page.dynamics_view, page.robot_view.sliders[0][1]
    wrong: list[tuple[Any, Any]] = [
        (dynamics._motion, "nothing"),
        (dynamics._motion, 1),
        (dynamics._play, "Stop"),
        (dynamics._force, [0.0, NAN, 0.0]),
        (dynamics._force, [0.0, 1e300, 0.0]),
        (dynamics._force, [0.0]),
        (page._dark, 1),
        (page.parallel_view._count, 65),
        (page.parallel_view._batch, 0),
    ]
    for element, value in wrong:
        assert not is_of_page(page.server, update(element, value=value)), value
    for more in ({"update_cb": []}, {"value": 0.1, "removed": True}, {"gui_api": None}, {}):
        assert not is_of_page(page.server, update(slider, **more)), more
    for uuid in ("nobody", [], None, 3):
        assert not is_of_page(page.server, messages.GuiUpdateMessage(uuid, {"value": 0.1}))
    for updates in (None, [], "value"):
        assert not is_of_page(page.server, messages.GuiUpdateMessage(slider._impl.uuid, updates))
    for name, value in (("fov", NAN), ("image_height", 0), ("position", (0.0, INF, 0.0)), ("far", "x")):
        assert not is_of_page(page.server, messages.ViewerCameraMessage(**CAMERA | {name: value})), name
    for message in (messages.ShareUrlRequest(), messages.RemoveSceneNodeMessage("/robot")):
        assert not is_of_page(page.server, message)


def test_sockets_hand_on_only_what_passes(page: Page) -> None:
    """As a program on this machine could send it."""
    import msgspec
    from websockets.sync.client import connect

    _, handle = page.robot_view.sliders[1]
    before = page.session.q.copy()

    def told(**updates: Any) -> bytes:
        made = {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": updates}
        return bytes(msgspec.msgpack.encode(made))

    with connect(
        f"ws://127.0.0.1:{page.port}",
        origin=page.address,  # type: ignore[arg-type]
        subprotocols=[f"viser-v{viser.__version__}"],  # type: ignore[list-item]
        max_size=None,
    ) as socket:
        socket.send(msgspec.msgpack.encode({"type": "ViewerCameraMessage", **CAMERA}))
        for value in (NAN, "nothing", [1.0], 1e9):
            socket.send(told(value=value))
        socket.send(told(update_cb=[]))
        socket.send(told(value=0.25))  # the last one is a person's
        for _ in range(500):
            if not np.array_equal(page.session.q, before):
                break
            socket.recv(timeout=5.0)
    np.testing.assert_array_equal(page.session.q, [before[0], 0.25])
