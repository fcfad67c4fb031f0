"""The addresses of block nodes that are registered with the network.

Anyone may register a node with any address or name. Only public addresses and the networks of the setting are
allowed, so that the loader connects to no service of this machine or its network. It connects to the address
that was checked, since a name may resolve to another address the next time.
"""

import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from mirror.core import config
from mirror.core.config.reverse_proxies import is_within

SETTING = "importer.block.allowedNetworks"

_MAX_ADDRESSES = 8
# A gateway translates these to the IPv4 address in their last four bytes (RFC 6052).
_NAT64 = IPv6Network("64:ff9b::/96")

Address = IPv4Address | IPv6Address


class AddressRefused(Exception):
    """No address of a registered node may be connected to."""


def look_up(host: str, port: int) -> Future[str]:
    """Return the future target of a host. Errors of it: AddressRefused; OSError if there is no such host."""
    target: Future[str] = Future()
    work = partial(_look_up, target, host, port)
    try:
        ip_address(_bare(host))
        work()
    except ValueError:
        threading.Thread(target=work, name="block node address", daemon=True).start()
    return target


def usable(host: str, *, registered: bool) -> Sequence[Address]:
    """Return the addresses of a host that may be connected to. Errors: AddressRefused; OSError."""
    found = socket.getaddrinfo(_bare(host), None, type=socket.SOCK_STREAM)
    # A link-local address has the name of an interface at its end.
    addresses = list(dict.fromkeys(ip_address(str(entry[0]).partition("%")[0]) for *_, entry in found))
    if not registered:
        return addresses[:_MAX_ADDRESSES]
    networks = config.value(SETTING)
    allowed = [each for each in addresses if is_public(each) or is_within(str(each), networks)]
    if not allowed:
        variable = config.lookup(SETTING).variable
        raise AddressRefused(f"its address {addresses[0]} is not public, and {variable} does not name it")
    return allowed[:_MAX_ADDRESSES]


def is_public(address: Address) -> bool:
    """Return whether an address is public, and so is the IPv4 address that it embeds, if any."""
    if isinstance(address, IPv6Address):
        ipv4 = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            ipv4 = IPv4Address(int(address) & 0xFFFFFFFF)
        if ipv4 is not None:
            return is_public(ipv4)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def target(addresses: Sequence[Address], port: int) -> str:
    """Return the target of gRPC for addresses, which are tried in their order."""
    if all(isinstance(each, IPv4Address) for each in addresses):
        return "ipv4:" + ",".join(f"{each}:{port}" for each in addresses)
    # A target has one family: IPv6 has a form for addresses of the other one.
    forms = (f"::ffff:{each}" if isinstance(each, IPv4Address) else str(each) for each in addresses)
    return "ipv6:" + ",".join(f"[{form}]:{port}" for form in forms)


def options(host: str, port: int) -> list[tuple[str, object]]:
    """Return the options of a channel to an address by which the other side is that host."""
    return [("grpc.default_authority", f"{host}:{port}"), ("grpc.ssl_target_name_override", _bare(host))]


def _look_up(result: Future[str], host: str, port: int) -> None:
    try:
        result.set_result(target(usable(host, registered=True), port))
    except (AddressRefused, OSError, ValueError) as error:
        # A name that can't be encoded is a ValueError.
        result.set_exception(error)


def _bare(host: str) -> str:
    return host.removeprefix("[").removesuffix("]")
