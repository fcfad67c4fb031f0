"""Addresses of accounts: their own, and the long-zero ones."""

import pytest

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
)
from tests.web3sim.system_contracts.calls import data_of, run, words
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
