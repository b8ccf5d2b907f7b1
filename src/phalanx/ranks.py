# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The ranks of an MPI job, which notice within a second when one of them ends.

MPI does not say that a rank was killed: whoever waits for its message waits forever. So every rank holds a
TCP connection to rank 0, which the operating system closes with the process, however it ends; rank 0 tells
the others.
"""

from __future__ import annotations

import atexit
import os
import pickle
import selectors
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from secrets import token_bytes
from typing import Any

import numpy as np

from .errors import PhalanxError, installing, warn

_FIRST = 600.0  # seconds until all ranks have come to their first exchange: some may still build robots
_SILENT = 60.0  # seconds without a message after which ranks give up that cannot watch each other
_GRACE = 1.0  # seconds in which messages of a rank that has ended may still arrive
_CONNECT = 10.0  # seconds for connections
_LOOKS = 100  # polls of a request before others may have the core
_HELLO = struct.Struct("<16si")  # token, rank
_NEWS = struct.Struct("<ic")  # rank, how it ended
_BYE, _DIED = b"b", b"d"
_HOW = {_BYE: "has ended", _DIED: "was killed or has crashed"}
_LONGEST = 4096  # bytes of a first message

_known: dict[int, Ranks] = {}  # by the handle of a communicator


def ranks(comm: Any, where: str) -> Ranks:
    """The ranks of an mpi4py communicator, by default of the whole job; all of them must call this."""
    if comm is None:
        try:
            from mpi4py import MPI
        except ImportError:
            raise PhalanxError(
                f"{where}: MPI needs the package mpi4py, which is not installed; {installing('mpi')}."
            ) from None
        comm = MPI.COMM_WORLD
    for name in ("Get_rank", "Get_size", "Iallgather", "py2f"):
        if not hasattr(comm, name):
            raise PhalanxError(
                f"{where}: comm is {type(comm).__name__}, expected a communicator of mpi4py such as "
                "MPI.COMM_WORLD."
            )
    handle = comm.py2f()
    if handle not in _known:
        _known[handle] = Ranks(comm, where)
    return _known[handle]


class Ranks:
    """The ranks of a communicator; waiting for messages raises on all of them when one has ended."""

    def __init__(self, comm: Any, where: str) -> None:
        self.comm, self.rank, self.size = comm, comm.Get_rank(), comm.Get_size()
        self._ended: dict[int, bytes] = {}
        self._since = float("inf")  # when the first one was known to have ended
        self._limit = _FIRST
        self._connections: dict[socket.socket, int] = {}
        self._changes = threading.Lock()
        if self.size > 1:
            self._watch(where)

    # ------------------------------------------------------------- messages

    def wait(self, request: Any, where: str, what: str) -> None:
        """Wait until a request is done; raise if a rank that it needs has ended."""
        looks, begun = 0, time.monotonic()
        while not request.Test():
            looks += 1
            if looks < _LOOKS:
                continue
            _yield()
            now = time.monotonic()
            if now - self._since > _GRACE:
                raise PhalanxError(f"{where}: {self._who()}; {what} cannot come.")
            if now - begun > self._limit:
                raise PhalanxError(f"{where}: {what} did not come within {self._limit:.0f} s.")

    def gather(self, own: np.ndarray, where: str, what: str) -> np.ndarray:
        """The arrays of all ranks (size, …), on every rank; all have the same shape."""
        every = np.empty((self.size, *own.shape), own.dtype)
        if self.size == 1:
            every[0] = own
        else:
            self.wait(self.comm.Iallgather(np.ascontiguousarray(own), every), where, what)
        return every

    def gather_bytes(self, own: bytes, where: str, what: str) -> list[bytes]:
        """The bytes of every rank, of any length, on every rank."""
        sizes = self.gather(np.array([len(own)], np.int64), where, what)[:, 0]
        padded = np.frombuffer(own.ljust(int(sizes.max()), b"\0"), np.uint8)
        return [
            row[:size].tobytes() for row, size in zip(self.gather(padded, where, what), sizes, strict=True)
        ]

    def _who(self) -> str:
        with self._changes:
            ended = sorted(self._ended.items())
        ended = [(rank, how) for rank, how in ended if how == _DIED] or ended
        return " and ".join(f"rank {rank} {_HOW[how]}" for rank, how in ended)

    # ------------------------------------------------------------- who is still there

    def _watch(self, where: str) -> None:
        """Connect all ranks with rank 0; without connections only a timeout shows that a rank has ended."""
        what = "the first message of all ranks"
        server = socket.create_server(("", 0)) if self.rank == 0 else None
        token = token_bytes(16)
        port = server.getsockname()[1] if server is not None else 0
        own = pickle.dumps((socket.gethostname(), _addresses(), port, token)).ljust(_LONGEST, b"\0")
        first = self.gather(np.frombuffer(own, np.uint8), where, what)[0].tobytes()
        host, addresses, port, token = pickle.loads(first)
        try:
            if server is not None:
                self._accept(server, token)
            else:
                near = ["127.0.0.1"] if host == socket.gethostname() else []
                self._connect([*near, *addresses], port, token)
            connected = 1
        except OSError:
            connected = 0
        self._limit = _FIRST
        if self.gather(np.array([connected]), where, what).all():
            threading.Thread(target=self._listen, name="ranks", daemon=True).start()
            atexit.register(self._leave)
            self._limit = float("inf")
            return
        self._limit = _SILENT
        warn(
            f"{where}: ranks cannot connect to rank 0 on {host} by TCP; if one is killed, the others notice "
            f"only after {_SILENT:.0f} s without a message."
        )

    def _accept(self, server: socket.socket, token: bytes) -> None:
        deadline = time.monotonic() + _CONNECT
        with server:
            while len(self._connections) < self.size - 1:
                server.settimeout(max(deadline - time.monotonic(), 0.01))
                connection, _ = server.accept()
                connection.settimeout(_CONNECT)
                try:
                    sent, rank = _HELLO.unpack(_exactly(connection, _HELLO.size))
                except OSError:
                    sent, rank = b"", 0
                if sent == token:
                    connection.settimeout(None)
                    self._connections[connection] = rank
                else:  # a stranger
                    connection.close()

    def _connect(self, addresses: list[str], port: int, token: bytes) -> None:
        for address in addresses:
            with suppress(OSError):
                connection = socket.create_connection((address, port), timeout=_CONNECT)
                connection.settimeout(None)
                connection.sendall(_HELLO.pack(token, self.rank))
                self._connections[connection] = 0
                return
        raise OSError("no address of rank 0 can be reached")

    def _listen(self) -> None:
        """Note which ranks end; rank 0 passes it on."""
        with selectors.DefaultSelector() as selector:
            for connection in self._connections:
                selector.register(connection, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    try:
                        news = _exactly(source, _NEWS.size)
                    except OSError:
                        selector.unregister(source)
                        news = _NEWS.pack(self._connections[source], _DIED)
                    self._note(*_NEWS.unpack(news))

    def _note(self, rank: int, how: bytes) -> None:
        with self._changes:
            if rank in self._ended or rank == self.rank:
                return
            self._ended[rank] = how
            self._since = min(self._since, time.monotonic())
        if self.rank == 0:
            self._announce(rank, how)

    def _announce(self, rank: int, how: bytes) -> None:
        for connection in self._connections:
            with suppress(OSError):
                connection.sendall(_NEWS.pack(rank, how))

    def _leave(self) -> None:
        """At the end of the process: say so; if a rank was killed, end the job, which MPI could not."""
        self._announce(self.rank, _BYE)
        with self._changes:
            lost = _DIED in self._ended.values()
        if lost:
            sys.stdout.flush()
            sys.stderr.flush()
            time.sleep(_GRACE)  # others say what they have seen
            self.comm.Abort(1)


def _exactly(connection: socket.socket, count: int) -> bytes:
    """Exactly `count` bytes; an OSError if the connection ends first."""
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError("the connection has ended")
        data += more
    return data


def _addresses() -> list[str]:
    """The addresses by which other machines may reach this one."""
    name = socket.gethostname()
    with suppress(OSError):
        found = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)
        return list(dict.fromkeys([name, *(str(address[0]) for *_, address in found)]))
    return [name]


def _yield() -> None:
    """Yield the core to other processes."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0.0)
