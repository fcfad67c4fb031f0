"""The network's own chain id: the property contracts.chainId in the file 0.0.121, as of now."""

import re

from ledger.queries.cached_files import Cached
from ledger.queries.system_files import system_file
from mirror.core.db.reading.query import Bounds
from mirror.core.values.hapi.messages import ServicesConfigurationList

_PROPERTIES, _NAME = 121, "contracts.chainId"
_NUMBER = re.compile("[0-9]{1,18}")

_remembered = Cached[str, int]()


def read_chain_id() -> int | None:
    """Return the chain id in the file; None if it has none. Errors: psycopg.Error."""
    version = system_file(_PROPERTIES, Bounds(), ServicesConfigurationList.FromString)
    properties = {setting.name: setting.value for setting in version[0].nameValue} if version else {}
    text: str = properties.get(_NAME, "")
    return int(text) if _NUMBER.fullmatch(text) else None


def chain_id() -> int | None:
    """Return the same, remembered."""
    values = _remembered.take([_NAME])
    if not values:
        values = {_NAME: read_chain_id()}
        _remembered.put(values)
    return values[_NAME]


#: Read the file again.
forget = _remembered.forget
