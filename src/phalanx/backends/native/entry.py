# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Entries that Python calls without going through a ufunc: a state or a batch at little cost.

`direct(q, …, out)` checks that every argument is an array exactly as the block wants it, for one
state or one row of states, and answers True, or touches nothing and answers False. A batch runs
without the GIL. `shared(q, …, out, ticket)` does the same for a row of states that
several threads compute together: each takes the next few rows until none is left. `bound()` runs
the loop on arrays fixed beforehand. `objects` makes built-in functions of all three.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from . import objects
from .objects import ALIGNED, CONTIGUOUS, DTYPE, FALSE, FLAGS, NDIM, POINTER, SHAPE, TRUE, TYPE, WRITEABLE

# Words of a ticket: the next row that nobody has taken, rows done, where to end, rows to take at once.
TICKET = 4
# Looks at a batch that others are about to finish: some tens of microseconds, less than falling asleep.
_LOOKS = 1000
# Rows from which a bound step lets other threads run: some tens of microseconds.
_LONG = 256


def entries_text(shapes: Sequence[tuple[int, ...]], size: int, pause: str, *, told: bool = False) -> str:
    """LLVM text of the entries; the last shape is the output's, `pause` lets a waiting core rest.

    With `told` they hand on the address of what is told with a call, which stands in `self`.
    """
    return _direct(shapes, size, told) + _shared(shapes, size, pause, told) + _bound(told)


def _told(told: bool, place: int) -> tuple[str, str]:
    """Text that reads the address of what is told, and that address."""
    if not told:
        return "", "null"
    return f"%toldat = getelementptr i8, ptr %self, i64 {place}\n  %told = load ptr, ptr %toldat", "%told"


def _direct(shapes: Sequence[tuple[int, ...]], size: int, is_told: bool) -> str:
    get, told = _told(is_told, objects.TOLD)
    call = ", ".join(f"ptr %x{k}" for k in range(len(shapes))) + (f", ptr {told}" if is_told else "")
    return f"""
define ptr @direct(ptr %self, ptr %args, i64 %count) #0 {{
  {get}
  {_arguments(shapes)}
  br i1 %batched, label %many, label %alone
alone:
  call void @single({call})
  br label %answer
many:
  {_apart(shapes, size)}
  {_frame(shapes, size)}
  store i64 %rows, ptr %length
  {_store_pointers(shapes, "%x")}
  {_UNLOCK}
  call void @loop(ptr %pointers, ptr %length, ptr %strides, ptr {told})
  {_LOCK}
  br label %answer
no:
  br label %answer
answer:
  %which = phi i64 [ {TRUE}, %alone ], [ {TRUE}, %good ], [ {FALSE}, %no ]
  {_return()}
}}"""


def _shared(shapes: Sequence[tuple[int, ...]], size: int, pause: str, is_told: bool) -> str:
    """Take rows by a ticket until none is left, then wait a moment for the rows that others took.

    True if all rows are done. False if not yet, or, the ticket untouched, if the arrays do not fit.
    """
    moved = [
        f"%by{k} = mul i64 %start, {size * prod(shape)}\n  %from{k} = getelementptr i8, ptr %x{k}, i64 %by{k}"
        for k, shape in enumerate(shapes)
    ]
    newline = "\n  "
    get, told = _told(is_told, objects.TOLD)
    return f"""
define ptr @shared(ptr %self, ptr %args, i64 %count) #0 {{
  {get}
  {_arguments(shapes, ticket=True)}
  br i1 %batched, label %many, label %no
many:
  {_apart(shapes, size)}
  {_frame(shapes, size)}
  %donep = getelementptr i64, ptr %next, i64 1
  %endp = getelementptr i64, ptr %next, i64 2
  %grainp = getelementptr i64, ptr %next, i64 3
  %asked = load i64, ptr %endp
  %within = icmp slt i64 %asked, %rows
  %end = select i1 %within, i64 %asked, i64 %rows
  %grain = load i64, ptr %grainp
  {_UNLOCK}
  br label %take
take:
  %start = atomicrmw add ptr %next, i64 %grain acq_rel
  %left = sub i64 %end, %start
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %compute, label %wait
compute:
  %few = icmp slt i64 %left, %grain
  %taken = select i1 %few, i64 %left, i64 %grain
  store i64 %taken, ptr %length
  {newline.join(moved)}
  {_store_pointers(shapes, "%from")}
  call void @loop(ptr %pointers, ptr %length, ptr %strides, ptr {told})
  %earlier = atomicrmw add ptr %donep, i64 %taken acq_rel
  br label %take
wait:
  %look = phi i64 [ 0, %take ], [ %looked, %again ]
  %done = load atomic i64, ptr %donep acquire, align 8
  %all = icmp sge i64 %done, %end
  %tired = icmp eq i64 %look, {_LOOKS}
  %over = or i1 %all, %tired
  br i1 %over, label %leave, label %again
again:
  {pause}
  %looked = add i64 %look, 1
  br label %wait
leave:
  {_LOCK}
  %reply = select i1 %all, i64 {TRUE}, i64 {FALSE}
  br label %answer
no:
  br label %answer
answer:
  %which = phi i64 [ %reply, %leave ], [ {FALSE}, %no ]
  {_return()}
}}"""


def _arguments(shapes: Sequence[tuple[int, ...]], *, ticket: bool = False) -> str:
    """Look at the arguments: on to `no` unless all fit; %x0, %x1, … are their data, %next the ticket's."""
    n = len(shapes)
    last = n - 1
    order = [last, *range(last)]  # the output tells whether there is a batch
    lines = [
        f"%arrayp = getelementptr i8, ptr %self, i64 {objects.ARRAY}",
        "%array = load ptr, ptr %arrayp",
        f"%enough = icmp eq i64 %count, {n + ticket}",
        f"br i1 %enough, label %a{last}, label %no",
    ]
    for place, k in enumerate(order):
        following = f"a{order[place + 1]}" if place < last else f"a{n}" if ticket else "run"
        lines += [
            *_array_test(k, objects.NUMBER, WRITEABLE if k == last else 0),
            *_shape_test(k, shapes[k], last),
            f"br i1 %fits{k}, label %{following}, label %no",
        ]
    if ticket:
        lines += [
            *_array_test(n, objects.WHOLE, WRITEABLE),
            f"br i1 %df{n}, label %ticket, label %no",
            "ticket:",
            f"%np{n} = getelementptr i8, ptr %o{n}, i64 {NDIM}",
            f"%n{n} = load i32, ptr %np{n}",
            f"%row{n} = icmp eq i32 %n{n}, 1",
            f"br i1 %row{n}, label %words, label %no",
            "words:",
            f"%sp{n} = getelementptr i8, ptr %o{n}, i64 {SHAPE}",
            f"%s{n} = load ptr, ptr %sp{n}",
            f"%m{n} = load i64, ptr %s{n}",
            f"%fits{n} = icmp eq i64 %m{n}, {TICKET}",
            f"br i1 %fits{n}, label %valid, label %no",
            "valid:",
            f"%nextp = getelementptr i8, ptr %o{n}, i64 {POINTER}",
            "%next = load ptr, ptr %nextp",
            "br label %run",
        ]
    lines.append("run:")
    for k in range(n):
        lines += [f"%xp{k} = getelementptr i8, ptr %o{k}, i64 {POINTER}", f"%x{k} = load ptr, ptr %xp{k}"]
    return "\n  ".join(lines)


def _array_test(k: int, dtype: int, flag: int) -> list[str]:
    """Is argument k an array (no subclass) of a dtype of `self`, contiguous and aligned?"""
    flags = CONTIGUOUS | ALIGNED | flag
    return [
        f"a{k}:",
        f"%i{k} = getelementptr ptr, ptr %args, i64 {k}",
        f"%o{k} = load ptr, ptr %i{k}",
        f"%wp{k} = getelementptr i8, ptr %self, i64 {dtype}",
        f"%w{k} = load ptr, ptr %wp{k}",
        f"%tp{k} = getelementptr i8, ptr %o{k}, i64 {TYPE}",
        f"%t{k} = load ptr, ptr %tp{k}",
        f"%tq{k} = icmp eq ptr %t{k}, %array",
        f"br i1 %tq{k}, label %b{k}, label %no",
        f"b{k}:",
        f"%dp{k} = getelementptr i8, ptr %o{k}, i64 {DTYPE}",
        f"%d{k} = load ptr, ptr %dp{k}",
        f"%dq{k} = icmp eq ptr %d{k}, %w{k}",
        f"%fp{k} = getelementptr i8, ptr %o{k}, i64 {FLAGS}",
        f"%f{k} = load i32, ptr %fp{k}",
        f"%fm{k} = and i32 %f{k}, {flags}",
        f"%fq{k} = icmp eq i32 %fm{k}, {flags}",
        f"%df{k} = and i1 %dq{k}, %fq{k}",
    ]


def _shape_test(k: int, shape: tuple[int, ...], last: int) -> list[str]:
    """Has argument k the core shape, with at most one axis in front, as long as that of the output?"""
    lines = [
        f"%np{k} = getelementptr i8, ptr %o{k}, i64 {NDIM}",
        f"%n{k} = load i32, ptr %np{k}",
        f"%more{k} = sub i32 %n{k}, {len(shape)}",
    ]
    if k == last:
        lines += [
            f"%nq{k} = icmp ult i32 %more{k}, 2",
            f"%batched = icmp eq i32 %more{k}, 1",
            "%skip = select i1 %batched, i64 1, i64 0",
        ]
    else:
        lines.append(f"%nq{k} = icmp eq i32 %more{k}, %more{last}")
    lines += [
        f"%all{k} = and i1 %nq{k}, %df{k}",
        f"br i1 %all{k}, label %c{k}, label %no",
        f"c{k}:",
        f"%sp{k} = getelementptr i8, ptr %o{k}, i64 {SHAPE}",
        f"%s{k} = load ptr, ptr %sp{k}",
        # Without a batch any readable word will do: an array without axes has no shape.
        f"%rp{k} = select i1 %batched, ptr %s{k}, ptr %self",
        f"%rows{k} = load i64, ptr %rp{k}",
        f"%fits{k}_0 = icmp eq i64 %rows{k}, %rows{last}",
    ]
    for axis, length in enumerate(shape):
        lines += [
            f"%z{k}_{axis} = add i64 %skip, {axis}",
            f"%l{k}_{axis} = getelementptr i64, ptr %s{k}, i64 %z{k}_{axis}",
            f"%m{k}_{axis} = load i64, ptr %l{k}_{axis}",
            f"%e{k}_{axis} = icmp eq i64 %m{k}_{axis}, {length}",
            f"%fits{k}_{axis + 1} = and i1 %fits{k}_{axis}, %e{k}_{axis}",
        ]
    return [*lines, f"%fits{k} = and i1 %fits{k}_{len(shape)}, true"]


def _apart(shapes: Sequence[tuple[int, ...]], size: int) -> str:
    """On to `good` if there are %rows and the output overlaps no input, else to `no`."""
    last = len(shapes) - 1
    lines = [f"%rows = add i64 %rows{last}, 0", "%good0 = icmp sgt i64 %rows, 0"]
    for k, shape in enumerate(shapes):
        lines += [
            f"%bytes{k} = mul i64 %rows, {size * prod(shape)}",
            f"%end{k} = getelementptr i8, ptr %x{k}, i64 %bytes{k}",
        ]
    for k in range(last):
        lines += [
            f"%after{k} = icmp uge ptr %x{k}, %end{last}",
            f"%before{k} = icmp uge ptr %x{last}, %end{k}",
            f"%apart{k} = or i1 %after{k}, %before{k}",
            f"%good{k + 1} = and i1 %good{k}, %apart{k}",
        ]
    return "\n  ".join([*lines, f"br i1 %good{last}, label %good, label %no", "good:"])


def _frame(shapes: Sequence[tuple[int, ...]], size: int) -> str:
    """What the loop is given: %pointers, %length, and the %strides of contiguous rows."""
    inner = [size * prod(shape[axis + 1 :]) for shape in shapes for axis in range(len(shape))]
    steps = [size * prod(shape) for shape in shapes] + inner
    lines = [f"%pointers = alloca [{len(shapes)} x ptr]", "%length = alloca i64"]
    lines.append(f"%strides = alloca [{len(steps)} x i64]")
    for k, step in enumerate(steps):
        lines += [f"%y{k} = getelementptr i64, ptr %strides, i64 {k}", f"store i64 {step}, ptr %y{k}"]
    lines += [f"%at{k} = getelementptr ptr, ptr %pointers, i64 {k}" for k in range(len(shapes))]
    return "\n  ".join(lines)


def _store_pointers(shapes: Sequence[tuple[int, ...]], name: str) -> str:
    return "\n  ".join(f"store ptr {name}{k}, ptr %at{k}" for k in range(len(shapes)))


# Without the GIL, between these two.
_UNLOCK = f"""%savep = getelementptr i8, ptr %self, i64 {objects.SAVE}
  %save = load ptr, ptr %savep
  %restorep = getelementptr i8, ptr %self, i64 {objects.RESTORE}
  %restore = load ptr, ptr %restorep
  %thread = call ptr %save()"""
_LOCK = "call void %restore(ptr %thread)"


def _bound(is_told: bool) -> str:
    get, told = _told(is_told, objects.BOUND_TOLD)
    return f"""
define ptr @bound(ptr %self, ptr %nothing) #0 {{
  {get}
  %noneat = getelementptr i8, ptr %self, i64 {objects.NONE}
  %none = load ptr, ptr %noneat
  %argsat = getelementptr i8, ptr %self, i64 {objects.ARGUMENTS}
  %args = load ptr, ptr %argsat
  %dimsat = getelementptr i8, ptr %self, i64 {objects.DIMENSIONS}
  %dims = load ptr, ptr %dimsat
  %stepsat = getelementptr i8, ptr %self, i64 {objects.STEPS}
  %steps = load ptr, ptr %stepsat
  %rows = load i64, ptr %dims
  %long = icmp sge i64 %rows, {_LONG}
  br i1 %long, label %many, label %few
few:
  call void @loop(ptr %args, ptr %dims, ptr %steps, ptr {told})
  br label %answer
many:
  {_UNLOCK}
  call void @loop(ptr %args, ptr %dims, ptr %steps, ptr {told})
  {_LOCK}
  br label %answer
answer:
  {_new_reference("%none")}
  ret ptr %none
}}"""


def _new_reference(name: str) -> str:
    """Count a reference to None, True or False where they are counted."""
    if not objects.COUNTED:
        return ""
    return f"""%countat = getelementptr i8, ptr {name}, i64 {objects.COUNT}
  %count0 = load i64, ptr %countat
  %count1 = add i64 %count0, 1
  store i64 %count1, ptr %countat"""


def _return() -> str:
    """Return the object at %which of `self`."""
    return f"""%place = getelementptr i8, ptr %self, i64 %which
  %object = load ptr, ptr %place
  {_new_reference("%object")}
  ret ptr %object"""
