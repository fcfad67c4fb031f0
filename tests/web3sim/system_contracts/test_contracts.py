"""What is the same for all system contracts."""

import pytest

from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.calls import CALLER, run
from web3sim.engine.interface import AccountKind, Halt, Status
from web3sim.state.proxy_code import TOKEN_SERVICE, proxy_code
from web3sim.system_contracts.contracts import NetworkContracts
from web3sim.system_contracts.token_service.functions import CREATION_SELECTORS, FUNCTIONS


def test_an_account_has_code_only_for_the_functions_of_its_proxy(build):
    build.block(7)
    contracts, address = NetworkContracts(current()), long_zero(5)
    code = proxy_code(AccountKind.ACCOUNT, address)
    for selector in ("bbee989e", "86aff07c", "f5677e99"):
        assert contracts.account_code(address, bytes.fromhex(selector) + bytes(64)) == code
    for data in ("", "bbee98", "70a08231" + "00" * 32):
        assert contracts.account_code(address, bytes.fromhex(data)) == b""


def test_value_passes_only_with_functions_that_create_tokens(build):
    build.block(7)
    contracts = NetworkContracts(current())
    taking = [
        each.signature for each in FUNCTIONS.values() if contracts.accepts_value(TOKEN_SERVICE, each.selector)
    ]
    assert len(taking) == 12
    assert all(signature.startswith("create") for signature in taking)


@pytest.mark.parametrize("number", range(0x168, 0x16E))
def test_a_service_without_tokens_leaves_value_with_its_sender(build, number):
    """Value comes with a function that creates tokens, which no other service knows."""
    build.block(7)
    service, selector = long_zero(number), next(iter(CREATION_SELECTORS))
    build.entity(CALLER, balance=100)
    result = run(current(), service, selector, value=7)
    if number in (0x16A, 0x16B):
        assert (result.status, result.output, result.balances) == (Status.SUCCESS, b"", {})
    else:
        assert result.halt is Halt.INVALID_CONTRACT
