"""Values of annotated types as JSON: back as they were, and of no other type."""

from collections import Counter, deque
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NamedTuple

import pytest

from mirror.core.processes.typed_json import InvalidContent, TypedJson


class Pair(NamedTuple):
    name: str
    value: bytes = b""


@dataclass(frozen=True, slots=True)
class Frozen:
    number: int


@dataclass
class Whole:
    pairs: list[Pair]
    counts: Counter[str]
    last: deque[int]
    named: dict[bytes, Frozen]
    seen: set[int] = field(default_factory=set)
    other: Frozen | Pair | None = None


WHOLE = Whole(
    [Pair("a", b"\0\xff"), Pair("ü")],
    Counter({"b": 2, "a": 1}),
    deque([1, 2], maxlen=2),
    {b"\1": Frozen(2**255)},
    {3, 1},
    Pair("c"),
)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Whole, WHOLE),
        (tuple[int, ...], (1, 2)),
        (tuple[str, bytes], ("", b"")),
        (int | str | None, None),
        (int | bytes, b"\1"),
        (float | None, 0.1),
        (HTTPStatus, HTTPStatus.NOT_FOUND),
        (bool, True),
    ],
)
def test_value_is_read_as_it_was_written(hint: Any, value: Any) -> None:
    form = TypedJson(hint)

    read = form.decode(form.encode(value))

    assert read == value
    assert type(read) is type(value)
    assert form.encode(read) == form.encode(value)


def test_limit_of_a_queue_and_order_of_a_dictionary_are_written() -> None:
    form = TypedJson(Whole)

    read = form.decode(form.encode(WHOLE))

    assert read.last.maxlen == 2
    assert list(read.counts) == ["b", "a"]


@pytest.mark.parametrize(
    ("hint", "content"),
    [
        (int, b"true"),
        (int, b"1.0"),
        (int, b'"1"'),
        (str, b"1"),
        (bool, b"1"),
        (bytes, b'"0g"'),
        (bytes, b"[1]"),
        (list[int], b'{"a":1}'),
        (list[int], b'"12"'),
        (tuple[int, int], b"[1]"),
        (tuple[int, int], b"[1,2,3]"),
        (dict[str, int], b'[["a"],[]]'),
        (dict[str, int], b'[[["a"]],[1]]'),
        (Frozen, b"[]"),
        (Frozen, b"[1,2]"),
        (Frozen, b"null"),
        (Pair, b'[1,""]'),
        (Frozen | Pair, b"[2,[1]]"),
        (Frozen | Pair, b"[-1,[1]]"),
        (Frozen | Pair, b"[true,[1]]"),
        (HTTPStatus, b"999"),
        (HTTPStatus, b"[]"),
        (int, b""),
        (int, b"9" * 10_000),
        (list[int], b"[" * 100_000),
        (str, b'"\xff"'),
    ],
)
def test_content_of_another_type_is_invalid(hint: Any, content: bytes) -> None:
    with pytest.raises(InvalidContent):
        TypedJson(hint).decode(content)


@pytest.mark.parametrize("hint", [object, Any, type(lambda: 0)])
def test_type_without_a_form_is_refused_before_anything_is_read(hint: Any) -> None:
    with pytest.raises(TypeError):
        TypedJson(hint)
