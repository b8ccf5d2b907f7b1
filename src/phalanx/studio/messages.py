# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Messages to the page's server: what elements of the page can send passes, everything else is dropped.

viser believes a message: it sets any attribute of an element that one names, to any value that can be
converted. So a program on this machine could leave a choice that no list has, a coordinate that is NaN, or
an element without callbacks, and exceptions of Python on the screen.
"""

from __future__ import annotations

import math
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_MOST = 1e12  # of a number; forces and places beyond have no picture
_LONGEST = 10_000  # characters of a word
_SENT = {
    "GuiUpdateMessage",
    "SceneNodeClickMessage",
    "TransformControlsUpdateMessage",
    "TransformControlsDragStartMessage",
    "TransformControlsDragEndMessage",
    "ViewerCameraMessage",
}


def guard(server: Any) -> None:
    """Let a server of viser, and each of its connections, see only what elements of the page can send."""
    socket = server._websock_server
    _filter(socket, server)
    socket.on_client_connect(lambda connection: _filter(connection, server))


def _filter(handler: Any, server: Any) -> None:
    plain = handler._handle_incoming_message

    async def guarded(client: Any, message: Any) -> None:
        if is_of_page(server, message):
            await plain(client, message)

    handler._handle_incoming_message = guarded


def is_of_page(server: Any, message: Any) -> bool:
    """Whether an element of the page could have sent a message."""
    kind: Any = type(message)
    if kind.__name__ not in _SENT:
        return False
    if not all(_fits(getattr(message, name), hint) for name, hint in _fields(kind)):
        return False
    if kind.__name__ == "GuiUpdateMessage":
        handle = server.gui._gui_input_handle_from_uuid.get(message.uuid)
        return handle is not None and message.updates.keys() == {"value"} and _takes(handle, message.updates)
    if kind.__name__ == "ViewerCameraMessage":
        return min(message.image_height, message.image_width) > 0
    return True


@cache
def _fields(kind: Any) -> list[tuple[str, Any]]:
    """Names and types of what a message consists of."""
    hints = get_type_hints(kind)
    return [(name, hints[name]) for name in kind.__dataclass_fields__ if name in hints]


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is what a type says, numbers being finite and no larger than any picture."""
    parts = get_args(hint)
    match get_origin(hint) or hint:
        case origin if origin is Union or origin is UnionType:
            return any(_fits(value, part) for part in parts)
        case origin if origin is Literal:
            return isinstance(value, str) and value in parts
        case origin if origin is tuple:
            parts = parts[:1] * len(value) if parts[-1:] == (...,) and isinstance(value, tuple) else parts
            return isinstance(value, tuple) and len(value) == len(parts) and all(map(_fits, value, parts))
        case origin if origin is float:
            return _is_number(value)
        case origin if origin is int:
            return _is_number(value) and isinstance(value, int)
        case origin if origin is str:
            return isinstance(value, str) and len(value) <= _LONGEST
    return isinstance(value, get_origin(hint) or hint)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MOST


def _takes(handle: Any, updates: dict[str, Any]) -> bool:
    """Whether a new value is one that an element lets people choose."""
    import viser

    value = updates["value"]
    match handle:
        case viser.GuiSliderHandle() | viser.GuiNumberHandle():
            return _is_number(value) and _is_within(value, handle.min, handle.max)
        case viser.GuiCheckboxHandle() | viser.GuiButtonHandle():
            return isinstance(value, bool)
        case viser.GuiDropdownHandle() | viser.GuiButtonGroupHandle():
            return isinstance(value, str) and value in handle.options
        case viser.GuiVector3Handle():
            return isinstance(value, list | tuple) and len(value) == 3 and all(map(_is_number, value))
    return False


def _is_within(value: float, least: float | None, most: float | None) -> bool:
    lower, upper = -math.inf if least is None else least, math.inf if most is None else most
    spare = 1e-9 * (upper - lower) if math.isfinite(upper - lower) else 0.0  # browsers round
    return lower - spare <= value <= upper + spare
