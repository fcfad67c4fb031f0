"""Addresses of accounts: their own, and the long-zero ones."""

import pytest

from tests.web3sim.engine.world import code
from tests.web3sim.rows import contract
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.account_service.accounts import (
    ADDRESS,
    NAMED,
    NOBODY,
    NUMBERED,
    SERVICE,
    TOKEN,
    UNKNOWN,
    ask,
    people,
    scripted,
    step,
)
from tests.web3sim.system_contracts.calls import data_of, run, words
from tests.web3sim.system_contracts.scripts import Step
from web3sim.engine.interface import Halt, Status

ALIAS_OF, NUMBER_OF, IS_VALID = (
    "getEvmAddressAlias(address)",
    "getHederaAccountNumAlias(address)",
    "isValidAlias(address)",
)
INVALID, UNRESOLVED = words(15, 0), words(29, 0)
FAILURES = {INVALID: ("INVALID_ACCOUNT_ID",), UNRESOLVED: ("INVALID_SOLIDITY_ADDRESS",)}


@pytest.fixture
def ledger(build):
    people(build)
    build.entity(2003, evm_address=bytes([0xAB]) * 20, deleted=True)
    return build


@pytest.mark.parametrize(
    ("signature", "address", "output"),
    [
        (ALIAS_OF, long_zero(NAMED), words(22, ADDRESS)),
        *(
            (ALIAS_OF, address, INVALID)
            for address in (long_zero(NUMBERED), ADDRESS, UNKNOWN, NOBODY, long_zero(2003), long_zero(TOKEN))
        ),
        (NUMBER_OF, ADDRESS, words(22, long_zero(NAMED))),
        (NUMBER_OF, long_zero(NUMBERED), words(22, long_zero(NUMBERED))),
        *(
            (NUMBER_OF, address, UNRESOLVED)
            for address in (long_zero(NAMED), UNKNOWN, NOBODY, bytes([0xAB]) * 20)
        ),
        *((IS_VALID, address, words(1)) for address in (ADDRESS, long_zero(NUMBERED), long_zero(NAMED))),
        *((IS_VALID, address, words(0)) for address in (UNKNOWN, NOBODY, long_zero(TOKEN), long_zero(2999))),
    ],
)
def test_addresses_of_an_account_convert(ledger, signature, address, output):
    result = ask(signature, address)
    assert (result.status, result.output) == (Status.SUCCESS, output)
    assert result.child_failures == FAILURES.get(output, ())
    assert result.execution_gas == 2607
    assert ask(signature, address, static=True).halt is Halt.PRECOMPILE


@pytest.mark.parametrize("signature", [ALIAS_OF, NUMBER_OF, IS_VALID])
def test_arguments_that_can_not_be_read_halt(ledger, signature):
    for arguments in ((), (1 << 160,)):
        result = run(current(), SERVICE, data_of(signature, *arguments))
        assert (result.status, result.halt) == (Status.HALT, Halt.PRECOMPILE)


FACTORY, PAYING = 5003, 5004
#: Creates an empty contract and answers its address.
CREATES = code(0, 0, 0, "CREATE", 0, "MSTORE", 32, 0, "RETURN")
#: Sends a tinybar to an address without an account.
PAYS = code(0, 0, 0, 0, 1, UNKNOWN, "GAS", "CALL", 0, "MSTORE", 32, 0, "RETURN")


def test_what_a_call_creates_is_numbered_in_order(ledger):
    """A contract, an account to which value is sent, and a contract again."""
    contract(ledger, FACTORY, CREATES)
    contract(ledger, PAYING, PAYS, balance=10)
    create = Step(long_zero(FACTORY), b"")
    made = [create, Step(long_zero(PAYING), b""), create]
    first, _, second = scripted(ledger, *made, number=5001)
    addresses = [first.output[-20:], UNKNOWN, second.output[-20:]]
    # The contract of the next call has a number, too.
    number = current().next_num + 5005 - PAYING

    numbers = [step(NUMBER_OF, address) for address in reversed(addresses)]
    aliases = [step(ALIAS_OF, long_zero(number + index)) for index in range(3)]
    found = scripted(ledger, *made, *numbers, *aliases, number=5005)[3:]

    assert [each.output for each in found[:3]] == [
        words(22, long_zero(number + index)) for index in (2, 1, 0)
    ]
    assert [each.output for each in found[3:]] == [words(22, address) for address in addresses]


def test_a_reverted_creation_leaves_no_number(ledger):
    contract(ledger, FACTORY, code(0, 0, 0, "CREATE", 0, 0, "REVERT"))
    contract(ledger, PAYING, CREATES)
    number = 5005 + (current().next_num - PAYING)
    found = scripted(
        ledger, Step(long_zero(FACTORY), b""), Step(long_zero(PAYING), b""), step(ALIAS_OF, long_zero(number))
    )
    assert [outcome.succeeded for outcome in found] == [False, True, True]
    assert found[2].output == words(22, found[1].output[-20:])
