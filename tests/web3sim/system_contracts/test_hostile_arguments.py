"""Arguments that nobody would send in earnest: whatever they are, a function answers, refuses or halts."""

import os
import random
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_abi.grammar import parse

from mirror.core.values.hapi.messages import ContractID, Key
from tests.build import START
from tests.web3sim.state.states import at, current, journal, long_zero
from tests.web3sim.system_contracts.calls import CALLER
from web3sim.engine.interface import AccountKind, Address, SystemCall
from web3sim.state.overlay import Overlay
from web3sim.system_contracts.contracts import SERVICES, NetworkContracts
from web3sim.system_contracts.function_signatures import parameters_of, selector_of
from web3sim.system_contracts.functions import Function
from web3sim.system_contracts.token_service.functions import CHANGES, CREATIONS, FUNCTIONS

TREASURY, HOLDER, CONTRACT, HOLLOW = 1001, 1002, 5001, 1003
TOKEN, UNIQUE, SCHEDULE = 3001, 3002, 4001
ALIAS = bytes.fromhex("aa" * 20)
ENTITIES = (98, TREASURY, HOLDER, CONTRACT, HOLLOW, CALLER, 1005)
PEOPLE = Key(ed25519=bytes(32)).SerializeToString()
KEYS = ("kyc_key", "freeze_key", "wipe_key", "supply_key", "pause_key", "fee_schedule_key", "metadata_key")

#: Sequences of calls that are played; more of them by hand.
SEQUENCES = int(os.environ.get("MIRROR_TEST_HOSTILE", "8"))

ADDRESSES = (
    bytes(20),
    bytes([255]) * 20,
    ALIAS,
    *map(long_zero, (1, 98, 0x167, 0x16A, 800, *ENTITIES, TOKEN, UNIQUE, SCHEDULE, 3003, 3004, 9999, 10_001)),
    long_zero(2**63 - 1),
    (2**64 - 1).to_bytes(20, "big"),
)
NUMBERS = (0, 1, 2, 3, 4, 22, 60, 1000, 2**31 - 1, 2**32 - 1, 2**63 - 1)
BYTES = (b"", b"\0", b"\xff\xfe", bytes(32), bytes(33), b"a" * 64, b"a" * 65, b"a" * 101, PEOPLE)
STRINGS = ("", "a", "\0", "ä" * 50, "x" * 101, "\U0001f600")


@pytest.fixture
def ledger(build):
    build.block(7)
    for number in ENTITIES:
        kind = "CONTRACT" if number == CONTRACT else "ACCOUNT"
        build.entity(number, type=kind, balance=10**12, key=None if number == HOLLOW else PEOPLE)
    key = Key(contractID=ContractID(contractNum=CONTRACT)).SerializeToString()
    build.entity(1006, evm_address=ALIAS, balance=5, key=key, receiver_sig_required=True)
    for number, kind in ((TOKEN, "FUNGIBLE_COMMON"), (UNIQUE, "NON_FUNGIBLE_UNIQUE")):
        build.entity(number, type="TOKEN", key=PEOPLE)
        build.token(
            number,
            type=kind,
            treasury_account_id=TREASURY,
            freeze_status=2,
            kyc_status=1,
            pause_status="UNPAUSED",
            **dict.fromkeys(KEYS, PEOPLE),
        )
        for holder, balance in ((TREASURY, 100), (HOLDER, 60), (CALLER, 3)):
            build.holding(number, account=holder, balance=balance)
    for serial in (1, 2, 3, 4):
        build.nft(UNIQUE, serial, account=(TREASURY, HOLDER, CALLER, CALLER)[serial - 1])
    build.entity(3003, type="TOKEN")
    build.entity(3004, type="TOKEN", deleted=True)
    build.token(3004)
    build.schedule(SCHEDULE)
    return build


def _some(rng: random.Random, kind: Any) -> Any:
    """A value of a parsed type, mostly at some border."""
    if kind.is_array:
        length = rng.choice((0, 0, 1, 1, 2, 11))
        return [_some(rng, kind.item_type) for _ in range(length)]
    if hasattr(kind, "components"):
        return tuple(_some(rng, each) for each in kind.components)
    if kind.base == "address":
        return rng.choice(ADDRESSES)
    if kind.base == "bool":
        return rng.random() < 0.5
    if kind.base == "string":
        return rng.choice(STRINGS)
    if kind.base == "bytes":
        return rng.choice(BYTES) if rng.random() < 0.7 else rng.randbytes(rng.randrange(200))
    bits = int(kind.sub)
    if kind.base == "uint":
        return rng.choice([each for each in (*NUMBERS, 2**64 - 1, 2**255, 2**256 - 1) if each < 2**bits])
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return rng.choice([low, -1, *(each for each in NUMBERS if each <= high), high])


def _arguments(rng: random.Random, function: Function) -> bytes:
    return encode(function.parameters, [_some(rng, parse(each)) for each in function.parameters])


def _calls(rng: random.Random) -> tuple[Address, Address, bytes, Function]:
    """The service, whom it is called as, the call data and the function."""
    address, service = rng.choice([each for each in SERVICES.items() if each[1].functions])
    by_proxy = bool(service.proxy_functions) and rng.random() < 0.4
    functions = service.proxy_functions if by_proxy else service.functions
    selector, function = rng.choice(list(functions.items()))
    values = [_some(rng, parse(each)) for each in function.parameters]
    if function.signature.startswith("scheduleNative"):
        inner = FUNCTIONS[selector_of(rng.choice([*CREATIONS, *CHANGES]))]
        values[0], values[1] = long_zero(0x167), inner.selector + _arguments(rng, inner)
    data = selector + encode(parameters_of(function.signature), values)
    if rng.random() < 0.1:
        place = rng.randrange(len(data))
        data = data[:place] + rng.randbytes(rng.randrange(40)) + data[place + rng.randrange(40) :]
        data = selector + data[4:]
    recipient = address
    if by_proxy:
        targets = {
            AccountKind.TOKEN: (TOKEN, UNIQUE, 3003),
            AccountKind.ACCOUNT: (HOLDER, CALLER),
            AccountKind.SCHEDULE: (SCHEDULE,),
        }
        assert service.redirect is not None and service.proxied is not None
        recipient = long_zero(rng.choice(targets[service.proxied]))
        data = service.redirect + recipient + data
    return address, recipient, data, function


def _changes(overlay: Overlay) -> dict[Any, Any]:
    """Return the rows; that a call could not be scheduled is none of the ledger's."""
    return {key: row for key, row in overlay.journal.rows().items() if key != ("scheduling refused",)}


def _hbar(overlay: Overlay) -> int:
    return sum(
        overlay.journal.get_balance(address) for address in (ALIAS, *map(long_zero, (*ENTITIES, 0x167)))
    )


@pytest.mark.parametrize("state_of", [current, lambda: at(START + 10**12)], ids=["now", "past"])
def test_any_arguments_end_and_refusals_change_nothing(ledger, state_of):
    for seed in range(SEQUENCES):
        rng = random.Random(seed)
        state = state_of()
        overlay = Overlay(state, journal(state))
        contracts = NetworkContracts(state)
        for _ in range(20):
            address, recipient, data, function = _calls(rng)
            sender = long_zero(rng.choice((CALLER, HOLDER, CONTRACT, TREASURY, HOLLOW, 9999)))
            call = SystemCall(
                address,
                recipient,
                sender,
                data,
                0,
                10**6,
                static=rng.random() < 0.1,
                depth=1,
                sender_is_delegated=rng.random() < 0.1,
            )
            before, hbar = _changes(overlay), _hbar(overlay)
            try:
                answer = contracts.call(call, overlay.journal)
            except Exception as error:
                error.add_note(f"seed {seed}: {function.signature} {data.hex()}")
                raise
            what = f"seed {seed}: {function.signature} {data.hex()} {answer}"
            assert answer.gas >= 0, what
            if answer.halt is not None or answer.reverted or answer.child not in (None, "SUCCESS"):
                assert _changes(overlay) == before, what
                assert not answer.logs, what
            assert _hbar(overlay) == hbar, what
