"""What is the same for all system contracts."""

from tests.web3sim.state.states import current, long_zero
from web3sim.engine.interface import AccountKind
from web3sim.engine.ledger.computation import TOKEN_CREATIONS
from web3sim.state.proxies import proxy_code
from web3sim.system_contracts.contracts import NetworkContracts
from web3sim.system_contracts.token_service.functions import FUNCTIONS


def test_an_account_has_code_only_for_the_functions_of_its_proxy(build):
    build.block(7)
    contracts, address = NetworkContracts(current()), long_zero(5)
    code = proxy_code(AccountKind.ACCOUNT, address)
    for selector in ("bbee989e", "86aff07c", "f5677e99"):
        assert contracts.account_code(address, bytes.fromhex(selector) + bytes(64)) == code
    for data in ("", "bbee98", "70a08231" + "00" * 32):
        assert contracts.account_code(address, bytes.fromhex(data)) == b""


def test_the_engine_lets_value_pass_to_all_functions_that_create_tokens():
    creations = {
        selector for selector, function in FUNCTIONS.items() if function.signature.startswith("create")
    }
    assert len(creations) == 12
    assert creations == TOKEN_CREATIONS
