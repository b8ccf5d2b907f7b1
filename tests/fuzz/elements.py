# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""XML as trees that can be damaged: elements dropped, doubled, moved, renamed; then text and bytes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from xml.sax.saxutils import escape, quoteattr

NUMBERS = (
    *("0", "-0", "1", "-1", "0.5", "1e-9", "1e-160", "5e-324", "1e-400", "1e8", "1e100", "1e150", "1e155"),
    *("1e200", "1e300", "-1e300", "1.7976931348623157e308", "1e309", "1e400", "nan", "-nan", "inf", "-inf"),
    *(
        "Infinity",
        "NaN",
        "",
        " ",
        "1 2",
        "1 2 3 4",
        "1,5",
        "1.0.0",
        "0x10",
        "1_000",
        "１２",
        "٣",
        "--1",
        "+1",
    ),
    *("1e", ".", "1d3", "true", "${pi}", "$(arg x)", "9" * 5000, "0." + "3" * 3000, "1\t2\n3", "\x0b1"),
)
WORDS = (
    *(
        "",
        " ",
        "a",
        "base",
        "link0",
        "link1",
        "joint0",
        "joint1",
        "world",
        "../../x",
        "/",
        "NaN",
        "-1",
        "None",
    ),
    *("é", "\u202e", "\x7f", "\x9b31m", "🦾", "ﬁ", "\u2028", "a\tb", "%s%n", "{name}", "${x}", "$(find p)"),
    *(
        "<&>\"'",
        "x" * 300,
        "x" * 100_000,
        "COM1",
        "con",
        "~",
        "*",
        "]]>",
        "--",
        "http://[",
        "\ufeff",
        "\ufffd",
    ),
)
_MOST_COPIED = 60  # elements: deeper trees are beyond Python's own copying
ENCODINGS = (
    *("utf-8", "UTF-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "ascii", "cp037", "cp1252"),
    *(
        "utf-7",
        "rot13",
        "hex",
        "base64",
        "idna",
        "punycode",
        "unicode_escape",
        "shift_jis",
        "gb18030",
        "big5",
    ),
    *("euc-jp", "iso2022_jp", "koi8-r", "mbcs", "no-such", "", "utf-8\x00", "x" * 300, "undefined", "zlib"),
)


@dataclass
class Node:
    """An element; attributes are pairs, so that one may come twice."""

    tag: str
    attributes: list[tuple[str, str]] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    text: str = ""

    def walk(self) -> Iterator[tuple[Node, Node | None]]:
        """All elements below and with this one, each with its parent."""
        stack: list[tuple[Node, Node | None]] = [(self, None)]
        while stack:
            node, parent = stack.pop()
            yield node, parent
            stack += [(child, node) for child in node.children]


def node(tag: str, *children: Node, **attributes: object) -> Node:
    """An element of these attributes; underscores before their names are dropped."""
    pairs = [(k.lstrip("_"), _text(v)) for k, v in attributes.items() if v is not None]
    return Node(tag, pairs, list(children))


def leaf(tag: str, value: object, **attributes: object) -> Node:
    """An element with text inside, as SDF has them."""
    made = node(tag, **attributes)
    made.text = _text(value)
    return made


def _text(value: object) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(_text, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def written(root: Node) -> str:
    """The text of a tree, without recursion: trees may be deeper than Python's stack."""
    parts: list[str] = []
    stack: list[Node | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        pairs = "".join(f" {k}={quoteattr(v)}" for k, v in item.attributes)
        if not item.children and not item.text:
            parts.append(f"<{item.tag}{pairs}/>\n")
            continue
        parts.append(f"<{item.tag}{pairs}>{escape(item.text)}")
        stack += [f"</{item.tag}>\n", *reversed(item.children)]
    return "".join(parts)


# ------------------------------------------------------------------- damage to the tree


def damage(root: Node, rng: Random) -> None:
    """Apply one random change to a tree."""
    places = list(root.walk())
    target, parent = rng.choice(places)
    others = [n for n, _ in places]
    rng.choice(_CHANGES)(target, parent, others, rng)


def _drop(target: Node, parent: Node | None, _: list[Node], rng: Random) -> None:
    if parent is not None:
        parent.children = [c for c in parent.children if c is not target]


def _double(target: Node, parent: Node | None, _: list[Node], rng: Random) -> None:
    if parent is not None and sum(1 for _ in target.walk()) < _MOST_COPIED:
        times = rng.choice((1, 1, 2, 50))
        parent.children += [copy.deepcopy(target) for _ in range(times)]


def _move(target: Node, parent: Node | None, others: list[Node], rng: Random) -> None:
    if parent is not None:
        inside = {id(n) for n, _ in target.walk()}
        places = [n for n in others if id(n) not in inside]
        parent.children = [c for c in parent.children if c is not target]
        rng.choice(places).children.insert(0, target)


def _shuffle(target: Node, _: Node | None, __: list[Node], rng: Random) -> None:
    rng.shuffle(target.children)


def _rename(target: Node, _: Node | None, others: list[Node], rng: Random) -> None:
    target.tag = rng.choice([rng.choice(others).tag, "x", "xacro:if", "gazebo", "include", "frame", "plugin"])


def _drop_attribute(target: Node, _: Node | None, __: list[Node], rng: Random) -> None:
    if target.attributes:
        del target.attributes[rng.randrange(len(target.attributes))]


def _double_attribute(target: Node, _: Node | None, __: list[Node], rng: Random) -> None:
    if target.attributes:
        target.attributes.append(rng.choice(target.attributes))


def _rename_attribute(target: Node, _: Node | None, others: list[Node], rng: Random) -> None:
    if target.attributes:
        k = rng.randrange(len(target.attributes))
        known = [name for n in others for name, _ in n.attributes]
        target.attributes[k] = (rng.choice([*known, "x", "xmlns:a", "a:b"]), target.attributes[k][1])


def _set_attribute(target: Node, _: Node | None, others: list[Node], rng: Random) -> None:
    if target.attributes:
        k = rng.randrange(len(target.attributes))
        name, old = target.attributes[k]
        known = [value for n in others for _, value in n.attributes]
        new = rng.choice([rng.choice(NUMBERS), rng.choice(WORDS), rng.choice(known), _renumbered(old, rng)])
        target.attributes[k] = (name, new)


def _renumbered(value: str, rng: Random) -> str:
    """A list of numbers with one of them replaced."""
    words = value.split() or [""]
    words[rng.randrange(len(words))] = rng.choice(NUMBERS)
    return " ".join(words)


def _set_text(target: Node, _: Node | None, others: list[Node], rng: Random) -> None:
    leaves = [n for n in others if n.text] or [target]
    place = rng.choice(leaves)
    place.text = rng.choice([rng.choice(NUMBERS), rng.choice(WORDS), _renumbered(place.text, rng)])


def _wrap(target: Node, parent: Node | None, _: list[Node], rng: Random) -> None:
    inner = Node(target.tag, target.attributes, target.children, target.text)
    for _ in range(rng.choice((1, 1, 3, 3000))):
        inner = Node(rng.choice(("x", target.tag, target.tag)), [], [inner])
    target.children = [inner]


def _widen(target: Node, _: Node | None, __: list[Node], rng: Random) -> None:
    target.attributes += [(f"a{k}", "1") for k in range(rng.choice((1, 1000)))]


_CHANGES: tuple[Callable[[Node, Node | None, list[Node], Random], None], ...] = (
    *(_drop, _double, _move, _shuffle, _rename, _drop_attribute, _double_attribute, _rename_attribute),
    *(_set_attribute, _set_attribute, _set_attribute, _set_attribute, _set_text, _wrap, _widen),
)


# ------------------------------------------------------------------- damage to the text and its bytes


def damaged_text(text: str, rng: Random) -> str:
    """A text with one random change that is none of its structure."""
    at = rng.randrange(len(text) + 1)
    match rng.randrange(10):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + text[at + rng.randrange(1, 20) :]
        case 2:
            return (
                text[:at]
                + rng.choice(("<", ">", "&", '"', "\x00", "\x1b", "]]>", "<!--", "&x;", "&#0;"))
                + text[at:]
            )
        case 3:
            return text + rng.choice(("\x00", "\n\n", "<x/>", text, "garbage", "\ufeff"))
        case 4:
            return rng.choice(("\ufeff", " ", "\n", "\x00", "<?xml version='1.0'?>", "<!-- -->", "#")) + text
        case 5:
            return _BOMB + text
        case 6:
            name = rng.choice(ENCODINGS)
            return f"<?xml version='1.0' encoding='{name}'?>" + text
        case 7:
            return text.replace("\n", rng.choice(("\r", "\r\n", "\n" * 50, "")))
        case 8:
            return text[:at] + rng.choice(("<![CDATA[x]]>", "<?x y?>", "text", "<!DOCTYPE x>")) + text[at:]
        case _:
            return text[:at] + rng.choice(WORDS) + text[at:]


_BOMB = (
    '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c SYSTEM "file:///etc/hostname">]>\n'
)


def damaged_bytes(text: str, rng: Random) -> bytes:
    """A text in some encoding, perhaps with some of its bytes changed."""
    try:
        data = text.encode(rng.choice(ENCODINGS), "replace")
    except (LookupError, UnicodeError, TypeError, ValueError):
        data = text.encode("utf-8", "surrogatepass")
    for _ in range(rng.choice((0, 0, 1, 5))):
        if data:
            at = rng.randrange(len(data))
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    return data[: rng.randrange(len(data) + 1)] if rng.random() < 0.1 else data
