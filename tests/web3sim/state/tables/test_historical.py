import pytest

from mirror.core.values.ethereum import created_address
from tests.build import SECOND, START, insert
from tests.web3sim.state.states import account, at, current, long_zero
from web3sim.engine.interface import AccountKind, AccountRecord
from web3sim.state.proxy_code import proxy_code

pytestmark = pytest.mark.usefixtures("each_form")

EVM_ADDRESS = bytes.fromhex("830621be5815d8a1cd6f2a96d18013c6ad61c737")
DAY = 86_400 * SECOND
TREASURY = 2


def contract(build, number, code=b"\x5b", **columns):
    build.entity(number, type="CONTRACT", **columns)
    insert("contract", id=number, runtime_bytecode=code)


def change(contract_id, time, slot, *, read=b"", written=None):
    insert(
        "contract_state_change",
        consensus_timestamp=time,
        contract_id=contract_id,
        payer_account_id=TREASURY,
        slot=slot,
        value_read=read,
        value_written=written,
    )


def snapshot(time, balances=None):
    """A snapshot of the treasury and of other accounts."""
    for number, balance in {TREASURY: 1, **(balances or {})}.items():
        insert("account_balance", consensus_timestamp=time, account_id=number, balance=balance)


# ACCOUNTS


def test_the_version_of_that_time_is_read(build):
    build.entity(2001, since=START, until=START + 10, table="entity_history", ethereum_nonce=1)
    build.entity(2001, since=START + 10, until=START + 20, table="entity_history", ethereum_nonce=2)
    build.entity(
        2001, since=START + 20, created_timestamp=START, ethereum_nonce=3, receiver_sig_required=True
    )
    address = long_zero(2001)
    times = (START - 1, START, START + 9, START + 10, START + 19, START + 20)
    assert at(times[0]).account(address) is None
    assert [account(at(time), address).nonce for time in times[1:]] == [1, 1, 2, 2, 3]
    assert at(times[-1]).account(address) == AccountRecord(nonce=3, entity_id=2001)


def test_what_was_deleted_was_there_before(build):
    build.entity(2001, since=START, until=START + 10, table="entity_history")
    build.entity(2001, since=START + 10, created_timestamp=START, deleted=True)
    address = long_zero(2001)
    assert at(START + 9).account(address) == AccountRecord(entity_id=2001)
    assert at(START + 10).account(address) is None
    assert current().account(address) is None


@pytest.mark.parametrize("column", ["evm_address", "alias"])
@pytest.mark.parametrize("table", ["entity", "entity_history"])
def test_an_own_address_is_known_from_the_creation_on(build, column, table):
    build.entity(2001, since=START, until=START + 10, table="entity_history", **{column: EVM_ADDRESS})
    build.entity(
        2001,
        since=START + 10,
        created_timestamp=START,
        **({column: EVM_ADDRESS} if table == "entity" else {}),
    )
    assert at(START - 1).account(EVM_ADDRESS) is None
    assert at(START).account(EVM_ADDRESS) == AccountRecord(entity_id=2001)
    assert at(START + 10).account(EVM_ADDRESS) == AccountRecord(entity_id=2001)
    assert at(START).account(long_zero(2001)) is None


def test_an_address_names_who_had_it_then(build):
    for number, since in ((2001, START), (2002, START + 10)):
        build.entity(number, since=since, evm_address=EVM_ADDRESS)
    assert [account(at(START + after), EVM_ADDRESS).entity_id for after in (0, 9, 10)] == [2001, 2001, 2002]


def test_an_account_delegates_as_it_did_then(build, settings_of):
    settings_of({"web3.evm.evmVersion": "0.70"})
    build.entity(2001, since=START, until=START + 10, table="entity_history", delegation_address=EVM_ADDRESS)
    build.entity(2001, since=START + 10, created_timestamp=START, delegation_address=bytes(20))
    codes = [account(at(START + after), long_zero(2001)).code for after in (0, 9, 10)]
    assert codes == [bytes.fromhex("ef0100") + EVM_ADDRESS] * 2 + [b""]


def test_code_has_no_versions(build):
    contract(build, 2002, code=b"\x01\x02", balance=5)
    assert at(START).account(long_zero(2002)) == AccountRecord(
        code=b"\x01\x02", kind=AccountKind.CONTRACT, entity_id=2002
    )


@pytest.mark.parametrize("kind", [AccountKind.TOKEN, AccountKind.SCHEDULE])
def test_new_tokens_and_schedules_have_proxy_code(build, kind):
    build.entity(2003, type=kind.name)
    address = long_zero(2003)
    assert at(START).account(address) == AccountRecord(
        code=proxy_code(kind, address), kind=kind, entity_id=2003
    )
    assert at(START - 1).account(address) is None


def test_several_addresses_and_ids_are_read_at_once(build):
    build.entity(2001, ethereum_nonce=1)
    build.entity(2002, ethereum_nonce=2, evm_address=EVM_ADDRESS)
    state = at(START)
    state.load([long_zero(2001), EVM_ADDRESS, long_zero(2003)])
    assert account(state, long_zero(2001)).nonce == 1
    assert account(state, EVM_ADDRESS).nonce == 2
    assert state.account(long_zero(2003)) is None


# BALANCES


def balance_at(time, number=2001):
    return account(at(time), long_zero(number)).balance


def test_a_balance_is_that_of_the_last_snapshot_and_the_transfers_since(build):
    build.entity(2001, since=START - 40 * DAY, balance=7000)
    snapshot(START - 20, {2001: 1000})
    snapshot(START - 10)
    for time, amount in ((START - 20, 10_000), (START - 5, 50), (START, 500), (START + 1, 9)):
        build.crypto_transfer(time, 2001, amount)
    build.crypto_transfer(START, 2001, 77, errata="DELETE")
    build.crypto_transfer(START, 2001, 3, errata="INSERT")
    assert [balance_at(START + after) for after in (-20, -6, -5, 0, 1)] == [1000, 1000, 1050, 1553, 1562]
    assert account(current(), long_zero(2001)).balance == 7000


def test_without_a_snapshot_all_transfers_count(build):
    build.entity(2001, since=START - 400 * DAY)
    build.crypto_transfer(START - 300 * DAY, 2001, 30)
    build.crypto_transfer(START, 2001, 4)
    assert [balance_at(START - 1), balance_at(START)] == [30, 34]


def test_a_snapshot_of_more_than_31_days_before_does_not_count(build):
    build.entity(2001, since=START - 400 * DAY)
    snapshot(START - 31 * DAY, {2001: 1000})
    build.crypto_transfer(START - 1, 2001, 4)
    assert balance_at(START - 1) == 1004
    assert balance_at(START) == 4


def test_balance_row_may_be_31_days_before_the_snapshot(build):
    build.entity(2001, since=START - 400 * DAY)
    snapshot(START - 60 * DAY, {2001: 1000})
    snapshot(START - 30 * DAY)
    build.crypto_transfer(START - 45 * DAY, 2001, 4)
    assert balance_at(START) == 1004
    snapshot(START - 29 * DAY)
    assert balance_at(START + SECOND) == 4


def test_before_its_creation_an_account_holds_nothing(build):
    build.entity(2001, since=0, created_timestamp=START)
    build.crypto_transfer(START - 5, 2001, 4)
    assert [balance_at(START - 1), balance_at(START)] == [0, 4]


def test_of_the_fee_account_the_snapshot_is_read(build):
    build.entity(98)
    snapshot(START, {98: 1000})
    build.crypto_transfer(START + 1, 98, 4)
    assert balance_at(START + 1, 98) == 1000


def test_tokens_hold_nothing(build):
    build.entity(2003, type="TOKEN")
    build.crypto_transfer(START, 2003, 4)
    assert balance_at(START, 2003) == 0


# STORAGE


def test_a_slot_is_what_its_last_change_left(build):
    contract(build, 2002)
    change(2002, START, b"", written=b"\x0a")
    change(2002, START + 10, b"", read=b"\x0a", written=b"\x14")
    change(2002, START + 15, b"", read=b"\x14")
    change(2002, START + 20, b"", read=b"\x14", written=b"")
    change(2002, START, b"\x01\x00", read=b"\x4d")
    address = long_zero(2002)
    times = (START, START + 9, START + 10, START + 15, START + 20)
    assert [at(time).slot(address, 0) for time in times] == [0x0A, 0x0A, 0x14, 0x14, 0]
    assert at(START).slot(address, 256) == 0x4D
    assert at(START).slot(address, 1) == 0


def test_slot_without_earlier_change_is_zero_or_current(build, settings_of):
    contract(build, 2002)
    insert(
        "contract_state",
        contract_id=2002,
        slot=bytes(31) + b"\x05",
        value=b"\x69",
        created_timestamp=START,
        modified_timestamp=START,
    )
    change(2002, START + 10, b"\x05", written=b"\x69")
    assert at(START + 9).slot(long_zero(2002), 5) == 0
    settings_of({"web3.evm.storageFallback": True})
    assert at(START + 8).slot(long_zero(2002), 5) == 0x69


def test_every_state_time_is_cached_apart(build):
    contract(build, 2002)
    change(2002, START, b"", written=b"\x0a")
    change(2002, START + 1, b"", written=b"\x0b")
    address = long_zero(2002)
    assert [at(START + after).slot(address, 0) for after in (0, 1, 0)] == [10, 11, 10]


# NONCES


def test_the_nonce_of_a_contract_is_that_of_its_next_creation(build):
    """Creations 1 to 40, one each second; 3 and 38 failed, or were by CREATE2."""
    contract(build, 2002, ethereum_nonce=41, evm_address=EVM_ADDRESS)
    for number in range(1, 41):
        if number not in (3, 38):
            address = created_address(EVM_ADDRESS, number)
            build.entity(5000 + number, type="CONTRACT", since=START + number, evm_address=address)
    nonces = {
        after: account(at(START + after), EVM_ADDRESS).nonce for after in (0, 1, 2, 3, 36, 37, 38, 39, 40)
    }
    assert nonces == {0: 1, 1: 2, 2: 4, 3: 4, 36: 37, 37: 39, 38: 39, 39: 40, 40: 41}
    assert account(current(), EVM_ADDRESS).nonce == 41


def test_a_contract_that_created_nothing_has_the_nonce_of_its_version(build):
    contract(build, 2002, ethereum_nonce=1)
    contract(build, 2003, ethereum_nonce=5)
    build.entity(2004, ethereum_nonce=7)
    assert [account(at(START), long_zero(number)).nonce for number in (2002, 2003, 2004)] == [1, 5, 7]
