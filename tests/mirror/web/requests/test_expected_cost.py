"""Which requests are expected to be slow."""

from mirror.web.requests import expected_cost
from mirror.web.requests.expected_cost import ExpectedCost, Names, names

SLOW_AFTER = 0.3
QUICK, SLOW = 0.001, 0.1


def _transactions(account: int) -> Names:
    return names("/api/v1/transactions", f"account.id=0.0.{account}&type=credit&limit=25")


def _expected(*noted: tuple[Names, float]) -> ExpectedCost:
    made = ExpectedCost(SLOW_AFTER)
    for request, seconds in noted:
        made.note(request, seconds)
    return made


def test_nothing_is_expected_of_the_first_request_of_its_kind():
    assert not _expected().is_slow(_transactions(5))


def test_a_request_that_was_slow_is_expected_to_be_so_again():
    assert _expected((_transactions(5), SLOW)).is_slow(_transactions(5))


def test_a_request_that_differs_from_a_slow_one_in_its_numbers_is_expected_to_be_slow():
    made = _expected((_transactions(5), SLOW))

    assert made.is_slow(_transactions(6))
    for path, query in (
        ("/api/v1/transactions", "account.id=gt:0.0.5&type=credit&limit=25"),
        ("/api/v1/transactions", "account.id=0.0.5&limit=25"),
        ("/api/v1/accounts", "account.id=0.0.5&type=credit&limit=25"),
    ):
        assert not made.is_slow(names(path, query))


def test_hashes_times_and_ids_are_numbers():
    ids = ("5", "0.0.5", "0x00ab12", "1bcd12ef", "1700000000.000000001", "0.0.5-1700000000-000000001")

    assert len({names(f"/api/v1/contracts/results/{text}", "")[1] for text in ids}) == 1


def test_one_quick_request_is_enough_for_the_next_ones_to_be_expected_to_be_quick():
    made = _expected(*[(_transactions(number), SLOW) for number in range(10)], (_transactions(10), QUICK))

    assert not made.is_slow(_transactions(11))


def test_a_slow_request_among_quick_ones_like_it_is_the_only_one_that_is_expected_to_be_slow():
    made = _expected(
        (_transactions(5), SLOW),
        *[(_transactions(number), QUICK) for number in range(6, 20)],
        (_transactions(5), SLOW),
    )

    assert made.is_slow(_transactions(5))
    assert not made.is_slow(_transactions(20))


def test_requests_that_have_become_slow_are_expected_to_be_so_after_some_of_them():
    made = _expected((_transactions(0), SLOW), (_transactions(0), QUICK))

    slow = []
    for number in range(1, 30):
        made.note(_transactions(number), SLOW)
        slow.append(made.is_slow(_transactions(100)))

    assert slow == sorted(slow)
    assert slow[0] is False
    assert slow[-1] is True


def test_requests_that_take_as_long_as_most_are_not_expected_to_be_slow():
    made = _expected(*[(_transactions(number), SLOW) for number in range(400)])
    assert not made.is_slow(_transactions(400))

    for number in range(400):
        made.note(names("/api/v1/blocks", f"limit={number}"), QUICK)
    assert made.is_slow(_transactions(400))


def test_only_so_many_requests_are_remembered_and_those_that_go_on_being_slow_are_among_them():
    made = ExpectedCost(SLOW_AFTER)
    steady = names("/api/v1/steady", "")
    for number in range(expected_cost._MOST):
        made.note(names("/api/v1/tokens", f"name=w{'x' * (number % 50)}q{'y' * (number // 50)}"), SLOW)
        made.note(steady, SLOW)
        made.note(names("/api/v1/blocks", ""), QUICK)

    assert len(made._seconds) == expected_cost._MOST
    assert made.is_slow(steady)


def test_quick_requests_are_not_remembered():
    made = _expected(*[(_transactions(number), QUICK) for number in range(100)])

    assert not made._seconds
