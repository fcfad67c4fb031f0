"""The connections by which a request may have come."""

from mirror.web.requests.connections import Connection, may_be

ARRIVED = 1000.0
# It had been open for a while.
OWN = Connection("192.0.2.1", 5001, ARRIVED - 30, ARRIVED - 0.001)


def _is_among(own: Connection) -> bool:
    """Return whether its own connection is seen beside one that came at the same time."""
    other = Connection("192.0.2.1", 5000, ARRIVED - 60, ARRIVED)
    return own.port in may_be([other, own], ARRIVED)


def test_a_request_came_by_a_connection_that_received_something_just_before():
    assert _is_among(OWN)


def test_a_busy_process_takes_over_a_request_a_while_after_it_came():
    assert _is_among(OWN._replace(received=ARRIVED - 0.2))


def test_a_request_may_have_been_sent_long_before_the_answer_to_the_one_before_it():
    assert _is_among(OWN._replace(received=ARRIVED - 5, sent=ARRIVED - 0.001))


def test_further_requests_may_follow_by_the_same_connection():
    assert _is_among(OWN._replace(received=ARRIVED + 0.2))


def test_a_connection_that_rests_was_opened_later_or_has_been_answered_since_is_another_one():
    assert not _is_among(OWN._replace(received=ARRIVED - 20))
    assert not _is_among(OWN._replace(sent=ARRIVED + 0.3, received=ARRIVED + 0.3))
    assert not _is_among(OWN._replace(sent=ARRIVED + 0.3))
