"""The state from which a network resumes, as JSON: its schema are the annotations of the network's classes.

Whoever writes a state chooses values alone: reading one makes objects of the classes that the annotations
name, with values of the annotated types, and refers to functions of `_FUNCTIONS`. Nothing else is imported,
made or called. The nodes with their keys, and the signer of blocks, come from the program.

Objects are lists of their fields, dictionaries are a list of keys and one of values, and bytes are
hexadecimal.
"""

import json
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, partial
from operator import attrgetter
from random import Random
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import orjson
import zstandard

from ledger.proofs.threshold.identity import LedgerIdentity
from ledger.stream.record.item import HapiVersion
from mirror.demo.actions import catalogue, schedules
from mirror.demo.actions.network import files, genesis, periods, system
from mirror.demo.keys.nodes import block_signer
from mirror.demo.network import Network, Perform
from mirror.demo.streams.blocks.accounts import Known, KnownAccounts
from mirror.demo.streams.blocks.block import BlockComposer
from mirror.demo.streams.record_files import Composer
from mirror.demo.streams.signing import SigningNode
from mirror.demo.world.world import World

# The state is written with each block.
_LEVEL = 1
# JSON of a network has about six times the bytes of its compressed form.
_MAX_EXPANSION = 100

# What is planned for a time, besides actions; `schedules.end` with the number of a schedule.
_EVENTS = (
    system.abort_freeze, files.change_rates, periods.end_period, genesis.install, genesis.publish_ledger_id,
    schedules.end,
)  # fmt: skip
_FUNCTIONS: tuple[Callable[..., object], ...] = (*(action.perform for action in catalogue.ALL), *_EVENTS)
_NUMBER_OF = {function: number for number, function in reversed([*enumerate(_FUNCTIONS)])}

_Stored = tuple[Network, str, tuple[bytes, KnownAccounts] | None]
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
        "_interval": int,
    },
    KnownAccounts: {"_by_number": dict[int, Known], "_by_alias": dict[bytes, int]},
}
_NEW: dict[type, Callable[[], Any]] = {Network: partial(Network, 0, catalogue.ALL)}


class InvalidState(ValueError):
    """The bytes are no state of a network."""


def encode(network: Network, name: str, composer: BlockComposer | None) -> bytes:
    """Return a network after a block, the name of its file, and what writes the next blocks if it does."""
    blocks = (composer.hash, composer.known) if composer else None
    text = json.dumps(_codec(_Stored).apply((network, name, blocks)), separators=(",", ":"))
    return zstandard.ZstdCompressor(_LEVEL).compress(text.encode())


def decode(state: bytes, nodes: Sequence[SigningNode]) -> tuple[Network, str, BlockComposer | None]:
    """Return what `encode` was called with. Errors: InvalidState."""
    try:
        content = zstandard.ZstdDecompressor().stream_reader(state).read(_MAX_EXPANSION * len(state))
        # The parser of the standard library knows numbers of 256 bits, but has no limit of nesting.
        orjson.loads(content)
        network, name, blocks = _codec(_Stored).decode(json.loads(content))
    except (ArithmeticError, LookupError, TypeError, ValueError, zstandard.ZstdError) as error:
        raise InvalidState(str(error)) from error
    network.composer.nodes = nodes
    if blocks is None:
        return network, name, None
    composer = BlockComposer(block_signer(), previous_hash=blocks[0])
    composer.set_known_accounts(blocks[1])
    return network, name, composer


# CODECS

_PLAIN = {int, str, bool, float}


class Codec(NamedTuple):
    """Values of a type to and from those of JSON; without `encode` they are the same."""

    encode: Callable[[Any], Any] | None
    decode: Callable[[Any], Any]

    def apply(self, value: Any) -> Any:
        return self.encode(value) if self.encode else value


@cache
def _codec(hint: Any) -> Codec:
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin in _PLAIN:
        return Codec(None, partial(_checked, (origin,)))
    if origin is bytes:
        return Codec(bytes.hex, lambda value: bytes.fromhex(_checked((str,), value)))
    if origin in (Union, UnionType):
        return _union([each for each in arguments if each is not NoneType], NoneType in arguments)
    if origin is tuple and arguments[-1] is not ...:
        return _tuple([_codec(each) for each in arguments])
    if origin in (list, tuple, set):
        return _items(origin, _codec(arguments[0]))
    if origin is deque:
        pair = _codec(tuple[list[arguments[0]], int | None])  # type: ignore[valid-type]
        return Codec(
            lambda value: pair.apply((list(value), value.maxlen)), lambda value: deque(*pair.decode(value))
        )
    if origin in (dict, Counter):
        key, value_of = arguments if origin is dict else (*arguments, int)
        pair = _codec(tuple[list[key], list[value_of]])  # type: ignore[valid-type]
        return Codec(
            lambda value: pair.apply((list(value), list(value.values()))),
            lambda value: origin(dict(zip(*pair.decode(value), strict=True))),
        )
    if hint == Perform:
        return Codec(_encode_function, _decode_function)
    if hint is Random:
        state = _codec(tuple[int, tuple[int, ...], float | None])
        return Codec(lambda value: state.apply(value.getstate()), lambda value: _random(state.decode(value)))
    if issubclass(hint, tuple):
        pair = _tuple([_codec(each) for each in get_type_hints(hint).values()])
        return Codec(pair.encode, lambda value: hint(*pair.decode(value)))
    return _object(hint)


def _checked(types: tuple[type, ...], value: Any) -> Any:
    # Not isinstance: a bool is no int here.
    if type(value) not in types:
        raise TypeError(f"{value!r:.40} is none of {types}")
    return value


def _union(members: list[Any], is_optional: bool) -> Codec:
    codecs = [_codec(each) for each in members]
    if set(members) <= _PLAIN:
        return Codec(None, partial(_checked, (*members, *((NoneType,) if is_optional else ()))))
    if len(members) == 1:
        (only,) = codecs
        return Codec(
            only.encode and (lambda value: None if value is None else only.apply(value)),
            lambda value: None if value is None else only.decode(value),
        )
    number_of = {each: number for number, each in enumerate(members)}

    def encode(value: Any) -> Any:
        number = number_of[type(value)]
        return [number, codecs[number].apply(value)]

    def decode(value: Any) -> Any:
        number, content = value
        return codecs[_index(number, codecs)].decode(content)

    return Codec(encode, decode)


def _items(kind: type, item: Codec) -> Codec:
    encode, decode = item

    def decoded(value: Any) -> Any:
        return kind(map(decode, _checked((list,), value)))

    if encode:
        return Codec(lambda values: list(map(encode, values)), decoded)
    return Codec(sorted if kind is set else None, decoded)


def _tuple(codecs: list[Codec]) -> Codec:
    def decode(value: Any) -> Any:
        return tuple(codec.decode(each) for codec, each in zip(codecs, _checked((list,), value), strict=True))

    if not any(codec.encode for codec in codecs):
        return Codec(None, decode)
    return Codec(
        lambda values: [codec.apply(each) for codec, each in zip(codecs, values, strict=True)], decode
    )


def _object(kind: type) -> Codec:
    """Return the codec of a class: a dataclass, or one of `ATTRIBUTES`."""
    new: Callable[[], Any] = partial(object.__new__, kind)
    if kind in ATTRIBUTES:
        hints, new = ATTRIBUTES[kind], _NEW.get(kind, kind)
    elif is_dataclass(kind):
        every = get_type_hints(kind)
        hints = {field.name: every[field.name] for field in fields(kind)}
    else:
        raise TypeError(f"a state has no {kind}")
    names, codecs = tuple(hints), [_codec(hint) for hint in hints.values()]
    special = [(place, codec.encode) for place, codec in enumerate(codecs) if codec.encode]
    get = attrgetter(*names, names[0])

    def encode(value: Any) -> list[Any]:
        values = [*get(value)]
        values.pop()
        for place, encode_field in special:
            values[place] = encode_field(values[place])
        return values

    def decode(value: Any) -> Any:
        made = new()
        for name, codec, content in zip(names, codecs, _checked((list,), value), strict=True):
            # A frozen class has no other way.
            object.__setattr__(made, name, codec.decode(content))
        return made

    return Codec(encode, decode)


def _index(number: Any, of: Sequence[Any]) -> int:
    if not 0 <= _checked((int,), number) < len(of):
        raise IndexError(number)
    return int(number)


def _encode_function(function: Any) -> list[int]:
    if function in _NUMBER_OF:
        return [_NUMBER_OF[function]]
    return [_NUMBER_OF[function.func], function.keywords["number"]]


def _decode_function(value: Any) -> Perform:
    number, *numbers = _checked((list,), value)
    function = _FUNCTIONS[_index(number, _FUNCTIONS)]
    if not numbers:
        return function
    if function is not schedules.end:
        raise ValueError("only the end of a schedule has a number")
    return partial(schedules.end, number=_checked((int,), *numbers))


def _random(state: Any) -> Random:
    made = Random()
    made.setstate(state)
    return made
