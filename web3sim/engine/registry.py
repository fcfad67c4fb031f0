"""The engines by name. The EVM library is imported with the first one that is used."""

from functools import cache
from importlib import import_module

from web3sim.engine.interface import Engine

_MODULES = {"pyevm": "web3sim.engine.pyevm", "pyevm-blocks": "web3sim.engine.translation.engine"}


@cache
def engine(name: str) -> Engine:
    """Errors: LookupError for a name that no engine has."""
    if name not in _MODULES:
        raise LookupError(f"There is no EVM engine {name!r}; there are {', '.join(sorted(_MODULES))}.")
    loaded: Engine = import_module(_MODULES[name]).ENGINE
    return loaded
