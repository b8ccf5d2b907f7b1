# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The hardened XML parser."""

from __future__ import annotations

import pytest

from phalanx.errors import PhalanxError
from phalanx.io.xml import parse, root_tag

LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "lol"}">' for i in range(10))


def test_elements_carry_tags_attributes_and_lines() -> None:
    root = parse('<?xml version="1.0"?>\n<a x="1">\n  <b/>text<!-- c -->\n  <c/><b y="2"/>\n</a>', source="f")
    assert (root.tag, root.attrib, root.line) == ("a", {"x": "1"}, 2)
    assert [(child.tag, child.line) for child in root] == [("b", 3), ("c", 4), ("b", 4)]
    second = list(root.findall("b"))[1]
    assert second.attrib == {"y": "2"}
    first = root.find("b")
    assert first is next(iter(root))
    assert root.find("z") is None


@pytest.mark.parametrize("text", ["\n\n  <?xml version='1.0'?><a/>", b"\n\n  <?xml version='1.0'?><a/>"])
def test_blank_lines_before_the_declaration_are_skipped_and_counted(text: str | bytes) -> None:
    assert parse(text, source="f").line == 3


def test_bytes_are_read_in_their_declared_encoding() -> None:
    text = '<?xml version="1.0" encoding="latin-1"?><a x="é"/>'
    assert parse(text.encode("latin-1"), source="f").attrib["x"] == "é"
    assert parse(text, source="f").attrib["x"] == "é"


@pytest.mark.parametrize("read", [parse, root_tag])
@pytest.mark.parametrize(
    "declaration",
    [
        f"<!DOCTYPE r [{LAUGHS}]>",
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE r SYSTEM "http://example.invalid/r.dtd">',
        "<!DOCTYPE r>",
    ],
)
def test_document_types_and_entities_are_refused_at_once(read, declaration: str) -> None:
    with pytest.raises(PhalanxError, match=r"^bomb\.urdf:2: .*document type or an entity.*Remove"):
        read(f'<?xml version="1.0"?>\n{declaration}<robot name="&l9;"/>', source="bomb.urdf")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", r"^f:1: not well-formed XML \(syntax error\)"),
        ("", r"^f:1: not well-formed XML \(no element found\)"),
        (b"\x00\x01\x02", r"^f:1: not well-formed XML"),
        ("<a>\n<b>\n</a>", r"^f:3: not well-formed XML \(mismatched tag\)"),
        ("<a>&undefined;</a>", r"^f:1: not well-formed XML \(undefined entity\)"),
        (b'<?xml version="1.0" encoding="klingon"?><a/>', r"^f.*encoding"),
        (b"<a x='\xff'/>", r"^f:1: not well-formed XML"),
        ("<a x='\ud800'/>", r"^f: not text"),
    ],
)
def test_what_is_not_xml_is_named_with_its_line(text: str | bytes, message: str) -> None:
    with pytest.raises(PhalanxError, match=message):
        parse(text, source="f")


def test_deep_nesting_needs_no_recursion() -> None:
    depth = 200_000
    element = parse("<a>" * depth + "</a>" * depth, source="f")
    for _ in range(depth - 1):
        (element,) = element.children
    assert element.children == []


def test_root_tag_reads_no_further_than_the_root() -> None:
    assert root_tag("<mujoco><unclosed>", source="f") == "mujoco"
    assert root_tag(b"<robot name='r'/>", source="f") == "robot"
