"""The chain id that contracts see.

Source: the setting `web3.evm.network`; with AUTO the property contracts.chainId in the network's own file
0.0.121, and TESTNET where that is not known. As all system files it is read as of now for every block.
"""

import re

from ledger.queries import system_files
from mirror import config
from mirror.db.bounds import Bounds
from mirror.values.hapi import ServicesConfigurationList
from web3sim.state.cache import caches

_PROPERTIES, _NAME = 121, "contracts.chainId"
_NUMBER = re.compile("[0-9]{1,18}")
_CHAIN_IDS = {"MAINNET": 295, "TESTNET": 296, "PREVIEWNET": 297, "OTHER": 298}


def chain_id() -> int:
    """Errors: psycopg.Error."""
    known = _CHAIN_IDS.get(config.value("web3.evm.network"))
    if known is not None:
        return known
    return caches().system_files.get_or_put("chain id", _read)


def _read() -> int:
    found = system_files.system_file(_PROPERTIES, Bounds(), ServicesConfigurationList.FromString)
    told = {each.name: each.value for each in found[0].nameValue} if found else {}
    text: str = told.get(_NAME, "")
    return int(text) if _NUMBER.fullmatch(text) else _CHAIN_IDS["TESTNET"]
