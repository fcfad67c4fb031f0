import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values import entity_id, transaction_id


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, (1 << 63) - 1))
def test_text_reads_back_to_the_same_id(payer, valid_start):
    assert transaction_id.parse(transaction_id.text(payer, valid_start)) == (payer, valid_start)


def test_nanoseconds_have_nine_digits_in_text_and_any_number_when_read():
    assert transaction_id.text(10, 1234567890_000000001) == "0.0.10-1234567890-000000001"
    assert transaction_id.parse("0.0.10-1234567890-1") == (10, 1234567890_000000001)
    assert transaction_id.parse(f"0.0.10-{(1 << 63) - 1}-1") == (10, ((1 << 63) - 1) * 10**9 + 1)


@pytest.mark.parametrize(
    ("text", "dashed"),
    [
        ("0.0.10@1.000000001", "0.0.10-1-000000001"),
        ("0.0.10-1-000000001", "0.0.10-1-000000001"),
        ("1.000000001", "1.000000001"),
    ],
    ids=["as wallets write it", "as the API does", "none"],
)
def test_an_id_may_be_spelled_in_two_ways(text, dashed):
    assert transaction_id.with_dashes(text) == dashed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.0.10",
        "10-1-1",
        "0.10-1-1",
        "0.0.10@1.1",
        "0.0.10-1",
        "0.0.10-1-1-1",
        "0.0.10-1-1234567890",
        "0.0.10--1-1",
        f"0.0.10-{1 << 63}-1",
    ],
)
def test_text_of_another_form_is_refused(text):
    with pytest.raises(transaction_id.InvalidTransactionId):
        transaction_id.parse(text)


@pytest.mark.parametrize("payer", ["1024.0.5", "0.65536.5", "0.0.274877906944", f"0.0.{'9' * 5000}"])
def test_a_payer_out_of_range_is_refused_as_an_entity_id(payer):
    with pytest.raises(entity_id.InvalidEntityId):
        transaction_id.parse(f"{payer}-1-1")
