"""The connections by which a request may have come."""

import pytest

from mirror.web.requests.connections import Connection, candidate_ports

ARRIVED = 1000.0
# It had been open for a while.
OWN = Connection("192.0.2.1", 5001, 0, ARRIVED - 30, ARRIVED - 0.001)


def _is_among(own: Connection) -> bool:
    """Return whether its own connection is seen beside one that came at the same time."""
    other = Connection("192.0.2.1", 5000, 0, ARRIVED - 60, ARRIVED)
    return own.port in candidate_ports([other, own], ARRIVED)


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(OWN, id="received just before"),
        pytest.param(OWN._replace(received=ARRIVED - 0.2), id="taken over late by a busy process"),
        pytest.param(
            OWN._replace(received=ARRIVED - 5, sent=ARRIVED - 0.001),
            id="before the last answer",
        ),
        pytest.param(OWN._replace(received=ARRIVED + 0.2), id="further requests have followed"),
    ],
)
def test_a_request_may_have_come_by_a_connection(own):
    assert _is_among(own)


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(OWN._replace(received=ARRIVED - 20), id="rests"),
        pytest.param(OWN._replace(sent=ARRIVED + 0.3, received=ARRIVED + 0.3), id="opened later"),
        pytest.param(OWN._replace(sent=ARRIVED + 0.3), id="answered since"),
    ],
)
def test_a_request_came_by_another_connection(own):
    assert not _is_among(own)
