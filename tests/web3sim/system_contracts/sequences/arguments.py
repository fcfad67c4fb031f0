"""Random arguments of the functions of system contracts: mostly such that a call can succeed."""

from collections.abc import Callable
from random import Random
from typing import Any

from eth_abi.abi import encode

from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.sequences.ledger import (
    ACCOUNTS,
    ADDRESS_OF_NAMED,
    CONTRACT_SERIAL,
    CONTRACTS,
    FUNGIBLE,
    HOLDER,
    MINTED,
    NAMED,
    SCHEDULE,
    TREASURY,
    UNIQUE,
    owner_of,
)
from web3sim.system_contracts.function_signatures import canonical, parameters_of, selector_of

NOBODY, UNKNOWN, NEW = bytes(20), long_zero(999_999), bytes([0x61]) * 20
#: Where entities that a call creates come to live: the highest number before it and the numbers kept free.
FIRST_NEW = SCHEDULE + 1001
_KEY_BITS = (1, 2, 4, 8, 16, 32, 64, 128)

Pick = Callable[[Random], Any]


def any_address(random: Random) -> bytes:
    return random.choice((NOBODY, UNKNOWN, NEW, long_zero(FIRST_NEW + random.randrange(3)), long_zero(0x167)))


def _mostly(pick: Pick) -> Pick:
    return lambda random: any_address(random) if random.random() < 0.04 else pick(random)


def address_of(number: int) -> bytes:
    return ADDRESS_OF_NAMED if number == NAMED else long_zero(number)


def _one_of(*numbers: int) -> Pick:
    def pick(random: Random) -> bytes:
        return address_of(random.choice(numbers))

    return _mostly(pick)


def _created(pick: Pick) -> Pick:
    """At times a token that an earlier step may have created."""
    return lambda random: (
        long_zero(FIRST_NEW + random.randrange(2)) if random.random() < 0.1 else pick(random)
    )


def amount(random: Random) -> int:
    picked: int = random.choice((0, 1, 1, 5, 10, 10, 100, 3_000, 10_000, 2**61))
    return picked


def serial(random: Random) -> int:
    picked: int = random.choice((0, *range(1, MINTED + 4)))
    return picked


def _flag(random: Random) -> bool:
    return random.random() < 0.5


def _text(random: Random) -> str:
    return random.choice(("", "a", "Gold", "x" * 101))


def _data(random: Random) -> bytes:
    return random.choice((b"", b"m", b"metadata", b"x" * 101))


def many(pick: Pick, most: int = 3) -> Pick:
    return lambda random: [
        pick(random) for _ in range(random.randint(0 if random.random() < 0.1 else 1, most))
    ]


def _all(*picks: Pick) -> Pick:
    return lambda random: tuple(pick(random) for pick in picks)


account = _one_of(*ACCOUNTS)
fungible, unique = _created(_one_of(*FUNGIBLE)), _created(_one_of(*UNIQUE))
token = _created(_one_of(*FUNGIBLE, *UNIQUE))
contract = _one_of(*CONTRACTS)
_PICKS: dict[str, Pick] = {
    "address": account,
    "bool": _flag,
    "string": _text,
    "bytes": _data,
    "bytes[]": many(_data),
    "int64[]": many(serial),
    "address[]": many(token),
}


# STRUCTS


def _key(random: Random) -> tuple[Any, ...]:
    value: tuple[Any, ...] = random.choice(
        (
            (True, NOBODY, b"", b"", NOBODY),
            (False, long_zero(CONTRACTS[0]), b"", b"", NOBODY),
            (False, NOBODY, bytes(32), b"", NOBODY),
            (False, NOBODY, b"", b"\2" + bytes(32), NOBODY),
            (False, NOBODY, b"", b"", long_zero(CONTRACTS[1])),
            (False, NOBODY, b"short", b"", NOBODY),
        )
    )
    return sum(random.sample(_KEY_BITS, random.randint(1, 4))), value


def _expiry(random: Random) -> tuple[Any, ...]:
    return random.choice(((0, long_zero(HOLDER), 7_000_000), (8_000_000, NOBODY, 0), (0, NOBODY, 0)))


def _hedera_token(random: Random) -> tuple[Any, ...]:
    return (
        random.choice(("Gold", "Gold", _text(random))),
        random.choice(("GLD", "GLD", _text(random))),
        address_of(random.choice((TREASURY, *CONTRACTS))),
        "",
        finite := random.random() < 0.3,
        1_000_000 if finite else 0,
        random.random() < 0.2,
        many(_key)(random) if _flag(random) else [],
        _expiry(random) if random.random() < 0.2 else (0, long_zero(HOLDER), 7_000_000),
    )


def _changes(random: Random) -> tuple[Any, ...]:
    treasury = random.choice((NOBODY, NOBODY, account(random)))
    keys = many(_key)(random) if _flag(random) else []
    expiry = _expiry(random) if random.random() < 0.2 else (0, NOBODY, 0)
    return (_text(random), _text(random), treasury, "", False, 0, False, keys, expiry)


def _fixed_fee(random: Random) -> tuple[Any, ...]:
    in_hbar, in_itself = random.choice(((True, False), (False, True), (False, False)))
    paid = NOBODY if in_hbar or in_itself else fungible(random)
    return (random.choice((1, 3, 40)), paid, in_hbar, in_itself, account(random))


def _fractional_fee(random: Random) -> tuple[Any, ...]:
    return (
        1,
        random.choice((2, 10, 100)),
        random.choice((0, 2)),
        random.choice((0, 9)),
        _flag(random),
        account(random),
    )


def _royalty_fee(random: Random) -> tuple[Any, ...]:
    fallback = random.choice(((0, NOBODY, False), (3, NOBODY, True), (2, long_zero(FUNGIBLE[0]), False)))
    return (1, random.choice((1, 10)), *fallback, account(random))


_fees = many(_fixed_fee, 2)


def _balanced(random: Random, *, approvals: bool) -> list[tuple[Any, ...]]:
    """Amounts that add up to nothing, but for a few."""
    sender, moved = account(random), amount(random)
    receivers = [account(random) for _ in range(random.choice((1, 1, 2)))]
    flag = (random.random() < 0.2,) if approvals else ()
    nothing = (False,) if approvals else ()
    gives = (sender, -moved * len(receivers) - (random.random() < 0.03), *flag)
    return [gives, *((receiver, moved, *nothing) for receiver in receivers)]


def _serial_move(random: Random) -> tuple[bytes, bytes, int]:
    """Mostly from whoever has it before the call."""
    moved = serial(random)
    sender = account(random) if random.random() < 0.3 else address_of(owner_of(moved))
    return sender, account(random), moved


def _moves(random: Random, *, approvals: bool) -> list[tuple[Any, ...]]:
    return [
        (*_serial_move(random), *((random.random() < 0.2,) if approvals else ()))
        for _ in range(random.choice((1, 1, 2)))
    ]


def _list(random: Random, *, approvals: bool = True) -> tuple[Any, ...]:
    if _flag(random):
        return fungible(random), _balanced(random, approvals=approvals), []
    return unique(random), [], _moves(random, approvals=approvals)


def _list_v1(random: Random) -> tuple[Any, ...]:
    return _list(random, approvals=False)


def _hbar(random: Random) -> tuple[Any, ...]:
    return (_balanced(random, approvals=True) if _flag(random) else [],)


def _pending(random: Random) -> tuple[Any, ...]:
    """At times one that was pending before the call."""
    if random.random() < 0.2:
        return long_zero(CONTRACTS[0]), ADDRESS_OF_NAMED, long_zero(FUNGIBLE[0]), 0
    if random.random() < 0.2:
        return long_zero(CONTRACTS[0]), long_zero(CONTRACTS[1]), long_zero(UNIQUE[1]), CONTRACT_SERIAL
    parties = account(random), account(random)
    return (*parties, fungible(random), 0) if _flag(random) else (*parties, unique(random), serial(random))


def _units_between(random: Random) -> tuple[Any, ...]:
    return fungible(random), account(random), account(random), amount(random)


def _serial_between(random: Random) -> tuple[Any, ...]:
    return unique(random), *_serial_move(random)


def _parallel(random: Random) -> tuple[Any, ...]:
    rows = many(_serial_move)(random)
    return (unique(random), *([row[at] for row in rows] for at in range(3)))


def _amounts(random: Random) -> tuple[Any, ...]:
    rows = _balanced(random, approvals=False)
    return fungible(random), [row[0] for row in rows], [row[1] for row in rows]


def _scheduled(*addresses: Pick) -> Pick:
    return _all(*addresses, lambda random: random.choice((0, 60, 10**9)), amount, amount, _data)


def _native(random: Random) -> tuple[Any, ...]:
    inner = f"updateTokenExpiryInfo({canonical('address,ExpiryV2')})"
    data = selector_of(inner) + encode(parameters_of(inner), (fungible(random), _expiry(random)))
    return long_zero(0x167), data, account(random)


#: By the name of a function; those of a token at its own address begin with a dot.
_ARGUMENTS: dict[str, Pick] = {
    "airdropTokens": _all(many(_list)),
    "approve": _all(fungible, account, amount),
    "approveNFT": _all(unique, account, serial),
    "associateToken": _all(account, token),
    "burnToken": lambda random: (
        (fungible(random), amount(random), []) if _flag(random) else (unique(random), 0, many(serial)(random))
    ),
    "cancelAirdrops": _all(many(_pending)),
    "claimAirdrops": _all(many(_pending)),
    "createFungibleToken": _all(_hedera_token, lambda random: random.choice((0, 500)), lambda _: 2),
    "createFungibleTokenWithCustomFees": _all(
        _hedera_token, lambda _: 500, lambda _: 0, _fees, many(_fractional_fee)
    ),
    "createNonFungibleToken": _all(_hedera_token),
    "createNonFungibleTokenWithCustomFees": _all(_hedera_token, _fees, many(_royalty_fee)),
    "dissociateToken": _all(account, token),
    "mintToken": lambda random: (
        (fungible(random), amount(random), []) if _flag(random) else (unique(random), 0, many(_data)(random))
    ),
    "rejectTokens": lambda random: (
        account(random),
        many(fungible, 1)(random),
        many(_all(unique, serial), 2)(random),
    ),
    "setApprovalForAll": _all(unique, account, _flag),
    "transferFrom": _units_between,
    "transferFromNFT": _serial_between,
    "transferNFT": _serial_between,
    "transferNFTs": _parallel,
    "transferToken": _units_between,
    "transferTokens": _amounts,
    "updateFungibleTokenCustomFees": _all(fungible, _fees, many(_fractional_fee)),
    "updateNonFungibleTokenCustomFees": _all(unique, _fees, many(_royalty_fee)),
    "updateTokenExpiryInfo": _all(token, _expiry),
    "updateTokenInfo": _all(token, _changes),
    "updateTokenKeys": _all(token, many(_key)),
    "wipeTokenAccount": _all(fungible, account, lambda random: random.choice((0, 1, 10, 10_000))),
    "wipeTokenAccountNFT": _all(unique, account, many(serial)),
    "hbarApprove": _all(account, account, amount),
    "authorizeSchedule": _all(_one_of(SCHEDULE)),
    "deleteSchedule": _all(_one_of(SCHEDULE, FIRST_NEW)),
    "signSchedule": _all(_one_of(SCHEDULE, FIRST_NEW), _data),
    "scheduleNative": _native,
    "scheduleCall": _scheduled(contract),
    "scheduleCallWithPayer": _scheduled(contract, account),
    "executeCallOnPayerSignature": _scheduled(contract, account),
    ".approve": _all(account, lambda random: random.choice((amount, serial))(random)),
    ".cancelAirdropFT": _all(account),
    ".rejectTokenNFTs": _all(many(serial)),
    ".setApprovalForAll": _all(account, _flag),
    ".transfer": _all(account, amount),
    ".transferFrom": lambda random: (
        _serial_move(random) if _flag(random) else (account(random), account(random), amount(random))
    ),
    ".hbarApprove": _all(account, amount),
    ".deleteSchedule": _all(),
}
_BEGINS_WITH_TOKEN = (
    *("freezeToken", "unfreezeToken", "grantTokenKyc", "revokeTokenKyc", "pauseToken", "unpauseToken"),
    *("deleteToken", "is", "get", "allowance"),
)


def call_data(random: Random, signature: str, *, at_own_address: bool) -> bytes:
    name = "." * at_own_address + signature.partition("(")[0]
    types = parameters_of(signature)
    pick = _ARGUMENTS.get(name)
    if name == "cryptoTransfer":
        pick = _all(many(_list_v1)) if len(types) == 1 else _all(_hbar, many(_list))
    if pick is not None:
        arguments = pick(random)
    else:
        arguments = tuple(_of_type(random, kind) for kind in types)
        if name.startswith(_BEGINS_WITH_TOKEN) and types[:1] == ("address",):
            arguments = (token(random), *arguments[1:])
    return selector_of(signature) + encode(types, arguments)


def _of_type(random: Random, kind: str) -> Any:
    pick = _PICKS.get(kind)
    return serial(random) if pick is None else pick(random)
