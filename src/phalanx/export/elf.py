# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Object files in ELF: how large their sections are, which symbols they lack, and what they tell linkers."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_MAGIC = b"\x7fELF\x01", b"\x7fELF\x02"  # of 32 and 64 bits
_SYMBOLS, _IN_MEMORY, _WRITABLE, _UNDEFINED = 2, 2, 1, 0
_ARM_ATTRIBUTES = 0x70000003
_VFP_ARGUMENTS, _EITHER_WAY = 28, 3


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
    rows, names_at = _sections(code)
    wide = code[4] == 2

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


def _sections(code: bytes) -> tuple[list[tuple[int, ...]], int]:
    """The table of sections, and which of them holds their names."""
    wide = code[4] == 2
    header = struct.unpack_from("<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH", code, 16)
    start, entry, count = header[5], header[10], header[11]
    form = "<IIQQQQIIQQ" if wide else "<IIIIIIIIII"
    return [struct.unpack_from(form, code, start + k * entry) for k in range(count)], header[12]


def for_either_abi(code: bytes) -> bytes:
    """An object file for 32-bit ARM that links with code of either convention for real arguments.

    Our functions have none, and without that attribute linkers take them to be of the other convention.
    """
    (start,) = struct.unpack_from("<I", code, 32)
    (entry,) = struct.unpack_from("<H", code, 46)
    for k, row in enumerate(_sections(code)[0]):
        if row[1] != _ARM_ATTRIBUTES:
            continue
        old = code[row[4] : row[4] + row[5]]
        # A letter; the length of what follows and the vendor's name; a tag and the length from there on.
        vendor = old.index(b"\0", 5) + 1
        inner = bytes([_VFP_ARGUMENTS, _EITHER_WAY])
        lengths = [struct.unpack_from("<I", old, at)[0] + len(inner) for at in (1, vendor + 1)]
        new = b"".join(
            [old[:1], struct.pack("<I", lengths[0]), old[5 : vendor + 1], struct.pack("<I", lengths[1])]
        )
        new += old[vendor + 5 :] + inner
        made = bytearray(code) + bytes(-len(code) % 4) + new
        struct.pack_into("<II", made, start + k * entry + 16, len(made) - len(new), len(new))
        return bytes(made)
    return code
