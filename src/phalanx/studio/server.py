# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""viser's server, closed to everybody but this machine's own page.

It listens on the loopback address, takes connections only from pages that it has served itself (any page in
the same browser could open a socket to it otherwise), forbids its page every request elsewhere, and cannot
ask for a public address.
"""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import PhalanxError

HOST = "127.0.0.1"
_LOCK = threading.Lock()  # while functions of `websockets` are replaced


def start(port: int | None, label: str) -> Any:
    """A `viser.ViserServer` on a port, a free one unless told; raises where the port is taken."""
    try:
        import viser
        from viser import _messages
    except ImportError as error:
        raise PhalanxError(
            f'studio: needs the package {error.name}, which is not installed; pip install "phalanx[studio]".'
        ) from None
    number = _free_port(port)
    with _LOCK, _guarded(number), contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=HOST, port=number, label=label, verbose=False)
    if server.get_port() != number:
        server.stop()
        raise PhalanxError(f"studio: port {number} was taken meanwhile; choose another with --port.")
    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        # A page could make this process ask a server on the network for a public address.
        server._websock_server.unregister_handler(message)
    return server


def stop(server: Any) -> None:
    """Close all connections and threads, without a word."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(RuntimeError):
        server.stop()


def policy(port: int) -> str:
    """The content security policy of the page: itself, its own socket, and nothing else.

    viser's client is one file with its scripts inline, whose WebAssembly parts make functions from text.
    """
    own = f"http://{HOST}:{port} ws://{HOST}:{port}"
    return (
        "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; "
        "style-src 'unsafe-inline'; img-src 'self' data: blob:; font-src data:; "
        f"connect-src {own} data: blob:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


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
def _guarded(port: int) -> Iterator[None]:
    """While it lasts, servers of `websockets` check who connects, and tell pages the policy."""
    import websockets.asyncio.server as module

    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # refusals are no news
    plain: Any = module.serve
    origins = [f"http://{HOST}:{port}"]

    def serve(*args: Any, process_request: Any = None, **more: Any) -> Any:
        return plain(*args, process_request=_with_policy(process_request, port), origins=origins, **more)

    module.serve = serve  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        module.serve = plain  # type: ignore[misc]


def _with_policy(inner: Callable[..., Any], port: int) -> Callable[..., Any]:
    def answer(connection: Any, request: Any) -> Any:
        host = request.headers.get("Host", "")
        if host != f"{HOST}:{port}":  # another name for this machine, or a page that rebinds its own
            return connection.respond(421, "this page is only for the machine it runs on\n")
        response = inner(connection, request)
        if response is not None:
            for name, value in _headers(port).items():
                response.headers[name] = value
        return response

    return answer


def _headers(port: int) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy(port),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
