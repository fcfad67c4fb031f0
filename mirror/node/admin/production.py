"""Unsafe settings of a public node: `up` and `serve` reject them with the profile `production`.

`manage.py check --deploy` reports the same.
"""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from mirror.core import config
from mirror.core.config import reverse_proxies
from mirror.core.config.setting import OperatorError
from mirror.node.admin import access

_MIN_CHARACTERS, _MIN_DIFFERENT = 50, 5


class Unsafe(OperatorError):
    """A public node has an unsafe setting."""


def check() -> None:
    """Raise Unsafe, with all problems, if the profile is `production` and there are any."""
    if found := list(problems()):
        lines = "".join(f"\n- {problem}" for problem in found)
        raise Unsafe(f"The profile {config.value('profile')} does not allow this:{lines}")


def deploy_check(app_configs: Any, **arguments: Any) -> list[CheckMessage]:
    return [Error(problem, id="mirror.E001") for problem in problems()]


def problems() -> Iterator[str]:
    """Yield what is not safe, and its cure, in sentences; nothing with another profile."""
    if config.value("profile") != "production":
        return
    hosts = config.value("web.allowedHosts")
    if not hosts or "*" in hosts:
        yield (
            f"{_variable('web.allowedHosts')} lets the admin answer to any name: list the names by which "
            "it is reached, such as mirror.example.org."
        )
    for origin in config.value("web.adminOrigins"):
        if not origin.startswith("https://"):
            yield (
                f"{_variable('web.adminOrigins')} names {origin}: passwords would travel in plain text, so "
                "name an address that begins with https://."
            )
    proxies = _variable(reverse_proxies.SETTING)
    if not config.value(reverse_proxies.SETTING):
        yield (
            f"{proxies} is empty: HTTPS needs a proxy in front, and all clients would have its address, for "
            "limits, for failed sign-ins and for /metrics. List the addresses of your proxies."
        )
    for text in config.value(reverse_proxies.SETTING):
        if ip_network(text).prefixlen == 0:
            yield f"{proxies} trusts all addresses ({text}): list those of your proxies."
    key = config.value("web.secretKey")
    if key and (len(key) < _MIN_CHARACTERS or len(set(key)) < _MIN_DIFFERENT):
        yield (
            f"{_variable('web.secretKey')} is easily guessed: give it {_MIN_CHARACTERS} random characters, "
            "or leave it out, and the node makes one."
        )
    for path in (access.session_key_file(settings.DATA_DIR), access.password_file(settings.DATA_DIR)):
        with suppress(OSError):
            if path.stat().st_mode & 0o077:
                yield f"Other users of this machine may read {path}: `chmod 600 {path}`."
    if config.value("clock.now") is not None:
        yield f"{_variable('clock.now')} stops the clock, which is for tests: leave it out."


def _variable(name: str) -> str:
    return config.lookup(name).variable
