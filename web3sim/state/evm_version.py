"""The version of the EVM that runs a call: the newest, or for a past block the one of its time.

Sources: the settings `web3.evm.evmVersion`, and for past blocks `web3.evm.evmVersions`, a JSON object of
first blocks and versions; without it, on mainnet, the history of mainnet.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping
from functools import cache

from mirror.core import config
from mirror.core.config.setting import InvalidSetting
from web3sim.engine.versions import MAINNET, VERSIONS, EvmVersion
from web3sim.state.blocks import MAINNET_CHAIN_ID, SelectedBlock, chain_id

_HISTORY = "web3.evm.evmVersions"


def evm_version(selected: SelectedBlock) -> EvmVersion:
    """Return the version that runs a call at this block. Errors: InvalidSetting; psycopg.Error."""
    newest = VERSIONS[config.value("web3.evm.evmVersion")]
    if selected.state_time is None:
        return newest
    history = configured() or (MAINNET if chain_id() == MAINNET_CHAIN_ID else {})
    firsts = sorted(history)
    index = bisect_right(firsts, selected.block.number)
    return history[firsts[index - 1]] if index else newest


def configured() -> Mapping[int, EvmVersion]:
    """Return the history in the setting. Errors: InvalidSetting."""
    return _history(config.value(_HISTORY))


@cache
def _history(text: str) -> Mapping[int, EvmVersion]:
    try:
        return {int(first): VERSIONS[version] for first, version in json.loads(text or "{}").items()}
    except (ValueError, AttributeError, LookupError, TypeError):
        setting = config.lookup(_HISTORY)
        example = '{"0": "0.46", "65435845": "0.50"}'
        raise InvalidSetting(
            f"{setting.variable} can't be used: it must be a JSON object of first blocks and versions of "
            f"{', '.join(VERSIONS)}, such as {example}"
        ) from None
