"""Proxies in front of the node, and what they report of a client: its address, scheme and host, and the
prefix that they have cut off the path.

Anybody can send the headers X-Forwarded-For, -Proto, -Host and -Prefix, so they count only if the connection
comes from a network of `web.trustedProxies`. Each proxy adds the address that it got a request from at the
end of X-Forwarded-For; so the client is the last address that is no trusted proxy's.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from mirror.core import config
from mirror.core.config.setting import InvalidSetting

SETTING = "web.trustedProxies"

FORWARDED_FOR = "HTTP_X_FORWARDED_FOR"
FORWARDED_PROTO = "HTTP_X_FORWARDED_PROTO"
FORWARDED_HOST = "HTTP_X_FORWARDED_HOST"
FORWARDED_PREFIX = "HTTP_X_FORWARDED_PREFIX"

_HOST = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?", re.ASCII)
_PREFIX = re.compile(r"(?:/[\w.~%-]+)+", re.ASCII)
_SCHEMES = ("http", "https")
_IPV4_MAPPED = "::ffff:"
_CLIENT_BITS = 64
# As many addresses of proxies and clients are remembered.
_MOST = 4096

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def check(setting: str = SETTING) -> None:
    """Raise InvalidSetting if one of the texts of a setting is no network."""
    for text in config.value(setting):
        try:
            ip_network(text)
        except ValueError as error:
            raise InvalidSetting(
                f"{config.lookup(setting).variable}={text!r} is no address and no network such as "
                f"10.0.0.0/8: {error}."
            ) from None


@lru_cache(maxsize=16)
def _networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(map(ip_network, texts))


def client(environment: Mapping[str, Any]) -> str:
    """Return the address of the client that sent a request (a WSGI environment, or Django's META)."""
    peer: str = environment.get("REMOTE_ADDR", "")
    if peer.startswith(_IPV4_MAPPED):
        # A socket for both kinds of addresses writes one of IPv4 so.
        peer = str(_address(peer) or peer)
    texts = config.value(SETTING)
    if not texts or (forwarded := environment.get(FORWARDED_FOR)) is None or not is_within(peer, texts):
        return peer
    last = peer
    for text in reversed(forwarded.split(",")):
        address = _address(text)
        if address is None:
            # What precedes something that is no address can't be trusted.
            return last
        last = str(address)
        if not is_within(last, texts):
            return last
    return last


def network(client: str) -> str:
    """Return what limits count as one client: an IPv4 address, or the /64 of an IPv6 address.

    An IPv6 client has a whole network, and as many addresses as it likes.
    """
    address = _address(client)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, _CLIENT_BITS), strict=False))
    return str(address or client)


def scheme(environment: Mapping[str, Any]) -> str | None:
    """Return the scheme by which a client reached a trusted proxy, if the proxy says so."""
    text = _forwarded_value(environment, FORWARDED_PROTO)
    return text.lower() if text is not None and text.lower() in _SCHEMES else None


def host(environment: Mapping[str, Any]) -> str | None:
    """Return the host, with its port if it names one, that a client requested from a trusted proxy."""
    text = _forwarded_value(environment, FORWARDED_HOST)
    return text if text is not None and _HOST.fullmatch(text) else None


def prefix(environment: Mapping[str, Any]) -> str:
    """Return what a trusted proxy has cut off the beginning of the path; empty if it doesn't say so."""
    text = (_forwarded_value(environment, FORWARDED_PREFIX) or "").rstrip("/")
    return text if _PREFIX.fullmatch(text) else ""


def forwarded(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a client's scheme and host change in an environment that a trusted proxy has made."""
    changes = {"wsgi.url_scheme": scheme(environment), "HTTP_HOST": host(environment)}
    return {name: text for name, text in changes.items() if text is not None}


def _forwarded_value(environment: Mapping[str, Any], header: str) -> str | None:
    """Return what the nearest proxy says, if it is trusted; one that adds to a list adds to its end."""
    text = environment.get(header)
    if text is None or not is_within(environment.get("REMOTE_ADDR", ""), config.value(SETTING)):
        return None
    return str(text.rpartition(",")[2].strip())


@lru_cache(maxsize=_MOST)
def is_within(text: str, networks: tuple[str, ...]) -> bool:
    """Return whether an address is one of these, or in one of these networks."""
    address = _address(text)
    return address is not None and any(address in network for network in _networks(networks))


@lru_cache(maxsize=_MOST)
def _address(text: str) -> Address | None:
    """Return an address that may be followed by a port; None for something else.

    An IPv4 address is one, also where a socket for both kinds writes it as ::ffff:192.0.2.1.
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
