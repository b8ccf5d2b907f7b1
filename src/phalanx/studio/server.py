# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""viser's server, closed to everybody but this machine's own page.

It listens on the loopback address, takes connections only from pages that it has served itself (any page in
the same browser could open a socket to it otherwise), forbids its page all requests to other hosts, cannot
ask for a public address, and drops messages that no element of its page sends. Before viser's client come
a short style and a script of ours (`assets/client.css`, `assets/client.js`).
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import logging
import math
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ..errors import PhalanxError, installing

HOST = "127.0.0.1"
_LOCK = threading.Lock()  # while functions of `websockets` are replaced


def start(port: int | None, label: str, names: Sequence[str] = ("",)) -> Any:
    """A `viser.ViserServer` on a port, a free one by default; raises where the port is taken.

    `names` are what the page shows of each link under the pointer, that of the base last.
    """
    try:
        import viser
        from viser import _messages
    except ImportError as error:
        raise PhalanxError(
            f"studio: needs the package {error.name}, which is not installed; {installing('studio')}."
        ) from None
    number = _free_port(port)
    with _LOCK, _guarded(number, script(names)), contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=HOST, port=number, label=label, verbose=False)
    if server.get_port() != number:
        server.stop()
        raise PhalanxError(f"studio: port {number} was taken meanwhile; choose another with --port.")
    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        # A page could make this process ask a server on the network for a public address.
        server._websock_server.unregister_handler(message)
    guard(server)
    return server


def stop(server: Any) -> None:
    """Close all connections and threads, without printing."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(RuntimeError):
        server.stop()


def policy(port: int) -> str:
    """The content security policy of the page: itself, its own socket, and nothing else.

    viser's client is one file with its scripts inline, whose WebAssembly parts create functions from strings.
    """
    own = f"http://{HOST}:{port} ws://{HOST}:{port}"
    return (
        "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; "
        "style-src 'unsafe-inline'; img-src 'self' data: blob:; font-src data:; "
        f"connect-src {own} data: blob:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def script(names: Sequence[str]) -> bytes:
    """The style and the script of the page as elements, with names escaped so that they cannot end them."""
    data = json.dumps(list(names)).replace("<", "\\u003c")
    assets = files(__package__).joinpath("assets")
    style = assets.joinpath("client.css").read_text(encoding="utf-8")
    code = assets.joinpath("client.js").read_text(encoding="utf-8")
    return f"<style>{style}</style><script>{code.replace('NAMES', data)}</script>".encode()


def _free_port(port: int | None) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port or 0))
        except OSError as error:
            raise PhalanxError(
                f"studio: port {port} of {HOST} cannot be used ({error.strerror}); choose another one."
            ) from None
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _guarded(port: int, added: bytes) -> Iterator[None]:
    """A context in which servers of `websockets` check who connects, and send pages with the policy."""
    import websockets.asyncio.server as module

    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # do not log refused connections
    plain: Any = module.serve
    origins = [f"http://{HOST}:{port}"]

    def serve(*args: Any, process_request: Any = None, **more: Any) -> Any:
        answer = _with_policy(process_request, port, added)
        return plain(*args, process_request=answer, origins=origins, **more)

    module.serve = serve  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        module.serve = plain  # type: ignore[misc]


def _with_policy(inner: Callable[..., Any], port: int, added: bytes) -> Callable[..., Any]:
    def answer(connection: Any, request: Any) -> Any:
        host = request.headers.get("Host", "")
        if host != f"{HOST}:{port}":  # another name for this machine, or a page that rebinds its own
            return connection.respond(421, "this page is only for the machine it runs on\n")
        response = inner(connection, request)
        if response is not None:
            if response.headers.get("Content-Type", "").startswith("text/html"):
                _insert(response, added)
            for name, value in _headers(port).items():
                response.headers[name] = value
        return response

    return answer


def _insert(response: Any, added: bytes) -> None:
    """Put an element first into the head of a page."""
    packed = response.headers.get("Content-Encoding") == "gzip"
    body = gzip.decompress(response.body) if packed else response.body
    body = body.replace(b"<head>", b"<head>" + added, 1)
    for name, value in {"Content-Encoding": "identity", "Content-Length": str(len(body))}.items():
        del response.headers[name]
        response.headers[name] = value
    response.body = body


def _headers(port: int) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy(port),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


_MOST = 1e12  # of a number; forces and positions beyond cannot be drawn
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
    """Make a viser server, and its connections, drop messages that no element of the page can send."""
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
    """The names and types of a message's fields."""
    hints = get_type_hints(kind)
    return [(name, hints[name]) for name in kind.__dataclass_fields__ if name in hints]


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value has a type; numbers must be finite and at most `_MOST` in size."""
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
    """Whether a new value is one that the element offers."""
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
