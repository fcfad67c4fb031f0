"""New metadata for serials in a call."""

import pytest
from eth_abi.abi import encode

from mirror.core.values.hapi.result_codes import NAMES
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.calls import SERVICE, run
from tests.web3sim.system_contracts.scripts import Step
from tests.web3sim.system_contracts.token_service.ledger import (
    FOREIGN,
    HOLDER,
    PEOPLE,
    SUCCESS,
    TOKEN,
    UNIQUE,
    ask,
    codes,
    people,
    scripted,
    token,
)
from web3sim.engine.interface import CallResult, Halt
from web3sim.system_contracts.abi import one_string
from web3sim.system_contracts.signatures import selector_of

UPDATE = "updateNFTsMetadata(address,int64[],bytes)"
PAUSED = 3004
SIGNATURE = "INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE"


@pytest.fixture
def ledger(build):
    """Serials 1 and 2 are the treasury's, 3 is the holder's."""
    people(build)
    token(build, TOKEN)
    token(build, UNIQUE, type="NON_FUNGIBLE_UNIQUE", supply_key=None)
    serials(build, UNIQUE)
    return build


def serials(build, number):
    for serial_number, owner in enumerate((1001, None, HOLDER), start=1):
        build.nft(number, serial_number, account=owner)


def data(number: int, numbers: list[int], metadata: bytes = b"new") -> bytes:
    return selector_of(UPDATE) + encode(
        ("address", "int64[]", "bytes"), (long_zero(number), numbers, metadata)
    )


def update(number: int, numbers: list[int], metadata: bytes = b"new") -> CallResult:
    return run(current(), SERVICE, data(number, numbers, metadata))


def code(number: int, numbers: list[int], metadata: bytes = b"new") -> str:
    return NAMES[int.from_bytes(update(number, numbers, metadata).output)]


def test_serials_get_new_metadata(ledger):
    found = scripted(
        ledger,
        Step(SERVICE, data(UNIQUE, [1, 3, 1])),
        *(ask(UNIQUE, "tokenURI(uint256)", number) for number in (1, 2, 3)),
        ask(UNIQUE, "ownerOf(uint256)", 3),
        Step(SERVICE, data(UNIQUE, [3], b"")),
        ask(UNIQUE, "tokenURI(uint256)", 3),
    )
    assert codes([found[0], found[4], found[5]]) == [SUCCESS, HOLDER, SUCCESS]
    assert [found[index].output for index in (1, 2, 3, 6)] == [
        one_string(text) for text in (b"new", b"metadata", b"new", b"")
    ]


@pytest.mark.parametrize(
    ("metadata_key", "supply_key", "of_treasury", "of_others"),
    [
        (PEOPLE, None, "SUCCESS", "SUCCESS"),
        (None, PEOPLE, "SUCCESS", "TOKEN_HAS_NO_METADATA_KEY"),
        (None, None, "TOKEN_HAS_NO_METADATA_OR_SUPPLY_KEY", "TOKEN_HAS_NO_METADATA_KEY"),
        (FOREIGN, PEOPLE, "SUCCESS", SIGNATURE),
        (FOREIGN, FOREIGN, SIGNATURE, SIGNATURE),
        (FOREIGN, None, SIGNATURE, SIGNATURE),
    ],
)
def test_of_the_treasurys_serials_the_supply_key_may_decide(
    build, metadata_key, supply_key, of_treasury, of_others
):
    people(build)
    keys = {"metadata_key": metadata_key, "supply_key": supply_key}
    token(build, UNIQUE, type="NON_FUNGIBLE_UNIQUE", **keys)
    serials(build, UNIQUE)
    assert code(UNIQUE, [1, 2]) == of_treasury
    assert code(UNIQUE, [1, 3]) == of_others


@pytest.mark.parametrize(
    ("number", "numbers", "metadata", "expected"),
    [
        (UNIQUE, [1], b"m" * 100, "SUCCESS"),
        (3999, [], b"", "MISSING_SERIAL_NUMBERS"),
        (3999, [1], b"", "INVALID_TOKEN_ID"),
        (TOKEN, [1], b"", "INVALID_NFT_ID"),
        (UNIQUE, [1, 0], b"", "INVALID_NFT_ID"),
        (UNIQUE, [3] * 11, b"m" * 101, "METADATA_TOO_LONG"),
        (UNIQUE, [3] * 11, b"", "BATCH_SIZE_LIMIT_EXCEEDED"),
        (UNIQUE, [3, 9], b"", "INVALID_NFT_ID"),
        (UNIQUE, [3, 0], b"", "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
    ],
)
def test_new_metadata_are_refused_in_the_networks_order(ledger, number, numbers, metadata, expected):
    assert code(number, numbers, metadata) == expected


def test_nothing_is_updated_when_one_serial_is_missing(ledger):
    found = scripted(ledger, Step(SERVICE, data(UNIQUE, [3, 9])), ask(UNIQUE, "tokenURI(uint256)", 3))
    assert codes(found[:1]) == [226]
    assert found[1].output == one_string(b"metadata")


def test_serials_of_a_paused_token_get_new_metadata(ledger):
    token(ledger, PAUSED, type="NON_FUNGIBLE_UNIQUE", pause_status="PAUSED")
    serials(ledger, PAUSED)
    assert code(PAUSED, [3]) == "SUCCESS"


def test_it_costs_the_canonical_price_and_halts_in_static_frames(ledger):
    assert update(UNIQUE, [1, 3]).execution_gas == 15_284
    assert run(current(), SERVICE, data(UNIQUE, [1]), static=True).halt is Halt.PRECOMPILE
