# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What an object file in ELF holds: how large its sections are, and which symbols it lacks."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_MAGIC = b"\x7fELF\x01", b"\x7fELF\x02"  # of 32 and 64 bits
_SYMBOLS, _IN_MEMORY, _WRITABLE, _UNDEFINED = 2, 2, 1, 0


@dataclass(frozen=True)
class ObjectFile:
    """Sizes in bytes by names of sections that lie in memory, and names of undefined symbols."""

    sections: dict[str, int]
    writable: dict[str, int]
    undefined: list[str]

    @property
    def constant(self) -> int:
        """Bytes of code and constants: what takes flash memory."""
        return sum(self.sections.values()) - sum(self.writable.values())


def read_elf(code: bytes) -> ObjectFile | None:
    """What a relocatable little-endian file tells, None if it is in another format."""
    if not code.startswith(_MAGIC):
        return None
    wide = code[4] == 2
    header = struct.unpack_from("<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH", code, 16)
    start, entry, count, names_at = header[5], header[10], header[11], header[12]
    form = "<IIQQQQIIQQ" if wide else "<IIIIIIIIII"
    rows = [struct.unpack_from(form, code, start + k * entry) for k in range(count)]

    def text(section: int, at: int) -> str:
        begin = rows[section][4] + at
        return code[begin : code.index(b"\0", begin)].decode()

    sections, writable, undefined = {}, {}, []
    for name, kind, flags, _, at, size, link, _, _, each in rows:
        if flags & _IN_MEMORY:
            sections[text(names_at, name)] = size
            if flags & _WRITABLE:
                writable[text(names_at, name)] = size
        if kind == _SYMBOLS:
            for place in range(at + each, at + size, each):  # the first one means nothing
                symbol = struct.unpack_from("<IBBHQQ" if wide else "<IIIBBH", code, place)
                if symbol[3 if wide else 5] == _UNDEFINED:
                    undefined.append(text(link, symbol[0]))
    return ObjectFile(sections, writable, [name for name in undefined if name])
