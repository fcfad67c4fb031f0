import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values import timestamp
from mirror.core.values.hapi.messages import Timestamp

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)


@given(st.integers(0, 9_999_999_999_999_999_999))
def test_text_reads_back_to_the_same_time(nanoseconds):
    assert timestamp.parse(timestamp.text(nanoseconds)) == nanoseconds


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0.000000000"),
        (1, "0.000000001"),
        (1_500_000_000, "1.500000000"),
        (-1_500_000_000, "-1.500000000"),
    ],
)
def test_text_has_nine_fraction_digits(nanoseconds, text):
    assert timestamp.text(nanoseconds) == text


def test_spring_endpoints_write_the_time_0_in_their_own_way():
    assert [timestamp.spring_text(at) for at in (0, 1, None)] == ["0.0", "0.000000001", None]
    assert timestamp.spring_range_json(0, None) == {"from": "0.0", "to": None}


def test_a_staking_period_is_the_day_that_follows_a_nanosecond():
    day = timestamp.spring_staking_period_json(1_699_919_999_999_999_999)
    assert day == {"from": "1699920000.000000000", "to": "1700006400.000000000"}


@pytest.mark.parametrize(
    ("nanoseconds", "later", "start"),
    [
        (1_700_000_000_000_000_000, 0, 1_698_796_800),
        (1_698_796_800_000_000_000, 0, 1_698_796_800),
        (1_698_796_799_999_999_999, 0, 1_696_118_400),
        (1_700_000_000_000_000_000, 1, 1_701_388_800),
        (1_700_000_000_000_000_000, 2, 1_704_067_200),
        (1_704_067_200_000_000_000, -1, 1_701_388_800),
        (0, -1, -2_678_400),
        ((1 << 63) - 1, 1, 9_225_014_400),
    ],
)
def test_months_start_at_midnight_utc(nanoseconds, later, start):
    assert timestamp.month_start(nanoseconds, later) == start * 1_000_000_000


def test_no_time_has_no_text():
    assert timestamp.text(None) is None


def test_a_short_fraction_is_filled_up_on_the_right():
    assert timestamp.parse("1.5") == 1_500_000_000
    assert timestamp.parse("1") == 1_000_000_000


@pytest.mark.parametrize(
    "text", ["", "1.", ".5", "-1", "1.0000000001", "12345678901", "1e3", "1,5", "1\n", "١"]
)
def test_other_text_is_not_a_time(text):
    with pytest.raises(timestamp.InvalidTimestamp):
        timestamp.parse(text)


def test_an_open_range_has_no_end():
    assert timestamp.range_json(1, None) == {"from": "0.000000001", "to": None}
    assert timestamp.range_json(1, 2) == {"from": "0.000000001", "to": "0.000000002"}


@pytest.mark.checklist("ENC-03")
@given(INT64, INT32)
def test_a_message_saturates_to_64_bits(seconds, nanos):
    exact = seconds * 10**9 + nanos

    assert timestamp.to_ns(Timestamp(seconds=seconds, nanos=nanos)) == min(
        max(exact, -(1 << 63)), (1 << 63) - 1
    )
