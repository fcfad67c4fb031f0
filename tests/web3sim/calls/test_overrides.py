"""State overrides of calls."""

import json
import random
from http import HTTPStatus
from typing import Any

import pytest

from tests.build import SECOND, START, insert
from tests.web3sim.engine.world import RETURN_TOP, code
from tests.web3sim.rows import ANSWERS, CALLER, TREASURY, asked, contract, long_zero, network
from web3sim.calls import overrides
from web3sim.calls.body import CallBody, InvalidBody, parse
from web3sim.calls.call import answer
from web3sim.calls.overrides import OverrideText
from web3sim.state.blocks import parse_block
from web3sim.state.overridden_state import Override

ADDRESS = "0x" + "c0de" * 10
NOBODY = bytes.fromhex("c0de" * 10)
WORD = f"0x{1:064x}"
SLOT = {"key": WORD, "value": WORD}
OWN_ADDRESS = bytes.fromhex("830621be5815d8a1cd6f2a96d18013c6ad61c737")
#: Returns the balance of the address in the call data; its code size; what is in the slot of that number.
BALANCE, SIZE, STORED = (
    code(0, "CALLDATALOAD", operation, *RETURN_TOP) for operation in ("BALANCE", "EXTCODESIZE", "SLOAD")
)
HEX_RULE = "field invalid hexadecimal string"


def read(*sent: object, **others: object) -> CallBody:
    return parse(json.dumps({"state_overrides": list(sent), **others}).encode())


def details(*sent: object) -> tuple[str, ...]:
    with pytest.raises(InvalidBody) as refused:
        read(*sent)
    return refused.value.details


# THE BODY


def test_overrides_are_read_as_sent_and_unknown_members_passed_over():
    complete = {"address": ADDRESS, "balance": "0x10", "code": "6001", "nonce": 7, "color": {"is": ["red"]}}
    call = read(complete, {"address": ADDRESS, "state": [], "state_diff": None}, {"address": ADDRESS[2:]})
    assert call.state_overrides == (
        OverrideText(ADDRESS, "0x10", "6001", "7"),
        OverrideText(ADDRESS, state=()),
        OverrideText(ADDRESS[2:]),
    )


def test_overrides_say_what_their_texts_mean():
    whole = {"address": ADDRESS, "balance": "ffffffffffffffff", "code": "0x", "nonce": "0x7", "state": [SLOT]}
    part = {"address": ADDRESS, "state_diff": [SLOT, {"key": WORD, "value": "0" * 64}]}
    nothing = {"address": ADDRESS, "state": []}
    assert overrides.decoded(read(whole, part, nothing).state_overrides) == (
        Override(NOBODY, 2**64 - 1, b"", 7, {1: 1}, is_whole_storage=True),
        Override(NOBODY, slots={1: 0}),
        Override(NOBODY, slots={}, is_whole_storage=True),
    )


@pytest.mark.parametrize("nothing", [None, []])
def test_without_overrides_there_are_none(nothing):
    assert parse(json.dumps({"state_overrides": nothing}).encode()) == CallBody()


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"address": "0x1234"}, f"address {HEX_RULE}"),
        ({"balance": "0x1"}, "address field must not be empty"),
        ({"address": ADDRESS, "balance": "0x11111111111111111"}, f"balance {HEX_RULE}"),
        ({"address": ADDRESS, "balance": "0x"}, f"balance {HEX_RULE}"),
        ({"address": ADDRESS, "nonce": "0x11111111111111111"}, f"nonce {HEX_RULE}"),
        ({"address": ADDRESS, "nonce": "-1"}, f"nonce {HEX_RULE}"),
        ({"address": ADDRESS, "code": "0xzz"}, f"code {HEX_RULE}"),
        ({"address": ADDRESS, "code": "0x123"}, f"code {HEX_RULE}"),
        ({"address": ADDRESS, "state": [{"key": "0x01", "value": WORD}]}, f"state.key {HEX_RULE}"),
        ({"address": ADDRESS, "state_diff": [{"key": WORD}]}, f"state_diff.value {HEX_RULE}"),
        ({"address": ADDRESS, "state": [SLOT] * 101}, "state field must have at most 100 items"),
    ],
    ids=str,
)
def test_each_rule_has_its_sentence(sent, expected):
    assert details({"address": ADDRESS}, sent) == (f"state_overrides[1].{expected}",)


def test_storage_is_replaced_whole_or_in_part():
    sentences = details({"address": ADDRESS, "state": [SLOT], "state_diff": [SLOT]})
    assert sentences == ("state and state_diff are mutually exclusive",)


def test_there_are_at_most_a_hundred_overrides_of_a_hundred_slots_each():
    assert len(read(*[{"address": ADDRESS}] * 100).state_overrides) == 100
    assert details(*[{"address": "nonsense"}] * 101) == ("state_overrides field must have at most 100 items",)
    # As many slots as the document has room for.
    full = {"address": ADDRESS, "balance": "1", "code": "", "nonce": "1", "state": [SLOT] * 100}
    assert len(read(*[full] * 16).state_overrides) == 16


@pytest.mark.parametrize(
    "sent",
    ["text", {"address": ADDRESS}, 5, [None], ["x"], [[]], [{"address": {}}], [{"address": True}]]
    + [[{"address": ADDRESS, "state": {}}], [{"address": ADDRESS, "state": [5]}]],
    ids=str,
)
def test_what_is_no_list_of_overrides_is_a_problem_of_the_document(sent):
    with pytest.raises(InvalidBody, match="^JSON parse error: "):
        parse(json.dumps({"state_overrides": sent}).encode())


def test_only_the_list_of_overrides_may_be_long():
    lists = {"state_overrides": [{"address": ADDRESS}] * 90}
    assert parse(json.dumps({**lists, "x": [1] * 90}).encode())
    for other in (
        {**lists, "x": [1] * 100},
        {"x": {"state_overrides": [1] * 100}},
        {"x": "state_overrides", "y": [1] * 100},
    ):
        with pytest.raises(InvalidBody, match="^JSON parse error: The document has more than 100"):
            parse(json.dumps(other).encode())
    with pytest.raises(InvalidBody, match="^JSON parse error: state_overrides has more than "):
        parse(b'{"state_overrides": [' + b"1," * 70_000 + b"1]}")


def test_overrides_count_as_a_part_of_the_document():
    with pytest.raises(InvalidBody, match="The document is longer than 2097152 characters"):
        read({"address": ADDRESS, "code": "00" * 2**20})


# THE CALL


@pytest.fixture
def ledger(build):
    network(build)
    for number, runtime_code in ((5001, BALANCE), (5002, SIZE), (5003, STORED)):
        contract(build, number, runtime_code)
    stored(5003, 0, 0x1267)
    stored(5003, 1, 5)
    return build


def stored(contract_id: int, slot: int, value: int) -> None:
    insert(
        "contract_state",
        contract_id=contract_id,
        slot=slot.to_bytes(32, "big"),
        value=value.to_bytes(32, "big"),
        created_timestamp=START,
        modified_timestamp=START,
    )


def result(to: bytes | int, data: bytes | int = 0, *overrides: Override, **others: Any) -> int:
    answered = answer(
        asked(
            to=long_zero(to) if isinstance(to, int) else to,
            data=(data if isinstance(data, bytes) else data.to_bytes(20, "big")).rjust(32, b"\0"),
            overrides=overrides,
            **others,
        )
    )
    assert answered.status is HTTPStatus.OK, answered
    return int.from_bytes(answered.result, "big")


def test_a_balance_is_what_the_override_says(ledger):
    ledger.entity(1003, evm_address=OWN_ADDRESS, balance=7)
    assert result(5001, OWN_ADDRESS) == 7
    assert result(5001, OWN_ADDRESS, Override(OWN_ADDRESS, balance=99)) == 99
    assert result(5001, OWN_ADDRESS, Override(long_zero(1003), balance=99)) == 99
    assert result(5001, OWN_ADDRESS, Override(NOBODY, balance=99)) == 7
    assert result(5001, OWN_ADDRESS, Override(OWN_ADDRESS, nonce=99)) == 7


def test_an_account_that_is_missing_is_made_up(ledger):
    assert result(5001, NOBODY, Override(NOBODY, balance=12)) == 12
    assert result(NOBODY, 0, Override(NOBODY, code=ANSWERS)) == 42
    assert result(5002, NOBODY, Override(NOBODY, code=ANSWERS)) == len(ANSWERS)
    assert result(NOBODY, 9, Override(NOBODY, code=STORED, slots={9: 8})) == 8


def test_overridden_code_replaces_stored_code(ledger):
    assert result(5003, 0, Override(long_zero(5003), code=ANSWERS)) == 42
    assert result(5003, 0, Override(long_zero(5003), code=b"")) == 0
    # Somebody's account, too.
    assert result(CALLER, 0, Override(long_zero(CALLER), code=ANSWERS)) == 42


def test_overridden_code_is_no_proxy(ledger):
    # isValidAlias(address), of the address 0.
    asking = (bytes.fromhex("308ef301").ljust(32, b"\0"), 0, "MSTORE", 0, 0, 36, 0)
    for kind, answered in (("CALL", 1), ("DELEGATECALL", 0)):
        value = (0,) if kind == "CALL" else ()
        asker = code(*asking, *value, long_zero(0x16A), 50_000, kind, *RETURN_TOP)
        assert result(CALLER, 0, Override(long_zero(CALLER), code=asker)) == answered


def test_slots_replace_the_storage_or_a_part_of_it(ledger):
    def slots(*overrides):
        return [result(5003, slot, *overrides) for slot in (0, 1, 2)]

    assert slots() == [0x1267, 5, 0]
    part = {1: 77, 2: 78}
    assert slots(Override(long_zero(5003), slots=part)) == [0x1267, 77, 78]
    assert slots(Override(long_zero(5003), slots=part, is_whole_storage=True)) == [0, 77, 78]
    assert slots(Override(long_zero(5003), slots={}, is_whole_storage=True)) == [0, 0, 0]
    assert slots(Override(long_zero(5003), slots={0: 0})) == [0, 5, 0]
    assert slots(Override(long_zero(5001), slots=part)) == [0x1267, 5, 0]


def test_a_contract_is_known_by_all_its_addresses(ledger):
    alias = bytes([9]) * 20
    contract(ledger, 5004, STORED, evm_address=OWN_ADDRESS, alias=alias)
    for address in (OWN_ADDRESS, long_zero(5004), alias):
        assert result(OWN_ADDRESS, 1, Override(address, slots={1: 6})) == 6, address.hex()
    several = [Override(alias, slots={1: 3}), Override(long_zero(5004), slots={1: 2})]
    assert result(OWN_ADDRESS, 1, *several) == 2
    assert result(OWN_ADDRESS, 1, *several, Override(OWN_ADDRESS, slots={1: 1})) == 1


def test_a_nonce_decides_where_a_contract_is_created(ledger):
    creates = contract(ledger, 5005, code(0, 0, 0, "CREATE", *RETURN_TOP))
    before = result(creates)
    assert result(creates, 0, Override(long_zero(creates), nonce=5)) != before
    assert result(creates, 0, Override(long_zero(creates), nonce=0)) == before


def test_invented_sender_pays_from_its_override(ledger):
    says = contract(ledger, 5006, code("CALLER", *RETURN_TOP))
    assert result(says, 0, Override(NOBODY), sender=NOBODY) == int.from_bytes(NOBODY, "big")
    price = 21_000 * 71 + 32 * 4 * 71
    request = {"sender": NOBODY, "value": 10**6, "gas": 30_000}
    rich, poor = Override(NOBODY, balance=10**6 + 30_000 * 71), Override(NOBODY, balance=price)
    assert result(CALLER, 0, rich, **request) == 0
    refused = answer(asked(to=long_zero(CALLER), overrides=(poor,), **request))
    assert refused.problems[0].message == "INSUFFICIENT_PAYER_BALANCE"
    assert result(says, 0, Override(NOBODY, code=ANSWERS), sender=NOBODY) == TREASURY


def test_an_estimate_takes_overrides(ledger):
    # Writes to slot 5, which is cheap where there is a value.
    spends = contract(ledger, 5007, code(9, 5, "SSTORE", "STOP"))
    plain = result(spends, 0, estimate=True)
    assert plain > 40_000
    assert result(spends, 0, Override(long_zero(spends), slots={5: 1}), estimate=True) < 30_000
    assert result(spends, 0, estimate=True) == plain


def test_a_call_at_a_past_block_takes_overrides(ledger):
    ledger.block(8, end=START + 50 * SECOND)
    ledger.block(9, end=START + 60 * SECOND)
    past = {"block": parse_block("8")}
    for at, value in ((START + 1, b"\1"), (START + 55 * SECOND, b"\2")):
        insert(
            "contract_state_change",
            consensus_timestamp=at,
            contract_id=5003,
            payer_account_id=CALLER,
            slot=b"\7",
            value_read=b"",
            value_written=value,
        )
    assert result(5003, 7, **past) == 1
    assert result(5003, 7, Override(long_zero(5003), slots={7: 9}), **past) == 9
    assert result(5003, 7, Override(long_zero(5003), slots={8: 9}), **past) == 1
    assert result(5001, CALLER, Override(long_zero(CALLER), balance=3), **past) == 3
    assert result(NOBODY, 0, Override(NOBODY, code=ANSWERS), **past) == 42


@pytest.mark.parametrize("engine", ["pyevm", "pyevm-blocks"])
def test_overrides_end_with_their_call(ledger, engine):
    """Without overrides a call has the same result before and after any calls with them."""
    choose = random.Random(8)
    codes = [
        ANSWERS,
        BALANCE,
        SIZE,
        STORED,
        b"",
        code(0xFE, "SELFDESTRUCT"),
        code(7, 0, "SSTORE", 0, "SLOAD"),
    ]
    addresses = [*map(long_zero, (CALLER, TREASURY, 5001, 5002, 5003, 5009)), NOBODY]
    questions: list[tuple[bytes | int, bytes]] = [
        (to, data) for to in (5001, 5002, 5003) for data in (*addresses, long_zero(0), long_zero(1))
    ] + [(NOBODY, NOBODY), (5009, NOBODY), (CALLER, NOBODY)]
    expected = [result(*question, engine=engine) for question in questions]

    def some() -> Override:
        slots = {choose.randrange(3): choose.randrange(100) for _ in range(3)}
        return Override(
            choose.choice(addresses),
            choose.choice([None, 0, 10**9]),
            choose.choice([None, *codes]),
            choose.choice([None, 0, 5]),
            choose.choice([None, {}, slots]),
            choose.choice([True, False]),
        )

    for _ in range(60):
        assumed = tuple(some() for _ in range(choose.randrange(1, 6)))
        place = choose.randrange(len(questions))
        to, data = questions[place]
        answer(
            asked(
                to=long_zero(to) if isinstance(to, int) else to,
                data=data.rjust(32, b"\0"),
                overrides=assumed,
                estimate=choose.choice([True, False]),
                engine=engine,
            )
        )
        assert result(to, data, engine=engine) == expected[place]
    assert [result(*question, engine=engine) for question in questions] == expected
