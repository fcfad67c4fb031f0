import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.build import START, insert
from tests.web3sim.state.states import account, current, long_zero
from web3sim.engine.interface import AccountKind, AccountRecord, NotSupported
from web3sim.state import cache
from web3sim.state.blocks import SelectedBlock, StoredBlock
from web3sim.state.database import Reading
from web3sim.state.ledger import LedgerState
from web3sim.state.proxy_code import proxy_code

pytestmark = pytest.mark.usefixtures("each_form")

EVM_ADDRESS = bytes.fromhex("830621be5815d8a1cd6f2a96d18013c6ad61c737")
OTHER_ADDRESS = bytes.fromhex("d85bf2d38617f0bcd3320841419a798f7a81e38f")
CODE = bytes.fromhex("6001600055")


def contract(build, number, code=CODE, **columns):
    build.entity(number, type="CONTRACT", **columns)
    insert("contract", id=number, runtime_bytecode=code)


def in_block(number) -> LedgerState:
    return LedgerState(SelectedBlock(StoredBlock(number, bytes(48), 0, 0), None), Reading())


def store(contract_id, slot, value):
    insert(
        "contract_state",
        contract_id=contract_id,
        slot=slot.to_bytes(32, "big"),
        value=value,
        created_timestamp=START,
        modified_timestamp=START,
    )


def test_an_account_is_at_its_long_zero_address(build):
    build.entity(2001, balance=77, ethereum_nonce=3, receiver_sig_required=True)
    assert current().account(long_zero(2001)) == AccountRecord(balance=77, nonce=3, entity_id=2001)


@pytest.mark.parametrize(("number", "exists"), [(0, False), (1, True), (999, True), (1_000, False)])
def test_each_of_the_networks_own_numbers_has_an_account(build, number, exists):
    expected = AccountRecord(entity_id=number) if exists else None
    assert current().account(long_zero(number)) == expected


@pytest.mark.parametrize("column", ["evm_address", "alias"])
def test_account_has_its_own_address_instead_of_long_zero(build, column):
    build.entity(2001, balance=5, **{column: EVM_ADDRESS})
    state = current()
    assert state.account(EVM_ADDRESS) == AccountRecord(balance=5, entity_id=2001)
    assert state.account(long_zero(2001)) is None
    assert state.address_of(2001) == EVM_ADDRESS


def test_both_addresses_can_be_allowed(build, settings_of):
    settings_of({"web3.evm.allowLongZeroAddresses": True})
    build.entity(2001, balance=5, evm_address=EVM_ADDRESS)
    state = current()
    assert (
        state.account(EVM_ADDRESS)
        == state.account(long_zero(2001))
        == AccountRecord(balance=5, entity_id=2001)
    )


def test_an_alias_that_is_a_key_hides_nothing(build):
    build.entity(2001, alias=b"\x12\x20" + bytes(32))
    assert current().account(long_zero(2001)) == AccountRecord(entity_id=2001)


def test_what_is_not_known_of_an_account_is_zero(build):
    build.entity(2001, balance=None, ethereum_nonce=None, receiver_sig_required=None)
    assert current().account(long_zero(2001)) == AccountRecord(entity_id=2001)


def test_a_contract_has_code(build):
    contract(build, 2002, balance=9, ethereum_nonce=1, evm_address=EVM_ADDRESS)
    assert current().account(EVM_ADDRESS) == AccountRecord(
        balance=9, nonce=1, code=CODE, kind=AccountKind.CONTRACT, entity_id=2002
    )


def test_a_contract_without_known_code_has_none(build):
    build.entity(2002, type="CONTRACT")
    assert current().account(long_zero(2002)) == AccountRecord(kind=AccountKind.CONTRACT, entity_id=2002)


@pytest.mark.parametrize(
    ("version", "delegate", "code"),
    [
        ("0.67", EVM_ADDRESS, b""),
        ("0.70", EVM_ADDRESS, bytes.fromhex("ef0100") + EVM_ADDRESS),
        ("0.77", EVM_ADDRESS, bytes.fromhex("ef0100") + EVM_ADDRESS),
        ("0.70", bytes(20), b""),
        ("0.70", None, b""),
    ],
)
def test_an_account_that_delegates_has_the_code_that_says_so(build, settings_of, version, delegate, code):
    build.entity(2001, delegation_address=delegate)
    settings_of({"web3.evm.evmVersion": version})
    assert current().account(long_zero(2001)) == AccountRecord(code=code, entity_id=2001)


@pytest.mark.parametrize("kind", [AccountKind.TOKEN, AccountKind.SCHEDULE])
def test_tokens_and_schedules_have_the_code_of_a_proxy(build, kind):
    build.entity(2003, type=kind.name)
    address = long_zero(2003)
    assert current().account(address) == AccountRecord(
        code=proxy_code(kind, address), kind=kind, entity_id=2003
    )


@pytest.mark.parametrize("type", ["TOPIC", "FILE", "UNKNOWN"])
def test_other_entities_have_no_account(build, type):
    build.entity(2004, type=type)
    assert current().account(long_zero(2004)) is None


@pytest.mark.parametrize("address", [long_zero(2009), long_zero(0), EVM_ADDRESS, b"\1" + bytes(19)])
def test_nothing_is_at_other_addresses(build, address):
    build.entity(2001)
    assert current().account(address) is None


def test_what_was_deleted_is_gone(build):
    build.entity(2001, deleted=True, evm_address=EVM_ADDRESS)
    contract(build, 2002, deleted=True)
    state = current()
    assert [state.account(address) for address in (EVM_ADDRESS, long_zero(2001), long_zero(2002))] == [
        None
    ] * 3


def test_a_contract_can_come_where_another_was_deleted(build):
    contract(build, 2002, deleted=True, evm_address=EVM_ADDRESS)
    contract(build, 2005, code=b"\x5b", evm_address=EVM_ADDRESS, since=START + 1)
    assert account(current(), EVM_ADDRESS).code == b"\x5b"


def test_numbers_are_those_of_the_configured_shard_and_realm(build, settings_of):
    settings_of({"common.shard": 1, "common.realm": 2})
    encoded = (1 << 54) | (2 << 38) | 2001
    build.entity(encoded, balance=4)
    assert current().account(long_zero(2001)) == AccountRecord(balance=4, entity_id=encoded)


def test_slots_are_read_by_their_32_bytes(build):
    contract(build, 2002)
    store(2002, 0, b"\x01\x02")
    store(2002, (1 << 256) - 1, b"\xff" * 32)
    store(2002, 9, b"")
    store(2002, 10, None)
    state = current()
    slots = [state.slot(long_zero(2002), slot) for slot in (0, (1 << 256) - 1, 9, 10, 11)]
    assert slots == [0x102, (1 << 256) - 1, 0, 0, 0]


def test_what_is_no_contract_has_no_slots(build):
    build.entity(2001)
    state = current()
    assert state.slot(long_zero(2001), 0) == state.slot(long_zero(2999), 0) == 0


def test_a_block_hash_is_known_up_to_the_block_of_the_call(build):
    build.block(9)
    build.block(10)
    build.block(11)
    state = current()
    hashes = [state.block_hash(number) for number in (9, 10, 11, 8, 1 << 255)]
    assert [any(found) for found in hashes] == [True, True, False, False, False]
    assert {len(found) for found in hashes} == {32}


def test_hashes_of_many_blocks_are_read_together(build):
    build.block(9)
    state = current()
    assert statements(lambda: [state.block_hash(number) for number in (9, 8, 1, 0, 9)]) == 1


def test_the_process_remembers_hashes_of_blocks_that_are_all_stored(build):
    for number in range(256, 520):
        build.block(number)
    expected = in_block(519).block_hash(300)

    def read_again() -> list[bytes]:
        state = in_block(519)
        return [state.block_hash(number) for number in (256, 300, 511)]

    assert statements(read_again) == 0
    assert read_again()[1] == expected != bytes(32)
    # Of the last ones more may come.
    assert statements(lambda: in_block(519).block_hash(515)) == 1
    assert statements(lambda: in_block(519).block_hash(515)) == 1


def test_call_reads_a_limited_number_of_block_hashes(db):
    state = in_block(1_000_000)
    with pytest.raises(NotSupported, match="up to 25,600 blocks"):
        for number in range(1, 1_000_000, 256):
            state.block_hash(number)
    assert statements(lambda: [state.block_hash(number) for number in range(1, 25_600)]) == 0


def test_in_the_first_block_no_hash_is_known(build):
    build.block(0)
    first = SelectedBlock(StoredBlock(0, bytes(48), 0, 0), None)
    assert LedgerState(first, Reading()).block_hash(0) == bytes(32)


def test_a_created_contract_gets_a_number_above_all_others(build, settings_of):
    assert current().next_contract_address() == long_zero(1002)
    build.entity(5000, type="TOPIC", deleted=True)
    assert current().next_contract_address() == long_zero(6002)
    settings_of({"web3.evm.entityNumBuffer": 0})
    assert current().next_contract_address() == long_zero(5002)


# CACHES


def statements(run):
    with CaptureQueriesContext(connection) as captured:
        run()
    return len(captured)


def test_several_accounts_are_read_in_one_statement(build):
    build.entity(2001)
    contract(build, 2002, evm_address=OTHER_ADDRESS)
    state = current()
    addresses = [long_zero(2001), OTHER_ADDRESS, EVM_ADDRESS, long_zero(0)]
    assert statements(lambda: state.load(addresses)) == 1
    assert statements(lambda: [state.entity_at(address) for address in addresses]) == 0


def test_call_sees_one_state_and_the_next_one_the_cache(build):
    contract(build, 2002)
    store(2002, 1, b"\x01")
    state = current()

    def read(state):
        return state.account(long_zero(2002)), state.slot(long_zero(2002), 1)

    assert statements(lambda: read(state)) == 3
    assert statements(lambda: read(state)) == 0
    assert statements(lambda: read(current())) == 0
    cache.reset()
    assert statements(lambda: read(state)) == 0


def test_slots_used_before_are_read_together(build):
    contract(build, 2002)
    store(2002, 1, b"\x01")
    store(2002, 2, b"\x02")
    address = long_zero(2002)

    def read(*slots):
        state = current()
        assert [state.slot(address, slot) for slot in slots] == [slot if slot < 3 else 0 for slot in slots]

    current().account(address)
    assert statements(lambda: read(1, 2, 3)) == 3
    assert statements(lambda: read(3, 2, 1)) == 0
    values_expire()
    # The account, and all slots.
    assert statements(lambda: read(3, 2, 1)) == 2
    assert statements(lambda: read(3, 2, 4)) == 1


def test_what_a_contract_used_lately_is_read_with_it(build):
    for number in (2002, 2003, 2004):
        contract(build, number)
        store(number, 1, b"\x01")
    build.entity(2001)
    called, sender = long_zero(2002), long_zero(2001)

    def call():
        state = current()
        state.begin(called, [sender])
        for number in (2001, 2002, 2003, 2004):
            state.account(long_zero(number))
        return [state.slot(long_zero(number), slot) for number in (2002, 2003, 2004) for slot in (1, 2)]

    # Two accounts together, then code, an account and code twice, and six slots.
    assert statements(call) == 1 + 1 + 4 + 6
    values_expire()
    assert statements(call) == 1 + 1
    assert call() == [1, 0, 1, 0, 1, 0]
    assert statements(call) == 0


def test_the_token_service_is_read_with_others_and_never_alone(build):
    for number in (0x167, 2001, 2002):
        build.entity(number)

    def begin(to):
        current().begin(long_zero(to))

    assert statements(lambda: begin(2001)) == 1
    assert statements(lambda: current().account(long_zero(0x167))) == 0
    cache.reset()
    current().account(long_zero(2002))
    assert statements(lambda: begin(2002)) == 0


def test_call_prefetches_at_most_the_slots_of_one_contract(build, settings_of):
    settings_of({"web3.cache.slotsPerContract.maximumSize": 2})
    called = range(2002, 2007)
    for number in called:
        contract(build, number)
    read = []

    def call():
        state = current()
        state.begin(long_zero(2002))
        read.append(set(state._tables._slots))
        return [state.slot(long_zero(number), slot) for number in called for slot in (1, 2)]

    assert call() == [0] * 10
    values_expire()
    assert call() == [0] * 10
    assert len(read[-1]) == 2


def values_expire():
    """What was read is forgotten, but not which it was, nor code."""
    now = cache.caches()
    now.entities, now.slots, now.batches = (cache.ExpiringCache(2, 100) for _ in range(3))


def test_recently_used_slots_are_limited(build, settings_of):
    settings_of({"web3.cache.slotsPerContract.maximumSize": 2})
    contract(build, 2002)
    state = current()
    for slot in (1, 2, 3):
        state.slot(long_zero(2002), slot)
    assert cache.caches().used_slots.get(2002) == {2: None, 3: None}


def test_slots_are_read_alone_if_the_setting_says_so(build, settings_of):
    settings_of(
        {"web3.cache.enableBatchContractSlotCaching": False, "web3.cache.contractState.expireAfterWrite": 0.0}
    )
    cache.reset()
    contract(build, 2002)
    state = current()
    address = long_zero(2002)
    state.slot(address, 1)
    state.slot(address, 2)
    again = current()
    assert statements(lambda: [again.slot(address, slot) for slot in (1, 2)]) == 2


def test_values_expire(build, settings_of):
    settings_of({"web3.cache.entity.expireAfterWrite": 0.0})
    cache.reset()
    build.entity(2001, balance=1)
    assert account(current(), long_zero(2001)).balance == 1
    with connection.cursor() as cursor:
        cursor.execute("update entity set balance = 2")
    assert account(current(), long_zero(2001)).balance == 2


@pytest.mark.parametrize("number_first", [True, False])
def test_id_and_address_of_same_digits_are_cached_apart(build, number_first):
    """An address may spell a number, as digits or as bytes, and an id stands before it in the same cache."""
    digits = b"00000000000000002001"
    build.entity(2001, type="TOKEN")
    build.entity(2002, balance=5, evm_address=digits)
    build.entity(2003, balance=7, evm_address=b"2001" + bytes(16))
    addresses = [long_zero(2001), digits, b"2001" + bytes(16)]
    expected = [account and account.entity_id for account in map(current().account, addresses)]
    cache.reset()
    for _ in range(2):
        state = current()
        order = addresses if number_first else addresses[::-1]
        found = {address: state.account(address) for address in order}
        assert [account and account.entity_id for account in map(found.get, addresses)] == expected
        assert expected[1:] == [2002, 2003]
