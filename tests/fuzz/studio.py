# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Hostile messages to the studio: nothing is raised, no element holds what it does not offer, pictures go on.

One page serves all cases of a process. Messages take viser's way from bytes on: through its decoder and
its event loop to the callbacks of elements, whose exceptions it would print.
"""

from __future__ import annotations

import asyncio
import atexit
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from random import Random
from typing import Any

import numpy as np

import phalanx as px

from .values import anything

ROBOT = "two_link"
SECONDS = 60.0  # that a message may take
CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (2.0, 2.0, 2.0),
    "fov": 0.8,
    "near": 0.01,
    "far": 100.0,
    "image_height": 600,
    "image_width": 800,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}
PRESSED = (True, 1, 0, None, "", "Start", "Pause")
NUMBERS = (0.0, 0.1, -0.3, 1, 3, 64, 65, 1e3, -1e9, 1e300, float("nan"), float("inf"), -float("inf"), 2**70)
WORDS = (
    "",
    "Start",
    "Pause",
    "Reset",
    "Home",
    "Random",
    "Play",
    "Draw",
    "link2",
    "nowhere",
    "\x1b[2J",
    "x" * 20_000,
)
SLOW = ("Compute speed-ups of all algorithms", "Recommend")  # seconds of work: rarely
DEFECT = re.compile(r"\w+(?:Error|Exception|Warning): .*, line \d+\)")


class Watched:
    """A page with one viewer, and all that its callbacks raise."""

    def __init__(self) -> None:
        import msgspec
        import viser
        from websockets.sync.client import connect

        from phalanx.studio.page import Page

        before = set(threading.enumerate())
        self.page = Page(px.visuals(ROBOT))
        atexit.register(self.page.close)
        self.encode = msgspec.msgpack.encode
        self.server = self.page.server
        self.socket = self.server._websock_server
        self.pending: list[Future[Any]] = []
        self.loop = self.socket._background_event_loop
        self.raised: list[str] = []
        self.loop.set_exception_handler(lambda _, facts: self.raised.append(repr(facts)))
        self._watch(self.server._thread_executor)
        connections: list[Any] = []
        self.socket.on_client_connect(connections.append)
        self.viewer = connect(
            f"ws://127.0.0.1:{self.page.port}",
            origin=self.page.address,  # type: ignore[arg-type]
            subprotocols=[f"viser-v{viser.__version__}"],  # type: ignore[list-item]
            max_size=None,
        )
        threading.Thread(target=self._drain, daemon=True).start()
        self.viewer.send(self.encode(CAMERA))
        while not self.server.get_clients():
            threading.Event().wait(0.01)
        (self.connection,) = connections
        for thread in set(threading.enumerate()) - before:
            thread.name = f"phalanx-{thread.name}"  # of the page, which stays

    def _watch(self, executor: Any) -> None:
        submit: Callable[..., Future[Any]] = executor.submit

        def watched(*args: Any, **more: Any) -> Future[Any]:
            future = submit(*args, **more)
            self.pending.append(future)
            return future

        executor.submit = watched
        executor._thread_name_prefix = "phalanx-studio"

    def _drain(self) -> None:
        for _ in self.viewer:
            pass

    def deliver(self, message: bytes) -> None:
        """A message as if the viewer had sent it; a decoder that refuses it would close the connection."""
        try:
            decoded = self.socket._message_class.deserialize(message)
        except Exception:
            return
        for handler in (self.socket, self.connection):
            handled = handler._handle_incoming_message(self.connection.client_id, decoded)
            asyncio.run_coroutine_threadsafe(handled, self.loop).result(SECONDS)
        while self.pending:
            self.pending.pop().result(SECONDS)

    def check(self) -> None:
        """Everything is as a person could have left it."""
        page = self.page
        page.refresh()
        assert not self.raised, self.raised
        assert self.server.get_clients(), "the viewer is gone"
        assert page._clock.is_alive(), "the clock has stopped"
        assert np.isfinite(page.session.q).all(), "a coordinate is not finite"
        assert np.isfinite(page.session.push).all(), "a force is not finite"
        for slider, handle in page.robot_view.sliders:
            assert slider.lower - 1e-6 <= handle.value <= slider.upper + 1e-6, "a slider is outside its range"
        for view in (page.dynamics_view, page.parallel_view, page.compare_view):
            found, view.message.content = DEFECT.search(view.message.content), ""
            assert not found, found[0]


@cache
def watched() -> Watched:
    return Watched()


def studio(seed: int) -> None:
    """Some messages from a seed to the page."""
    rng, page = Random(f"studio {seed}"), watched()
    for _ in range(rng.choice((1, 1, 2, 4))):
        made = _message(rng, page)
        try:
            data = page.encode(made)
        except (TypeError, ValueError, OverflowError, RecursionError):
            continue  # what no message can hold
        if rng.random() < 0.05:
            data = bytes(b ^ (rng.random() < 0.02) << rng.randrange(8) for b in data)
        page.deliver(data)
    page.check()


def _value(rng: Random) -> Any:
    draw = rng.random()
    if draw < 0.4:
        return rng.choice(NUMBERS)
    if draw < 0.6:
        return rng.choice(WORDS)
    if draw < 0.7:
        return rng.choice(PRESSED)
    if draw < 0.85:
        return [rng.choice(NUMBERS) for _ in range(rng.choice((3, 3, 4, 0, 2)))]
    return anything(rng)


def _own(rng: Random, handle: Any) -> Any:
    """A value that an element may take."""
    options = getattr(handle, "options", None)
    if options:
        return rng.choice(options)
    if hasattr(handle, "min") and handle.min is not None:
        return rng.uniform(handle.min, handle.max) if isinstance(handle.value, float) else int(handle.min)
    if isinstance(handle.value, tuple):
        return [rng.uniform(-50, 50) for _ in range(3)]
    return rng.random() < 0.5


def _message(rng: Random, page: Watched) -> dict[str, Any]:
    if rng.random() < 0.65:
        return _update(rng, page)
    made = dict(rng.choice((CAMERA, *_scene(rng, page))))
    for name in list(made):
        if rng.random() < 0.1:
            made[name] = _value(rng)
        elif rng.random() < 0.02:
            del made[name]
    return made


def _update(rng: Random, page: Watched) -> dict[str, Any]:
    """A new value of an element, or of something else of it."""
    handles = page.server.gui._gui_input_handle_from_uuid
    uuid = rng.choice(list(handles))
    handle = handles[uuid]
    if getattr(handle, "label", "") in SLOW and rng.random() < 0.97:
        return {"type": "GuiUpdateMessage", "uuid": "nobody", "updates": {"value": True}}
    value = _own(rng, handle) if rng.random() < 0.4 else _value(rng)
    names = ("value", "update_cb", "removed", "sync_cb", "gui_api", "props", "uuid", "__class__", "is_button")
    updates: Any = {rng.choice(names) if rng.random() < 0.15 else "value": value}
    if rng.random() < 0.04:
        updates = _value(rng)
    return {
        "type": "GuiUpdateMessage",
        "uuid": uuid if rng.random() < 0.96 else _value(rng),
        "updates": updates,
    }


def _scene(rng: Random, page: Watched) -> list[dict[str, Any]]:
    """Clicks, drags and the like on nodes of the scene, and messages that the page has no use for."""
    name = rng.choice(list(page.server.scene._handle_from_node_name))
    place, turn = (0.1, 0.2, 0.3), (1.0, 0.0, 0.0, 0.0)
    pointer = {"ray_origin": place, "ray_direction": place, "screen_pos": (0.5, 0.5), "modifier": None}
    uuid = rng.choice(list(page.server.gui._gui_input_handle_from_uuid))
    return [
        {"type": "SceneNodeClickMessage", "name": name, "instance_index": None, **pointer, "owner": ""},
        {
            "type": "TransformControlsUpdateMessage",
            "name": "/push",
            "wxyz": turn,
            "position": place,
            "owner": "",
        },
        {"type": "TransformControlsDragStartMessage", "name": "/push", "owner": ""},
        {"type": "TransformControlsDragEndMessage", "name": "/push", "owner": ""},
        {"type": "ScenePointerMessage", "event_type": "click", **pointer, "screen_pos": ((0.5, 0.5),)},
        {"type": "GuiButtonHoldMessage", "uuid": uuid, "frequency": 10.0},
        {"type": "GuiFormSubmitMessage", "uuid": uuid},
        {"type": "CommandTriggerMessage", "uuid": uuid},
        {"type": "ShareUrlRequest"},
        {"type": "RemoveSceneNodeMessage", "name": name},
        {
            "type": "FileTransferStartUpload",
            "source_component_uuid": uuid,
            "transfer_uuid": "t",
            "filename": "../x",
            "mime_type": "text/plain",
            "part_count": rng.choice((0, 1, 10**9)),
            "size_bytes": rng.choice((0, 4, 10**15)),
        },
        {
            "type": "FileTransferPart",
            "source_component_uuid": uuid,
            "transfer_uuid": "t",
            "part_index": 0,
            "content": b"x",
        },
        {"type": rng.choice(("Message", "nothing", "GuiCloseModalMessage")), "uuid": uuid},
    ]
