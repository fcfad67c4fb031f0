"""What a past contract transaction asked for, by what is stored of it."""

import pytest
import rlp

from mirror.core.values.ethereum import WEIBARS_PER_TINYBAR, created_address, signed_bytes
from tests.build import SECOND, START, Build, insert
from tests.web3sim.past import rows as past_rows
from tests.web3sim.past.rows import AT, CREATE, ETHEREUM
from tests.web3sim.rows import ANSWERS, CALLER, contract, long_zero
from web3sim.api import opcodes
from web3sim.past import transactions
from web3sim.past.transactions import BlockMissing, CodeMissing
from web3sim.state.database import Reading

pytestmark = pytest.mark.usefixtures("each_form")

TO, OWN_ADDRESS = 5001, bytes([0xAB]) * 20


@pytest.fixture(autouse=True)
def _network(build: Build):
    past_rows.network(build)
    contract(build, TO, ANSWERS)


def rerun(at=AT):
    found = transactions.transaction_at(at, Reading())
    assert found is not None
    return transactions.rerun(found, Reading())


def test_a_call_is_what_its_result_says(build):
    past_rows.result(function_parameters=b"\1\2\3\4", amount=30, gas_limit=77_000)
    request = rerun().request
    assert (request.sender, request.to) == (long_zero(CALLER), long_zero(TO))
    assert (request.data, request.value, request.gas) == (b"\1\2\3\4", 30, 77_000)
    assert request.new_contract_address is None


def test_sender_and_receiver_are_named_by_their_own_addresses(build):
    build.entity(1002, evm_address=OWN_ADDRESS)
    contract(build, 5002, ANSWERS, evm_address=bytes([0xCD]) * 20)
    past_rows.result(sender_id=1002, contract_id=5002)
    request = rerun().request
    assert (request.sender, request.to) == (OWN_ADDRESS, bytes([0xCD]) * 20)


def test_a_call_without_sender_is_its_payers(build):
    past_rows.result(sender_id=None)
    assert rerun().request.sender == long_zero(CALLER)


def test_the_block_is_that_of_the_transaction(build):
    past_rows.result()
    found = rerun()
    assert (found.block.number, found.block.timestamp) == (past_rows.BLOCK, (AT - SECOND) // SECOND)
    assert found.block.gas_limit == 100_000


def test_without_the_block_it_can_not_be_run(build):
    past_rows.result(AT + 5 * SECOND)
    with pytest.raises(BlockMissing):
        rerun(AT + 5 * SECOND)


def test_the_state_is_that_of_just_before(build):
    for at, value in ((AT - 2, b"\5"), (AT, b"\7")):
        insert(
            "contract_state_change",
            consensus_timestamp=at,
            contract_id=TO,
            payer_account_id=CALLER,
            slot=b"",
            value_read=b"",
            value_written=value,
        )
    past_rows.result()
    assert rerun().state.slot(long_zero(TO), 0) == 5


# ETHEREUM


def test_a_wrapped_transaction_says_more_than_the_result(build):
    past_rows.result(type=ETHEREUM, function_parameters=b"\xff", amount=5, gas_limit=1)
    past_rows.ethereum(to_address=long_zero(TO), call_data=b"\1\2", value=weibars(256), gas_limit=200_000)
    request = rerun().request
    assert (request.to, request.data, request.value, request.gas) == (long_zero(TO), b"\1\2", 256, 200_000)


def weibars(tinybars: int) -> bytes:
    return signed_bytes(tinybars * WEIBARS_PER_TINYBAR)


def test_a_row_of_an_older_release_has_tinybars(build):
    past_rows.result(type=ETHEREUM, amount=5)
    past_rows.ethereum(to_address=long_zero(TO), value=b"\x01\x00", in_weibars=False)
    assert rerun().request.value == 256


@pytest.mark.parametrize("value", [None, b""])
def test_without_a_value_of_its_own_that_of_the_result_counts(build, value):
    past_rows.result(type=ETHEREUM, amount=5)
    past_rows.ethereum(to_address=long_zero(TO), value=value)
    assert rerun().request.value == 5


@pytest.mark.parametrize("in_weibars", [True, False])
def test_the_bytes_of_a_wrapped_transaction_say_most(build, in_weibars):
    """Also where the other columns are those of an older release, or lost."""
    sent: list[bytes | list[bytes]] = [b"\x01\x28", b"\7", b"", b"\1", b"\x01\x00\x00", long_zero(TO)]
    sent += [(256 * WEIBARS_PER_TINYBAR + 9).to_bytes(6, "big"), b"\1\2", [], b"\1", b"\1", b"\1"]
    data = b"\2" + rlp.encode(sent)
    past_rows.result(type=ETHEREUM, function_parameters=b"\xff", amount=5, gas_limit=1)
    past_rows.ethereum(data=data, value=b"\x03", gas_limit=1, in_weibars=in_weibars)
    request = rerun().request
    assert (request.to, request.data, request.value, request.gas) == (long_zero(TO), b"\1\2", 256, 65_536)


def test_result_has_the_address_of_a_created_contract(build):
    sent = [b"\7", b"\1", b"\x01\x86\xa0", b"", b"", ANSWERS, b"\x1b", b"\1", b"\1"]
    past_rows.result(type=ETHEREUM, contract_id=0)
    past_rows.ethereum(data=rlp.encode(sent), nonce=1)
    assert rerun().request.new_contract_address == created_address(long_zero(CALLER), 7)


def test_receiver_named_by_number_may_have_its_own_address(build):
    contract(build, 5002, ANSWERS, evm_address=OWN_ADDRESS)
    past_rows.result(type=ETHEREUM, contract_id=5002)
    past_rows.ethereum(to_address=long_zero(5002))
    assert rerun().request.to == OWN_ADDRESS


@pytest.mark.parametrize("given", [b"\x13\x89", bytes(30) + long_zero(TO)])
def test_a_receiver_of_any_length_is_an_address(build, given):
    past_rows.result(type=ETHEREUM)
    past_rows.ethereum(to_address=given)
    assert rerun().request.to == long_zero(TO)


def test_the_call_data_may_lie_in_a_file(build):
    past_rows.file(3333, b"0xaabbcc")
    past_rows.result(type=ETHEREUM)
    past_rows.ethereum(to_address=long_zero(TO), call_data=b"", call_data_id=3333)
    assert rerun().request.data == b"\xaa\xbb\xcc"


@pytest.mark.parametrize("content", [b"not hex", "ü".encode()])
def test_a_file_that_holds_no_hex_is_no_call_data(build, content):
    past_rows.file(3333, content)
    past_rows.result(type=ETHEREUM)
    past_rows.ethereum(to_address=long_zero(TO), call_data_id=3333)
    with pytest.raises(CodeMissing):
        rerun()


def test_a_wrapped_transaction_without_receiver_creates(build):
    contract(build, 5003, ANSWERS, evm_address=OWN_ADDRESS, since=AT)
    past_rows.result(type=ETHEREUM, contract_id=5003)
    past_rows.ethereum(call_data=b"\x60")
    request = rerun().request
    assert (request.to, request.data, request.new_contract_address) == (None, b"\x60", OWN_ADDRESS)


def test_a_failed_creation_would_have_been_where_sender_and_nonce_lead(build):
    # The example of the Ethereum documentation.
    sender = bytes.fromhex("6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0")
    build.entity(1002, evm_address=sender)
    past_rows.result(type=ETHEREUM, contract_id=0, sender_id=1002, transaction_result=33)
    past_rows.ethereum(call_data=b"\x60", nonce=1)
    assert rerun().request.new_contract_address == bytes.fromhex("343c43a37d37dff08ae8c4a11544c718abb4fcf8")


# CREATION


def test_creation_runs_the_stored_init_code(build):
    build.entity(5004, type="CONTRACT", since=AT)
    insert("contract", id=5004, initcode=b"\x60\x61", runtime_bytecode=ANSWERS)
    past_rows.result(type=CREATE, contract_id=5004, amount=9)
    request = rerun().request
    assert (request.to, request.data, request.value) == (None, b"\x60\x61", 9)
    assert request.new_contract_address == long_zero(5004)


def test_the_init_code_may_lie_in_a_file_before_the_arguments(build):
    build.entity(5004, type="CONTRACT", since=AT)
    insert("contract", id=5004, file_id=3334, runtime_bytecode=ANSWERS)
    past_rows.file(3334, b"6061")
    past_rows.file(3334, b"ffff", at=AT + 1)
    past_rows.result(type=CREATE, contract_id=5004, function_parameters=b"\7")
    assert rerun().request.data == b"\x60\x61\x07"


def test_a_failed_creation_runs_the_code_that_failed(build):
    past_rows.result(type=CREATE, contract_id=0, failed_initcode=b"\xfe", transaction_result=33)
    request = rerun().request
    assert (request.data, request.to) == (b"\xfe", None)
    assert request.new_contract_address is not None


def test_a_creation_without_any_code_can_not_be_run(build):
    past_rows.result(type=CREATE, contract_id=0, transaction_result=33)
    with pytest.raises(CodeMissing):
        rerun()


# WHAT ONLY THE RECORD TELLS


def test_the_sender_can_pay_what_it_sent(build):
    build.entity(1003)
    past_rows.result(sender_id=1003, amount=500)
    account = rerun().state.account(long_zero(1003))
    assert account is not None
    assert account.balance >= 500


def test_past_nonce_counts_contracts_created_by_then(build):
    contract(build, 5005, ANSWERS, ethereum_nonce=5)
    creator = long_zero(5005)
    for child, nonce in ((5006, 3), (5007, 4)):
        contract(build, child, ANSWERS, evm_address=created_address(creator, nonce), since=AT)
    past_rows.result(contract_id=5005, created_contract_ids=[5006, 5007])
    account = rerun().state.account(creator)
    assert account is not None
    assert account.nonce == 3


def test_whoever_had_to_sign_has_signed_unless_the_result_says_otherwise(build):
    build.entity(1004, receiver_sig_required=True)
    past_rows.result()
    past_rows.result(AT + 1, transaction_result=7)
    for at, required in ((AT, False), (AT + 1, True)):
        account = rerun(at).state.account(long_zero(1004))
        assert account is not None
        assert account.receiver_signature_required is required


# FINDING


def test_of_several_transactions_with_a_hash_or_an_id_the_first_counts(build):
    past_rows.result()
    past_rows.result(AT + SECOND // 2)
    with_same_hash = {"hash": past_rows.digest(AT), "payer_account_id": CALLER, "entity_id": TO}
    insert("contract_transaction_hash", consensus_timestamp=AT + 1, transaction_result=22, **with_same_hash)
    assert opcodes.timestamp_of_hash(past_rows.digest(AT), Reading()) == AT
    assert opcodes.timestamp_of_id(CALLER, AT - 5 * SECOND, Reading()) == AT
    assert opcodes.timestamp_of_hash(b"\0" * 32, Reading()) is None
    assert opcodes.timestamp_of_id(CALLER, START, Reading()) is None


def test_range_is_read_in_order(build):
    past_rows.result(AT + 2, contract_id=0)
    past_rows.result(AT + 1)
    past_rows.result(AT)

    def times(first, last, contract_id, limit):
        found = transactions.transactions_between(first, last, contract_id, limit, Reading())
        return [one.consensus_timestamp - AT for one in found]

    assert times(AT, AT + 9, None, 10) == [0, 1, 2]
    assert times(AT + 1, AT + 1, None, 10) == [1]
    assert times(AT, AT + 9, None, 2) == [0, 1]
    assert times(AT, AT + 9, TO, 10) == [0, 1]
    assert transactions.transaction_at(AT + 7, Reading()) is None
