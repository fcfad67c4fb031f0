"""RLP: what decodes encodes back to the same bytes, and nothing else decodes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.values import rlp
from mirror.values.rlp import Element

payloads = st.one_of(st.binary(max_size=70), st.binary(min_size=250, max_size=300))


@given(st.lists(st.builds(Element, st.booleans(), payloads)))
def test_elements_are_read_as_they_were_written(elements: list[Element]) -> None:
    assert rlp.elements(b"".join(map(rlp.encode, elements))) == elements


@given(st.binary(max_size=80))
def test_any_bytes_decode_to_what_encodes_to_them_or_are_refused(data: bytes) -> None:
    try:
        elements = rlp.elements(data)
    except rlp.InvalidRlp:
        return
    assert b"".join(map(rlp.encode, elements)) == data


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param("8105", "needless header", id="a small byte with a header"),
        pytest.param("b800", "shortest form", id="a long length of nothing"),
        pytest.param("b837" + "00" * 55, "shortest form", id="a long length of 55 bytes"),
        pytest.param("b90038" + "00" * 56, "shortest form", id="a length with a leading zero"),
        pytest.param("b9", "shortest form", id="a length cut off"),
        pytest.param("83aabb", "1 bytes longer than its data", id="a string cut off"),
        pytest.param("c3aabb", "longer than its data", id="a list cut off"),
    ],
)
def test_what_is_not_strict_is_refused(data: str, problem: str) -> None:
    with pytest.raises(rlp.InvalidRlp, match=problem):
        rlp.elements(bytes.fromhex(data))


def test_deep_nesting_does_not_matter() -> None:
    data = b""
    for _ in range(5_000):
        data = rlp.encode(Element(True, data))

    assert [element.is_list for element in rlp.elements(data)] == [True]
