# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a scalar program to the instructions of a kernel: multiply-adds are chosen here.

No later stage reassociates or contracts anything, so every vector width computes the same
bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .ops import ADD, FMA, FMS, FNMA, MUL, SUB
from .scalar import Node
from .trace import TracedProgram


@dataclass(frozen=True)
class Instruction:
    """An operation on earlier instructions (by number) and constants (floats).

    It knows the quantity that it belongs to; a multiply-add has two, of its product and of its sum.
    """

    op: str
    args: tuple[Any, ...]
    quantity: str = ""
    of_product: str = ""


@dataclass(frozen=True)
class Code:
    """Instructions in order and, for each output, its instruction or constant."""

    instructions: list[Instruction]
    results: list[Any]


def instructions(program: TracedProgram, *, fused: bool = True) -> Code:
    """The instructions of a program; with `fused`, products that only feed sums join them."""
    nodes = in_depth_first_order(program)
    choice = _fusions(nodes, program.results) if fused else {}
    swallowed = {product.number for product in choice.values()}
    place: dict[int, int] = {}
    code: list[Instruction] = []

    def operand(x: Any) -> Any:
        return place[x.number] if type(x) is Node else x

    for node in nodes:
        if node.number in swallowed:
            continue
        product = choice.get(node.number)
        if product is None:
            args = node.args if node.op == "input" else tuple(operand(a) for a in node.args)
            made = Instruction(node.op, args, node.quantity)
        else:
            a, b = (operand(x) for x in product.args)
            first = node.args[0] is product
            other = operand(node.args[1] if first else node.args[0])
            op = FMA if node.op is ADD else FMS if first else FNMA
            made = Instruction(op, (a, b, other), node.quantity, product.quantity)
        place[node.number] = len(code)
        code.append(made)
    return Code(code, [operand(x) for x in program.results])


def fusions(program: TracedProgram) -> dict[int, Node]:
    """By the number of each sum that becomes a multiply-add, the product it swallows."""
    return _fusions(in_depth_first_order(program), program.results)


def in_depth_first_order(program: TracedProgram) -> list[Node]:
    """The live nodes so that each comes right before its first use, as deep operands first.

    The equations run quantity by quantity over all bodies; registers want body by body.
    """
    done: set[int] = set()
    order: list[Node] = []
    for root in program.results:
        if type(root) is not Node or root.number in done:
            continue
        stack: list[tuple[Node, int]] = [(root, 0)]
        while stack:
            node, k = stack.pop()
            if node.number in done:
                continue
            args = node.args
            while k < len(args):
                a = args[k]
                k += 1
                if type(a) is Node and a.number not in done:
                    stack.append((node, k))
                    stack.append((a, 0))
                    break
            else:
                done.add(node.number)
                order.append(node)
    return order


def _fusions(nodes: list[Node], results: list[Any]) -> dict[int, Node]:
    """For each sum that becomes a multiply-add, the product it swallows.

    A product disappears only if every use of it is a sum that swallows it.
    """
    users: dict[int, list[Node]] = {}
    for node in nodes:
        for a in node.args:
            if type(a) is Node:
                users.setdefault(a.number, []).append(node)
    kept = {x.number for x in results if type(x) is Node}
    able = {
        node.number: node
        for node in nodes
        if node.op is MUL
        and node.number not in kept
        and all(u.op in (ADD, SUB) and u.args[0] is not u.args[1] for u in users[node.number])
    }
    wish: dict[int, Node] = {}
    for node in nodes:
        if node.op in (ADD, SUB):
            products = [a for a in node.args if type(a) is Node and a.number in able]
            if products:
                # Of two products the one with fewer other uses; of equals the later one, whose
                # operands are ready last.
                wish[node.number] = min(products, key=lambda p: (len(users[p.number]), -p.number))
    changed = True
    while changed:
        changed = False
        for number, product in list(wish.items()):
            if any(wish.get(u.number) is not product for u in users[product.number]):
                del wish[number]
                changed = True
                node = next(n for n in users[product.number] if n.number == number)
                other = [a for a in node.args if type(a) is Node and a is not product and a.number in able]
                if other and all(u is node or wish.get(u.number) is other[0] for u in users[other[0].number]):
                    wish[number] = other[0]
    return wish
