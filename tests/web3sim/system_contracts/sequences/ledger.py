"""A ledger on which random calls of system contracts find something to do, and what adds up in it."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ContractID, Key
from tests.build import START, Build, insert, time_range
from tests.web3sim.rows import contract
from tests.web3sim.system_contracts.caller import RUNTIME
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Entity, Nft, Relationship, Token

TREASURY, HOLDER, OPEN, SLOTTED, NAMED, FEE_COLLECTOR = 1001, 1002, 1003, 1004, 1005, 98
#: Contracts that run `Caller`: they call each other and the services, and hold tokens.
CONTRACTS = (1101, 1102, 1103)
FREE, KEYED, FEED, TAXED, FINITE = 2001, 2002, 2003, 2004, 2005
SERIALS, ROYAL = 2101, 2102
FUNGIBLE, UNIQUE = (FREE, KEYED, FEED, TAXED, FINITE), (SERIALS, ROYAL)
SCHEDULE = 3001
ACCOUNTS = (TREASURY, HOLDER, OPEN, SLOTTED, NAMED, *CONTRACTS)
ADDRESS_OF_NAMED = bytes([0xD5]) * 20
HBAR = 10**13
UNITS, MINTED = 10_000, 9
#: A serial of each unique token that the first contract owns.
CONTRACT_SERIAL = 1

_PEOPLE = Key(ed25519=bytes(32)).SerializeToString()
_OF_CONTRACT = [Key(contractID=ContractID(contractNum=each)).SerializeToString() for each in CONTRACTS]
_CONTRACT = _OF_CONTRACT[0]
_KEYS = ("kyc_key", "freeze_key", "wipe_key", "supply_key", "pause_key", "fee_schedule_key", "metadata_key")
_FEE = {"all_collectors_are_exempt": False, "collector_account_id": TREASURY}
_HOLDERS = (TREASURY, CONTRACTS[0], HOLDER, NAMED, CONTRACTS[1])


def owner_of(serial: int) -> int:
    """Who has a serial before a call; there is at least one of each that is minted."""
    return _HOLDERS[serial % len(_HOLDERS)]


def ledger(build: Build) -> None:
    build.block(7)
    build.entity(FEE_COLLECTOR, balance=5)
    for number in (TREASURY, HOLDER):
        build.entity(number, balance=HBAR, key=_PEOPLE)
    build.entity(OPEN, balance=HBAR, key=_PEOPLE, max_automatic_token_associations=-1)
    build.entity(SLOTTED, balance=HBAR, key=_PEOPLE, max_automatic_token_associations=2)
    build.entity(NAMED, balance=HBAR, key=_PEOPLE, evm_address=ADDRESS_OF_NAMED, alias=ADDRESS_OF_NAMED)
    for number, key in zip(CONTRACTS, _OF_CONTRACT, strict=True):
        contract(build, number, RUNTIME, balance=HBAR, key=key, max_automatic_token_associations=1)
    _tokens(build)
    build.entity(SCHEDULE, type="SCHEDULE", key=_PEOPLE)
    build.schedule(SCHEDULE, creator=HOLDER, payer=HOLDER)
    for receiver, token, serial, amount in ((NAMED, FREE, 0, 7), (CONTRACTS[1], ROYAL, CONTRACT_SERIAL, 0)):
        insert(
            "token_airdrop",
            **{"sender_account_id": CONTRACTS[0], "receiver_account_id": receiver, "token_id": token},
            **{"serial_number": serial, "amount": amount or None, "state": "PENDING"},
            timestamp_range=time_range(START),
        )
    build.allowance("crypto", owner=HOLDER, spender=CONTRACTS[0], amount=1_000)
    build.allowance("token", owner=HOLDER, spender=CONTRACTS[0], token_id=FREE, amount=500)
    build.allowance("nft", owner=HOLDER, spender=CONTRACTS[1], token_id=SERIALS)


def _tokens(build: Build) -> None:
    fixed = {**_FEE, "amount": 3, "denominating_token_id": None}
    in_units = {**_FEE, "amount": 2, "denominating_token_id": FREE, "collector_account_id": HOLDER}
    fraction = {
        **_FEE,
        **{"numerator": 1, "denominator": 10, "minimum_amount": 1, "maximum_amount": 50},
        "net_of_transfers": False,
    }
    royalty = {**_FEE, "numerator": 1, "denominator": 10, "fallback_fee": {"amount": 5}}
    _token(build, FREE)
    _token(build, KEYED, keys=_CONTRACT, granted=True)
    _token(build, FEED, keys=_PEOPLE)
    build.custom_fee(FEED, fixed_fees=[fixed, in_units])
    _token(build, TAXED, keys=_PEOPLE)
    build.custom_fee(TAXED, fractional_fees=[fraction])
    _token(build, FINITE, keys=_PEOPLE, max_supply=7 * UNITS, supply_type="FINITE")
    _token(build, SERIALS, keys=_CONTRACT, granted=True)
    _token(build, ROYAL, keys=_PEOPLE)
    build.custom_fee(ROYAL, royalty_fees=[royalty])


def _token(
    build: Build, number: int, *, keys: bytes | None = None, granted: bool = False, **columns: Any
) -> None:
    unique = number in UNIQUE
    build.entity(number, type="TOKEN", key=keys)
    given: dict[str, Any] = {} if keys is None else dict.fromkeys(_KEYS, keys)
    if keys is not None:
        given |= {"freeze_status": 2, "kyc_status": 2 if granted else 0, "pause_status": "UNPAUSED"}
        given |= {} if granted else {"kyc_key": None}
    # Not all are associated, so that some receivers become so, or have to claim what they get.
    holders = _HOLDERS if keys else (*_HOLDERS[:-2], CONTRACTS[2])
    given["total_supply"] = MINTED if unique else UNITS * len(holders)
    given["type"] = "NON_FUNGIBLE_UNIQUE" if unique else "FUNGIBLE_COMMON"
    build.token(number, **given | columns)
    owners = {serial: owner_of(serial) for serial in range(1, MINTED + 1)} if unique else {}
    for serial, owner in owners.items():
        build.nft(number, serial, account=owner)
    for holder in holders:
        held = list(owners.values()).count(holder) if unique else UNITS
        statuses = {"freeze_status": 2, "kyc_status": 1} if granted else {}
        build.holding(number, account=holder, balance=held, automatic_association=False, **statuses)
    if number == FREE:
        build.holding(number, account=SLOTTED, balance=0, automatic_association=True)


# WHAT ADDS UP


class Snapshot(NamedTuple):
    """All that is live after a call, as the ledger it changed says."""

    entities: dict[int, Entity]
    tokens: dict[int, Token]
    relationships: dict[tuple[int, int], Relationship]
    nfts: dict[tuple[int, int], Nft]
    hbars: dict[int, int]


def snapshot(ledger: Overlay) -> Snapshot:
    """Read everything that was there before or is mentioned in what the call has changed."""
    rows = dict(ledger.journal.rows())
    entities = _known(rows, "entity", (*ACCOUNTS, FEE_COLLECTOR, *FUNGIBLE, *UNIQUE, SCHEDULE))
    tokens = {number: token for number in entities if (token := ledger.token(number)) is not None}
    pairs = {(token, account) for token in tokens for account in entities}
    serials = {(token, serial) for token in UNIQUE for serial in range(1, MINTED + 1)}
    serials |= {(key[1], key[2]) for key in rows if key[0] == "nft"}  # type: ignore[index]
    return Snapshot(
        {number: entity for number in entities if (entity := ledger.entity(number)) is not None},
        tokens,
        {pair: row for pair in pairs if (row := ledger.relationship(tokens[pair[0]], pair[1])) is not None},
        {key: nft for key in serials if key[0] in tokens and (nft := ledger.nft(*key)) is not None},
        {number: ledger.hbar_balance(number) for number in entities},
    )


def _known(rows: dict[Any, Any], kind: str, before: Iterable[int]) -> set[int]:
    return {*before, *(key[1] for key in rows if key[0] == kind)}


def faults(ledger: Overlay, found: Snapshot, hbar_before: int) -> list[str]:
    """Say what does not add up."""
    return [
        *(fault for token in found.tokens.values() for fault in _token_faults(ledger, found, token)),
        *(fault for number in found.entities for fault in _account_faults(ledger, found, number)),
        *([] if sum(found.hbars.values()) == hbar_before else [f"hbar {sum(found.hbars.values())}"]),
        *(f"hbar of {number}: {held}" for number, held in found.hbars.items() if held < 0),
    ]


def _token_faults(ledger: Overlay, found: Snapshot, token: Token) -> Iterable[str]:
    held = {row.account_id: row.balance for key, row in found.relationships.items() if key[0] == token.id}
    supply = ledger.total_supply(token)
    if sum(held.values()) != supply:
        yield f"supply of {token.id} is {supply}, but {held} are held"
    if any(balance < 0 for balance in held.values()):
        yield f"{held} of {token.id} are held"
    if token.finite and supply > token.max_supply:
        yield f"supply of {token.id} is {supply}, which is too much"
    if token.treasury_account_id not in held:
        yield f"the treasury of {token.id} is not associated"
    if token.unique:
        owners = [nft.account_id for key, nft in found.nfts.items() if key[0] == token.id]
        counted = {account: owners.count(account) for account in {*owners, *held}}
        if counted != held:
            yield f"{counted} own serials of {token.id}, {held} are counted"
        newest = max((key[1] for key in found.nfts if key[0] == token.id), default=0)
        if ledger.newest_serial(token.id) < newest:
            yield f"serial {newest} of {token.id} is newer than the newest"


def _account_faults(ledger: Overlay, found: Snapshot, number: int) -> Iterable[str]:
    own = [row for key, row in found.relationships.items() if key[1] == number]
    # Relationships with a deleted token stay.
    deleted = {key[1] for key in ledger.journal.rows() if key[0] == "deleted token"}  # type: ignore[index]
    gone = {token for token in (*FUNGIBLE, *UNIQUE) if token not in found.tokens} | deleted
    counted = ledger.associations(number)
    if not gone and counted != (len(own), sum(row.automatic for row in own)):
        yield f"associations of {number}: {counted}, but it has {own}"
    account = found.entities[number]
    if -1 != account.max_automatic_associations < counted.automatic:
        yield f"{number} has {counted} associations, but {account.max_automatic_associations} slots"


def hbar_of(found: Snapshot) -> int:
    return sum(found.hbars.values())


def long_zero(number: int) -> bytes:
    return entity_id.long_zero(number)
