"""The state from which a network resumes, as JSON with the annotations of the network's classes as schema.

Decoding creates only objects of these classes and references to functions in `FUNCTIONS`. Nodes, their keys
and the block signer are not part of the state.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, cast

import zstandard

from ledger.stream.ledger_identity import LedgerIdentity
from ledger.stream.record_item import HapiVersion
from mirror.core.processes.typed_json import Codec, InvalidContent, TypedJson, checked, item_at
from mirror.demo.actions import genesis, periods, schedules, system, system_files
from mirror.demo.network import Network, Perform
from mirror.demo.publish.history import ALL
from mirror.demo.streams.block_stream import BlockComposer
from mirror.demo.streams.keys import block_signer
from mirror.demo.streams.record_files import Composer
from mirror.demo.streams.signing import SigningNode
from mirror.demo.streams.state_changes import Known, KnownAccounts
from mirror.demo.world.world import World

# The state is written with each block.
_LEVEL = 1
# JSON of a network has about six times the bytes of its compressed form.
_MAX_EXPANSION = 100

# Functions that are planned for a time, in addition to actions; `schedules.end` has the number of a schedule.
_EVENTS = (
    system.abort_freeze, system_files.change_rates, periods.end_period, genesis.install,
    genesis.publish_ledger_id, schedules.end,
)  # fmt: skip
FUNCTIONS: tuple[Callable[..., object], ...] = (*(action.perform for action in ALL), *_EVENTS)
_NUMBER_OF = {function: number for number, function in reversed([*enumerate(FUNCTIONS)])}

STORED = tuple[Network, str, tuple[bytes, KnownAccounts] | None]
# The attributes of classes that are no dataclasses. Those left out are empty between blocks, or set below.
ATTRIBUTES: dict[type, dict[str, Any]] = {
    Network: {
        "choose": Random,
        "world": World,
        "counts": Counter[str],
        "performed": Counter[Perform],
        "composer": Composer,
        "ledger": LedgerIdentity | None,
        "_due": list[tuple[int, int, Perform]],
        "_planned": int,
        "_installed": HapiVersion | None,
        "_nodes": list[int],
    },
    Composer: {
        "consensus_timestamp": int,
        "hapi_version": HapiVersion,
        "block_number": int,
        "hash": bytes,
        "fee_account": int,
        "shard_and_realm": tuple[int, int],
        "_interval": int,
    },
    KnownAccounts: {"_by_number": dict[int, Known], "_by_alias": dict[bytes, int]},
}


def encode(network: Network, name: str, composer: BlockComposer | None) -> bytes:
    """Encode a network after a block, the name of that block's file, and the composer of blocks, if any."""
    blocks = (composer.hash, composer.known) if composer else None
    return zstandard.ZstdCompressor(_LEVEL).compress(_JSON.encode((network, name, blocks)))


def decode(state: bytes, nodes: Sequence[SigningNode]) -> tuple[Network, str, BlockComposer | None]:
    """Return the arguments of `encode`. Errors: InvalidContent."""
    try:
        content = zstandard.ZstdDecompressor().stream_reader(state).read(_MAX_EXPANSION * len(state))
    except zstandard.ZstdError as error:
        raise InvalidContent(str(error)) from error
    network, name, blocks = _JSON.decode(content)
    network.composer.nodes = nodes
    if blocks is None:
        return network, name, None
    composer = BlockComposer(block_signer(), previous_hash=blocks[0])
    composer.set_known_accounts(blocks[1])
    return network, name, composer


# TYPES OF THE NETWORK ALONE


def _random(json: TypedJson) -> Codec:
    state = json.codec(tuple[int, tuple[int, ...], float | None])

    def decode(value: Any) -> Random:
        made = Random()
        made.setstate(state.decode(value))
        return made

    return Codec(lambda value: state.apply(value.getstate()), decode)


def _function(json: TypedJson) -> Codec:
    def encode(function: Any) -> list[int]:
        if function in _NUMBER_OF:
            return [_NUMBER_OF[function]]
        return [_NUMBER_OF[function.func], function.keywords["number"]]

    def decode(value: Any) -> Perform:
        number, *numbers = checked((list,), value)
        function = item_at(FUNCTIONS, number)
        if not numbers:
            return cast("Perform", function)
        if function is not schedules.end:
            raise ValueError("only the end of a schedule has a number")
        return partial(schedules.end, number=checked((int,), *numbers))

    return Codec(encode, decode)


_NEW: dict[type, Callable[[], Any]] = {
    Network: partial(Network, 0, ALL),
    Composer: Composer,
    KnownAccounts: KnownAccounts,
}
_JSON = TypedJson(
    STORED,
    {
        Random: _random,
        Perform: _function,
        **{
            kind: partial(TypedJson.object, attributes=ATTRIBUTES[kind], new=new)
            for kind, new in _NEW.items()
        },
    },
)
