"""A ledger of schedules, and the arguments of the schedule service."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from eth_abi.abi import encode

from mirror.core.values.hapi.messages import ContractID, Key, SchedulableTransactionBody
from tests.build import insert
from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.calls import CODES, Calls, words
from web3sim.engine.interface import AccountKind
from web3sim.state.proxy_code import SCHEDULE_SERVICE
from web3sim.state.tables.rows import Schedule
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

PERSON, CONTRACT, TOKEN, SCHEDULE, EXECUTED, DELETED, OURS = 1001, 1002, 3001, 4001, 4002, 4003, 4004
NOBODY = bytes(20)
ADMIN = Key(ed25519=bytes(range(32))).SerializeToString()
BY_CONTRACT = Key(contractID=ContractID(contractNum=CONTRACT)).SerializeToString()
TIMED = "uint256,uint256,uint64,bytes"
CALL, WITH_PAYER = f"scheduleCall(address,{TIMED})", f"scheduleCallWithPayer(address,address,{TIMED})"
ON_SIGNATURE = f"executeCallOnPayerSignature(address,address,{TIMED})"
NATIVE = "scheduleNative(address,bytes,address)"
SIGN = "signSchedule(address,bytes)"
CREATE = "createFungibleToken(HederaTokenV3,int64,int32)"


@pytest.fixture
def ledger(build):
    build.entity(PERSON, key=ADMIN)
    build.entity(CONTRACT, type="CONTRACT")
    build.entity(TOKEN, type="TOKEN", key=ADMIN)
    build.token(TOKEN)
    for number, key in ((SCHEDULE, ADMIN), (EXECUTED, ADMIN), (DELETED, None), (OURS, None)):
        build.entity(number, type="SCHEDULE", key=key, deleted=number == DELETED)
        insert(
            "schedule",
            schedule_id=number,
            consensus_timestamp=number,
            creator_account_id=PERSON,
            payer_account_id=PERSON,
            transaction_body=b"",
            executed_timestamp=5000 if number == EXECUTED else None,
        )
    return build


@pytest.fixture
def calls(ledger):
    return Calls(SCHEDULE_SERVICE, sender=CONTRACT)


def made(calls: Calls, signature: str, *arguments: Any) -> Schedule:
    """The schedule that a call makes."""
    answer = calls(signature, *arguments)
    assert answer.output[:32] == words(CODES["SUCCESS"]), answer
    record = calls.journal.current(answer.output[-20:])
    assert record is not None
    assert record.kind is AccountKind.SCHEDULE
    assert record.code
    assert record.entity_id is not None
    schedule = calls.overlay.schedule(record.entity_id)
    assert schedule is not None
    return schedule


def body_of(schedule: Schedule) -> Any:
    return SchedulableTransactionBody.FromString(schedule.transaction_body)


def creation(**changes: Any) -> bytes:
    members: dict[str, Any] = {"name": "Gold", "symbol": "GLD", "treasury": long_zero(PERSON)}
    members = members | {"memo": "", "finite": True, "max_supply": 9, "freeze_default": False, "keys": []}
    members["expiry"] = (0, long_zero(PERSON), 7_776_000)
    arguments = (tuple((members | changes).values()), 5, 2)
    return selector_of(CREATE) + encode(parameters_of(CREATE), arguments)


def parse_body(number: int) -> bytes:
    return b"".join(part.to_bytes(8, "big") for part in (0, 0, number))


def public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()
