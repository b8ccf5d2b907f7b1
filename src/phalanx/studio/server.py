# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""viser's server, closed to everybody but this machine's own page.

It listens on the loopback address, takes connections only from pages that it has served itself (any page in
the same browser could open a socket to it otherwise), forbids its page every request elsewhere, cannot
ask for a public address, and drops messages that no element of its page sends. Before viser's client come
a short style and a script of ours (`assets/client.css`, `assets/client.js`).
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any

from ..errors import PhalanxError, installing
from .messages import guard

HOST = "127.0.0.1"
_LOCK = threading.Lock()  # while functions of `websockets` are replaced


def start(port: int | None, label: str, names: Sequence[str] = ("",)) -> Any:
    """A `viser.ViserServer` on a port, a free one unless told; raises where the port is taken.

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


def script(names: Sequence[str]) -> bytes:
    """The style and the script of the page as elements, with names as text that cannot end them."""
    told = json.dumps(list(names)).replace("<", "\\u003c")
    assets = files(__package__).joinpath("assets")
    style = assets.joinpath("client.css").read_text(encoding="utf-8")
    code = assets.joinpath("client.js").read_text(encoding="utf-8")
    return f"<style>{style}</style><script>{code.replace('NAMES', told)}</script>".encode()


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
    """While it lasts, servers of `websockets` check who connects, and tell pages the policy."""
    import websockets.asyncio.server as module

    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # refusals are no news
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
