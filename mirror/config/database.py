"""The address of a database, as Django's settings of a connection."""

from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from mirror.config.setting import InvalidSetting

_NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


def connection_of(url: str, variable: str) -> dict[str, Any]:
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
