"""What contracts of a ledger network see of other accounts, and how they destroy themselves."""

import pytest

from tests.web3sim.engine.system import TOKEN_SERVICE, System
from tests.web3sim.engine.world import (
    BLOCK,
    CONTRACT,
    NOBODY,
    OTHER,
    RETURN_TOP,
    SENDER,
    code,
    execution_gas_of,
    long_zero,
    word,
)
from web3sim.engine.interface import AccountKind, AccountRecord, Halt, Status, SystemAnswer

NO_CODE_HASH = 0xC5D2460186F7233C927E7DB2DCC703C0E500B653CA82273B7BFAD8045D85A470


# WHAT CONTRACTS SEE


@pytest.mark.parametrize(("number", "seen"), [(0, 0), (98, 0), (750, 0), (751, 5), (2_000, 5)])
def test_the_balance_of_a_system_account_is_hidden(run, world, number, seen):
    world.accounts[long_zero(number)] = AccountRecord(balance=5)
    world.contract(CONTRACT, long_zero(number), "BALANCE", *RETURN_TOP)

    assert word(run().output) == seen


def test_balance_of_no_account_is_zero(run, world):
    world.contract(CONTRACT, NOBODY, "BALANCE", *RETURN_TOP)

    assert word(run().output) == 0


@pytest.mark.parametrize(("number", "size"), [(1, 0), (0x167, 0), (1_000, 0), (1_001, 1)])
def test_the_code_of_the_networks_own_accounts_is_hidden(run, world, number, size):
    world.contract(long_zero(number), "STOP")
    world.contract(CONTRACT, long_zero(number), "EXTCODESIZE", *RETURN_TOP)

    assert word(run().output) == size


@pytest.mark.parametrize(("number", "copied"), [(1_000, bytes(32)), (1_001, b"\x5b" * 3 + bytes(29))])
def test_the_networks_own_code_is_copied_as_zeros(run, world, number, copied):
    world.contract(long_zero(number), "JUMPDEST", "JUMPDEST", "JUMPDEST")
    world.contract(CONTRACT, 32, 0, 0, long_zero(number), "EXTCODECOPY", 32, 0, "RETURN")

    assert run().output == copied


@pytest.mark.parametrize(
    ("address", "seen"),
    [(long_zero(1_000), 0), (NOBODY, 0), (OTHER, 0), (SENDER, NO_CODE_HASH)],
    ids=["the network's", "nobody's", "empty", "account"],
)
def test_missing_hidden_and_empty_accounts_have_no_code_hash(run, world, address, seen):
    world.accounts[long_zero(1_000)] = AccountRecord(balance=1)
    world.accounts[OTHER] = AccountRecord()
    world.contract(CONTRACT, address, "EXTCODEHASH", *RETURN_TOP)

    assert word(run().output) == seen


@pytest.mark.parametrize("operation", ["BALANCE", "EXTCODESIZE", "EXTCODEHASH"])
def test_looking_at_an_account_costs_more_the_first_time(run, world, operation):
    once = execution_gas_of(run, world, OTHER, operation)
    twice = execution_gas_of(run, world, OTHER, operation, OTHER, operation)

    assert (once, twice - once) == (3 + 2_600, 3 + 100)


def test_copying_code_is_paid_by_the_word(run, world):
    assert execution_gas_of(run, world, 33, 0, 0, OTHER, "EXTCODECOPY") == 4 * 3 + 2_600 + 2 * 3 + 2 * 3


@pytest.mark.parametrize(
    ("address", "price"),
    [(BLOCK.coinbase, 2_600), (TOKEN_SERVICE, 2_600), (long_zero(10), 2_600), (SENDER, 100), (CONTRACT, 100)],
    ids=["coinbase", "system contract", "precompiled", "sender", "called"],
)
@pytest.mark.parametrize("operation", ["BALANCE", "EXTCODESIZE", "EXTCODEHASH"])
def test_the_networks_own_accounts_are_always_cold(run, world, address, price, operation):
    assert execution_gas_of(run, world, *(address, operation) * 2) == 2 * (3 + price)
    assert run(gas=21_000 + 3 + 2_599).halt is Halt.OUT_OF_GAS


@pytest.mark.parametrize("number", [0, 5, 999, 1_000])
def test_any_block_up_to_the_current_one_has_a_hash(run, world, number):
    world.contract(CONTRACT, number, "BLOCKHASH", *RETURN_TOP)

    assert word(run().output) == number


@pytest.mark.parametrize("number", [1_001, 2**64, 2**256 - 1])
def test_a_later_block_has_no_hash(run, world, number):
    world.contract(CONTRACT, number, "BLOCKHASH", *RETURN_TOP)

    assert word(run().output) == 0
    assert number not in world.asked


@pytest.mark.parametrize(
    ("operation", "value"),
    [("COINBASE", 98), ("NUMBER", 1_000), ("TIMESTAMP", 1_700_000_000), ("CHAINID", 298)]
    + [("GASLIMIT", 15_000_000), ("BASEFEE", 0), ("BLOBBASEFEE", 1), ("GASPRICE", 71)]
    + [("DIFFICULTY", int.from_bytes(BLOCK.prevrandao, "big"))],
)
def test_block_values_are_those_of_the_block(run, world, operation, value):
    world.contract(CONTRACT, operation, *RETURN_TOP)

    assert word(run(gas_price=71).output) == value


def test_there_are_no_blobs(run, world):
    world.contract(CONTRACT, 0, "BLOBHASH", *RETURN_TOP)

    assert word(run().output) == 0


# SELFDESTRUCT


def test_a_destroyed_contract_of_before_stays_without_its_balance(run, world):
    world.accounts[OTHER] = AccountRecord(balance=1)
    world.contract(CONTRACT, OTHER, "SELFDESTRUCT", balance=5)

    result = run()

    assert result.status is Status.SUCCESS
    assert result.balances == {CONTRACT: 0, OTHER: 6}
    assert result.deleted == ()


def test_a_contract_destroyed_by_the_call_that_created_it_is_gone(run, world):
    world.accounts[OTHER] = AccountRecord(balance=1)

    result = run(to=None, data=code(OTHER, "SELFDESTRUCT"), new_contract_address=long_zero(5_000), value=3)

    assert result.deleted == result.created == (long_zero(5_000),)
    assert result.balances == {SENDER: 10**18 - 3, OTHER: 4}


@pytest.mark.parametrize(
    ("beneficiary", "halt"),
    [
        (NOBODY, Halt.INVALID_ADDRESS),
        (long_zero(98), Halt.INVALID_ADDRESS),
        (long_zero(3_000), Halt.INVALID_ADDRESS),
        (long_zero(3_001), Halt.INVALID_ADDRESS),
        (CONTRACT, Halt.SELF_DESTRUCT_TO_SELF),
        (long_zero(3_002), Halt.INVALID_SIGNATURE),
    ],
    ids=["missing", "system account", "token", "schedule", "itself", "must sign"],
)
def test_a_contract_is_not_destroyed_in_favour_of(run, world, beneficiary, halt):
    world.accounts[long_zero(98)] = AccountRecord(balance=1)
    world.accounts[long_zero(3_000)] = AccountRecord(kind=AccountKind.TOKEN)
    world.accounts[long_zero(3_001)] = AccountRecord(kind=AccountKind.SCHEDULE)
    world.accounts[long_zero(3_002)] = AccountRecord(receiver_signature_required=True)
    world.contract(CONTRACT, beneficiary, "SELFDESTRUCT", balance=5)

    result = run()

    assert (result.status, result.halt, result.balances) == (Status.HALT, halt, {})
    assert result.gas_used == 1_000_000


def test_a_contract_with_tokens_is_not_destroyed(run, world):
    world.accounts[OTHER] = AccountRecord(balance=1)
    world.contract(CONTRACT, OTHER, "SELFDESTRUCT")
    system = System(SystemAnswer())
    system.tied = {CONTRACT}

    assert run(system=system).halt is Halt.OTHER
    system.tied = {OTHER}
    assert run(system=system).status is Status.SUCCESS
    # It keeps its tokens where it is neither deleted nor left.
    system.tied = {CONTRACT}
    world.contract(CONTRACT, CONTRACT, "SELFDESTRUCT")
    assert run(system=system).halt is Halt.SELF_DESTRUCT_TO_SELF


def test_destruction_in_a_static_call_is_a_change(run, world):
    world.contract(CONTRACT, OTHER, "SELFDESTRUCT")

    assert run(static=True).halt is Halt.STATIC_CHANGE
