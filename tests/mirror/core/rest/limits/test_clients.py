"""Which requests come from one client."""

import pytest

from mirror.core.rest.limits.clients import client


def of(address: str, forwarded: str | None = None) -> dict[str, str]:
    forwarded_for = {} if forwarded is None else {"HTTP_X_FORWARDED_FOR": forwarded}
    return {"REMOTE_ADDR": address} | forwarded_for


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        (of("192.0.2.1"), of("192.0.2.1"), True),
        (of("192.0.2.1"), of("::ffff:192.0.2.1"), True),
        (of("192.0.2.1"), of("192.0.2.2"), False),
        (of("2001:db8::1"), of("2001:db8::ffff:0:0:1"), True),
        (of("2001:db8::1"), of("2001:db8:0:1::1"), False),
        # A proxy that is not trusted is the client.
        (of("192.0.2.1", "203.0.113.5"), of("192.0.2.1", "203.0.113.6"), True),
        (of("10.0.0.1", "203.0.113.5"), of("10.0.0.2", "203.0.113.5"), True),
        (of("10.0.0.1", "203.0.113.5"), of("10.0.0.1", "203.0.113.6"), False),
    ],
)
def test_a_client_is_an_address_or_a_network(settings_of, first, second, is_same):
    settings_of({"web.trustedProxies": ("10.0.0.0/8",)})
    assert (client(first) == client(second)) is is_same


def test_clients_without_a_rate_limit_are_exempt(settings_of):
    settings_of({"rest.rateLimit.exempt": ("192.0.2.0/24",)})
    assert client(of("192.0.2.1")).is_exempt
    assert not client(of("198.51.100.1")).is_exempt
