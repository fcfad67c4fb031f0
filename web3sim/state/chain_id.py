"""The chain id that contracts see.

Source: the setting `web3.evm.network`; with AUTO the property contracts.chainId in the network's own file
0.0.121, and TESTNET where that is not known. As all system files it is read as of now for every block.
"""

from ledger.queries.chain_ids import read_chain_id
from mirror.core import config
from web3sim.state.cache import caches

MAINNET_CHAIN_ID = 295
_CHAIN_IDS = {"MAINNET": MAINNET_CHAIN_ID, "TESTNET": 296, "PREVIEWNET": 297, "OTHER": 298}


def chain_id() -> int:
    """Errors: psycopg.Error."""
    configured = _CHAIN_IDS.get(config.value("web3.evm.network"))
    if configured is not None:
        return configured
    cached: int = caches().system_files.get_or_put("chain id", _read)
    return cached


def _read() -> int:
    return read_chain_id() or _CHAIN_IDS["TESTNET"]
