"""What trusted proxies say of a client is believed, and what anybody else says is not."""

import pytest

from mirror.core.config import reverse_proxies
from mirror.core.config.setting import InvalidSetting

TRUSTED = ("10.0.0.0/8", "127.0.0.1", "2001:db8::/32")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.1.2.3", "192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", "192.0.2.7:4711", "192.0.2.7"),
        ("2001:db8::1", "[2001:0db9::7]:4711", "2001:db9::7"),
        ("::ffff:10.1.2.3", "::ffff:192.0.2.7", "192.0.2.7"),
        ("10.1.2.3", "192.0.2.7, 10.9.9.9", "192.0.2.7"),
        ("10.1.2.3", "10.9.9.9, 10.8.8.8", "10.9.9.9"),
        # The client has sent a header of its own, and the proxy has added its address.
        ("10.1.2.3", "198.51.100.1, 192.0.2.7", "192.0.2.7"),
        ("10.1.2.3", "10.6.6.6, 192.0.2.7", "192.0.2.7"),
        ("10.1.2.3", "198.51.100.1, nobody, 10.9.9.9", "10.9.9.9"),
        ("10.1.2.3", "", "10.1.2.3"),
        ("10.1.2.3", None, "10.1.2.3"),
        # No proxy at all.
        ("203.0.113.5", "192.0.2.7", "203.0.113.5"),
        ("::ffff:203.0.113.5", "192.0.2.7", "203.0.113.5"),
        ("", "192.0.2.7", ""),
    ],
)
def test_the_client_is_the_last_address_that_is_no_trusted_proxy(settings_of, peer, forwarded, client):
    settings_of({"web.trustedProxies": TRUSTED})
    sent = {} if forwarded is None else {"HTTP_X_FORWARDED_FOR": forwarded}

    assert reverse_proxies.client({"REMOTE_ADDR": peer, **sent}) == client


def test_without_trusted_proxies_a_client_has_the_address_of_its_connection():
    environment = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "192.0.2.7"}

    assert reverse_proxies.client(environment) == "127.0.0.1"
    assert reverse_proxies.client(environment | {"REMOTE_ADDR": "::ffff:192.0.2.9"}) == "192.0.2.9"
    assert reverse_proxies.client(environment | {"REMOTE_ADDR": "2001:db8::9"}) == "2001:db8::9"
    assert reverse_proxies.forwarded(environment | {"HTTP_X_FORWARDED_PROTO": "https"}) == {}


@pytest.mark.parametrize(
    ("peer", "proto", "host", "believed"),
    [
        ("10.1.2.3", "https", "mirror.example.org", ("https", "mirror.example.org")),
        ("10.1.2.3", "HTTPS", "mirror.example.org:8443", ("https", "mirror.example.org:8443")),
        ("10.1.2.3", "http, https", "evil.example, mirror.example.org", ("https", "mirror.example.org")),
        ("10.1.2.3", "gopher", "evil.example/path?", ("http", "inner")),
        ("203.0.113.5", "https", "evil.example", ("http", "inner")),
    ],
)
def test_scheme_and_host_are_those_that_a_trusted_proxy_names(settings_of, peer, proto, host, believed):
    settings_of({"web.trustedProxies": TRUSTED})
    environment = {
        "REMOTE_ADDR": peer,
        "HTTP_HOST": "inner",
        "wsgi.url_scheme": "http",
        "HTTP_X_FORWARDED_PROTO": proto,
        "HTTP_X_FORWARDED_HOST": host,
    }
    environment |= reverse_proxies.forwarded(environment)

    assert (environment["wsgi.url_scheme"], environment["HTTP_HOST"]) == believed


def test_something_that_is_no_network_is_an_error_in_words(settings_of):
    settings_of({"web.trustedProxies": ("10.0.0.1/8",)})

    with pytest.raises(InvalidSetting) as raised:
        reverse_proxies.check()
    assert str(raised.value) == (
        "SVC_MIRROR_WEB_TRUSTEDPROXIES='10.0.0.1/8' is no address and no network such as 10.0.0.0/8: "
        "10.0.0.1/8 has host bits set."
    )


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:ffff:ffff:ffff", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("", ""),
    ],
)
def test_an_ipv4_address_or_a_64_of_ipv6_is_one_client(client: str, network: str) -> None:
    assert reverse_proxies.network(client) == network
