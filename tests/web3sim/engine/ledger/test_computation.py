"""What a ledger network changes about calls."""

import pytest

from mirror.core.values.hashes import keccak256
from tests.web3sim.engine.system import TAKES_VALUE, TOKEN_SERVICE, System
from tests.web3sim.engine.world import (
    CONTRACT,
    NOBODY,
    OTHER,
    RETURN_TOP,
    SENDER,
    calling,
    code,
    execution_gas_of,
    long_zero,
    word,
)
from web3sim.engine.interface import AccountKind, AccountRecord, Halt, Log, NotSupported, Status, SystemAnswer

INTRINSIC = 21_000
CALL_KINDS = ("CALL", "CALLCODE", "DELEGATECALL", "STATICCALL")


# CALLS OF THE NETWORK'S OWN ACCOUNTS


@pytest.mark.parametrize("kind", CALL_KINDS)
def test_a_call_of_a_system_account_succeeds_and_uses_all_its_gas(run, world, kind):
    used = execution_gas_of(run, world, *calling(long_zero(98), kind=kind, gas=50_000), *RETURN_TOP)
    result = run()

    assert result.status is Status.SUCCESS
    assert word(result.output) == 1
    assert used > 50_000


def test_a_message_to_a_system_account_uses_all_its_gas(run):
    result = run(to=long_zero(750))

    assert (result.status, result.output, result.gas_used) == (Status.SUCCESS, b"", 1_000_000)


def test_a_message_to_the_first_account_after_them_is_an_ordinary_one(run):
    assert run(to=long_zero(751)).gas_used == INTRINSIC


@pytest.mark.parametrize(
    "address", [long_zero(98), long_zero(4), TOKEN_SERVICE], ids=["account", "4", "0x167"]
)
def test_value_for_the_networks_own_accounts_halts_all_frames(run, world, address):
    system = System(SystemAnswer())
    world.contract(OTHER, *calling(address, value=1), *RETURN_TOP, balance=5)
    world.contract(CONTRACT, *calling(OTHER), *RETURN_TOP)

    for result in (run(to=address, value=1, system=system), run(to=OTHER, system=system), run(system=system)):
        assert (result.status, result.halt) == (Status.HALT, Halt.INVALID_CONTRACT)
        assert (result.gas_used, result.balances) == (1_000_000, {})
    assert system.calls == []


def test_value_may_pay_for_the_creation_of_a_token(run):
    system = System(SystemAnswer(output=b"created", gas=100))

    result = run(to=TOKEN_SERVICE, value=7, data=TAKES_VALUE, system=system)

    assert result.status is Status.SUCCESS
    assert system.calls[0].value == 7


# VALUE


def test_value_to_an_alias_brings_an_account_about(run, world):
    result = run(to=NOBODY, value=9)

    assert result.status is Status.SUCCESS
    assert result.gas_used == INTRINSIC
    assert result.balances == {SENDER: 10**18 - 9, NOBODY: 9}


def test_value_to_an_alias_in_a_contract_costs_a_new_account(run, world):
    missing = execution_gas_of(run, world, *calling(NOBODY, value=0))
    world.contract(CONTRACT, *calling(NOBODY, value=1), balance=5)
    result = run()

    assert result.balances == {CONTRACT: 4, NOBODY: 1}
    assert result.execution_gas - missing == 9_000 + 25_000 - 2_300


def test_value_to_a_missing_number_is_refused(run, world):
    world.contract(CONTRACT, *calling(long_zero(5_000), value=1), *RETURN_TOP, balance=5)

    assert run(to=long_zero(5_000), value=1).halt is Halt.INVALID_ALIAS
    assert word(run().output) == 0


def test_without_value_a_missing_account_may_be_called(run, world):
    for address in (NOBODY, long_zero(5_000)):
        result = run(to=address, data=b"\x01\x02")

        assert (result.status, result.output) == (Status.SUCCESS, b"")


@pytest.mark.parametrize("kind", [AccountKind.TOKEN, AccountKind.SCHEDULE])
def test_tokens_and_schedules_take_no_value(run, world, kind):
    world.accounts[OTHER] = AccountRecord(code=code("STOP"), kind=kind)
    world.contract(CONTRACT, *calling(OTHER, value=1), *RETURN_TOP, balance=5)

    assert run(to=OTHER, value=1).halt is Halt.STATIC_CHANGE
    assert word(run().output) == 0
    assert run(to=OTHER).status is Status.SUCCESS


def test_a_receiver_that_must_sign_halts_all_frames(run, world):
    world.accounts[OTHER] = AccountRecord(balance=1, receiver_signature_required=True)
    world.contract(CONTRACT, *calling(OTHER, value=1), 1, *RETURN_TOP, balance=5)

    assert run(to=OTHER, value=1).halt is Halt.INVALID_SIGNATURE
    assert run().halt is Halt.INVALID_SIGNATURE
    assert run(to=OTHER).status is Status.SUCCESS


def test_value_in_a_static_call_is_a_change(run, world):
    world.contract(OTHER, *calling(NOBODY, value=1), *RETURN_TOP, balance=5)
    world.contract(CONTRACT, *calling(OTHER, kind="STATICCALL"), *RETURN_TOP)

    assert word(run().output) == 0
    assert run(to=OTHER, static=True).halt is Halt.STATIC_CHANGE


# CREATION

DEPLOYS_A_STOP = code(1, 0, "RETURN")


def test_outermost_creation_has_the_requested_address(run, world):
    result = run(to=None, data=DEPLOYS_A_STOP, new_contract_address=long_zero(5_000))

    assert (result.status, result.output, result.created) == (Status.SUCCESS, b"\0", (long_zero(5_000),))
    assert result.execution_gas == 3 + 3 + 3 + 200


def test_a_creation_by_a_contract_follows_its_nonce(run, world):
    world.contract(CONTRACT, 0, 0, 0, "CREATE", *RETURN_TOP)

    result = run()

    # The hash of the list of its address and 1, in RLP.
    assert result.output[12:] == keccak256(b"\xd6\x94" + CONTRACT + b"\x01")[12:]
    assert result.created == (result.output[12:],)


def test_an_account_that_only_holds_value_can_become_a_contract(run, world):
    init = DEPLOYS_A_STOP
    deploys = (init, 0, "MSTORE", 7, len(init), 32 - len(init), 0, "CREATE2", *RETURN_TOP)
    world.contract(CONTRACT, *deploys)
    address = run().output[12:]
    world.accounts[address] = AccountRecord(balance=4)

    result = run()

    assert result.created == (address,)
    world.accounts[address] = AccountRecord(nonce=1)
    assert word(run().output) == 0


@pytest.mark.parametrize(
    ("init", "halt"),
    [
        (code(24_577, 0, "RETURN"), Halt.CODE_SIZE_LIMIT),
        (code(0xEF, 0, "MSTORE8", 1, 0, "RETURN"), Halt.CODE_SIZE_LIMIT),
    ],
    ids=["too large", "begins with 0xef"],
)
def test_code_is_not_deployed(run, init, halt):
    result = run(to=None, data=init, gas=10_000_000)

    assert (result.status, result.halt, result.created) == (Status.HALT, halt, ())
    assert result.gas_used == 10_000_000


def test_init_code_has_no_size_limit(run, world):
    world.contract(CONTRACT, 49_153, 0, 0, "CREATE")

    assert run().created != ()
    assert run(to=None, data=bytes(131_072)).status is Status.SUCCESS


# GAS


def test_at_most_a_fifth_of_the_gas_is_refunded(run, world):
    for slot in range(20):
        world.slots[CONTRACT, slot] = 1
    clear = [operation for slot in range(20) for operation in (0, slot, "SSTORE")]
    world.contract(CONTRACT, *clear)

    result = run()

    assert result.refund == 20 * 4_800
    consumed = INTRINSIC + result.execution_gas
    assert result.gas_used == consumed - consumed // 5


def test_sstore_needs_no_more_gas_than_its_price(run, world):
    world.slots[CONTRACT, 1] = 1
    world.contract(CONTRACT, 1, 1, "SSTORE")

    assert run(gas=INTRINSIC + 6 + 2_200).status is Status.SUCCESS
    assert run(gas=INTRINSIC + 6 + 2_199).halt is Halt.OUT_OF_GAS


@pytest.mark.parametrize("kind", CALL_KINDS)
def test_a_call_needs_the_gas_of_a_cold_account_before_it_pays_for_memory(run, world, kind):
    with_value = (0,) if kind in ("CALL", "CALLCODE") else ()
    # Three words of memory for the output.
    world.contract(CONTRACT, 96, 0, 0, 0, *with_value, SENDER, 0, kind)
    pushes, memory = 3 * (6 + len(with_value)), 3 * 3

    assert run(gas=INTRINSIC + pushes + 2_600).gas_used == INTRINSIC + pushes + memory + 100
    assert run(gas=INTRINSIC + pushes + 2_599).halt is Halt.OUT_OF_GAS


def test_a_static_call_with_value_needs_the_gas_of_a_cold_account_first(run, world):
    world.contract(CONTRACT, *calling(SENDER, value=1, gas=0))

    assert run(gas=INTRINSIC + 21 + 2_600, static=True).halt is Halt.STATIC_CHANGE
    assert run(gas=INTRINSIC + 21 + 2_599, static=True).halt is Halt.OUT_OF_GAS


def test_an_account_for_an_alias_costs_its_creation_gas(run, world):
    system = System(SystemAnswer())
    assert run(to=NOBODY, value=9, system=system).gas_used == INTRINSIC + system.creation_gas
    assert run(to=NOBODY, value=9, gas=71_000, system=system).status is Status.SUCCESS
    assert system.created == 2 * [(NOBODY, AccountKind.ACCOUNT)]
    for to in (NOBODY, long_zero(5_000)):
        assert run(to=to, value=9, gas=70_999, system=system).halt is Halt.OUT_OF_GAS


# SYSTEM CONTRACTS


def test_system_contract_receives_its_call(run, world):
    system = System(SystemAnswer(output=b"\x2a".rjust(32, b"\0"), gas=2_607))
    data = bytes(range(32))
    world.contract(
        CONTRACT,
        *calling(TOKEN_SERVICE, kind="STATICCALL", gas=50_000, data=data),
        *(32, 0, 0, "RETURNDATACOPY", 32, 0, "RETURN"),
    )

    result = run(system=system)

    assert word(result.output) == 42
    call = system.calls[0]
    assert (call.address, call.recipient, call.sender) == (TOKEN_SERVICE, TOKEN_SERVICE, CONTRACT)
    assert (call.data, call.value, call.gas, call.static, call.depth) == (data, 0, 50_000, True, 1)


def test_a_system_contract_charges_what_it_says(run, world):
    free = execution_gas_of(lambda: run(system=System(SystemAnswer())), world, *calling(TOKEN_SERVICE))
    priced = run(system=System(SystemAnswer(gas=2_607)))

    assert priced.execution_gas - free == 2_607
    assert (
        run(to=TOKEN_SERVICE, gas=INTRINSIC + 2_606, system=System(SystemAnswer(gas=2_607))).halt
        is Halt.OUT_OF_GAS
    )


def test_a_system_contract_reverts_or_halts(run, world):
    reverted = run(to=TOKEN_SERVICE, system=System(SystemAnswer(output=b"no", gas=100, reverted=True)))
    halted = run(to=TOKEN_SERVICE, system=System(SystemAnswer(halt=Halt.PRECOMPILE)))

    assert (reverted.status, reverted.output, reverted.gas_used) == (Status.REVERT, b"no", INTRINSIC + 100)
    assert (halted.status, halted.halt, halted.gas_used) == (Status.HALT, Halt.PRECOMPILE, 1_000_000)


def test_a_system_contract_logs_and_its_failures_are_counted_once(run, world):
    log = Log(OTHER, (bytes([1]) * 32,), b"data")
    world.contract(CONTRACT, *calling(TOKEN_SERVICE), *calling(TOKEN_SERVICE))

    result = run(system=System(SystemAnswer(logs=(log,), child="INVALID_TOKEN_ID")))

    assert result.logs == (log, log)
    assert result.child_failures == ("INVALID_TOKEN_ID",)


def test_no_contract_sees_the_revert_data_of_a_system_contract(run, world):
    world.contract(CONTRACT, *calling(TOKEN_SERVICE), "RETURNDATASIZE", *RETURN_TOP)

    assert word(run(system=System(SystemAnswer(output=b"no", reverted=True))).output) == 0


def test_the_51st_child_record_ends_the_call(run, world):
    world.contract(CONTRACT, *calling(OTHER), *RETURN_TOP)
    world.contract(OTHER, *(operation for _ in range(51) for operation in calling(TOKEN_SERVICE, gas=1_000)))

    assert run(system=System(SystemAnswer(reverted=True))).status is Status.SUCCESS
    assert run(system=System(SystemAnswer(child="SUCCESS"))).halt is Halt.CHILD_RECORDS
    reverted = SystemAnswer(reverted=True, child="INVALID_TOKEN_ID")
    assert run(to=OTHER, system=System(reverted)).halt is Halt.CHILD_RECORDS


def test_a_function_that_is_not_simulated_ends_the_whole_call(run, world):
    world.contract(CONTRACT, *calling(TOKEN_SERVICE))

    with pytest.raises(NotSupported, match=r"mintToken is not simulated\."):
        run(system=System(NotSupported("mintToken is not simulated.")))


@pytest.mark.parametrize("kind", ["DELEGATECALL", "CALLCODE"])
def test_only_proxy_code_may_delegate_to_a_system_contract(run, world, kind):
    delegates = code(*calling(TOKEN_SERVICE, kind=kind), *RETURN_TOP)
    system = System(SystemAnswer(gas=100))

    def answer(**record):
        world.accounts[CONTRACT] = AccountRecord(code=delegates, **record)
        return word(run(system=system).output)

    assert answer(kind=AccountKind.CONTRACT, entity_id=5_000) == 0
    assert system.calls == []
    assert answer(kind=AccountKind.TOKEN, entity_id=5_000) == 1
    assert (system.calls[0].recipient, system.calls[0].address) == (CONTRACT, TOKEN_SERVICE)
    assert answer(kind=AccountKind.SCHEDULE) == 0
    assert answer(kind=AccountKind.CONTRACT, entity_id=1_062_787) == 1


@pytest.mark.parametrize("number", [1_062_787, 1_461_860])
def test_older_contracts_delegate_only_by_code_of_their_own(run, world, number):
    delegates = *calling(TOKEN_SERVICE, kind="DELEGATECALL"), *RETURN_TOP
    older = {"kind": AccountKind.CONTRACT, "entity_id": number}
    system = System(SystemAnswer())

    world.accounts[CONTRACT] = AccountRecord(code=code(*delegates), **older)
    assert word(run(system=system).output) == 1
    world.contract(OTHER, *delegates)
    by_another = *calling(OTHER, kind="DELEGATECALL"), "POP", 32, 0, 0, "RETURNDATACOPY", 32, 0, "RETURN"
    world.accounts[CONTRACT] = AccountRecord(code=code(*by_another), **older)
    assert word(run(system=system).output) == 0


@pytest.mark.parametrize("number", [0x168, 0x169])
def test_any_code_may_delegate_to_rates_and_random_numbers(run, world, number):
    world.contract(CONTRACT, *calling(long_zero(number), kind="DELEGATECALL"), *RETURN_TOP)

    assert word(run(system=System(SystemAnswer(), long_zero(number))).output) == 1


def test_a_refused_delegate_call_uses_all_its_gas(run, world):
    used = execution_gas_of(
        lambda: run(system=System(SystemAnswer())),
        world,
        *calling(TOKEN_SERVICE, kind="DELEGATECALL", gas=40_000),
    )

    assert used > 40_000


def test_an_account_answers_its_proxys_functions_and_nothing_else(run, world):
    world.accounts[OTHER] = AccountRecord(balance=1)
    system = System(SystemAnswer())
    world.contract(
        CONTRACT, *calling(OTHER, data=bytes.fromhex("86aff07c")), "POP", "RETURNDATASIZE", *RETURN_TOP
    )

    assert word(run(system=system).output) == 0
    assert word(run(to=OTHER, data=bytes.fromhex("86aff07c"), system=system).output) == 7
    assert run(to=OTHER, data=bytes.fromhex("12345678"), system=system).output == b""
    assert run(to=NOBODY, data=bytes.fromhex("86aff07c"), system=system).output == b""
