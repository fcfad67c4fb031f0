"""The two addresses of an account: one of its own, its alias, and the long-zero one with its number."""

from mirror.core.values import entity_id
from web3sim.operations.refusals import Refused
from web3sim.system_contracts.abi import address_at, word_of, word_of_address
from web3sim.system_contracts.functions import SUCCESS, Function, Invocation

_PEOPLE_AND_CONTRACTS = ("ACCOUNT", "CONTRACT")


def _alias_of_number(invocation: Invocation) -> bytes:
    """The argument is long-zero, of an account with an address of its own."""
    num = entity_id.num_of_long_zero(address_at(invocation.arguments, 0))
    ledger = invocation.ledger
    account = None if num is None else ledger.entity(ledger.state.encoded(num))
    if account is None or account.type not in _PEOPLE_AND_CONTRACTS or account.own_address is None:
        raise Refused("INVALID_ACCOUNT_ID")
    return SUCCESS + word_of_address(account.own_address)


def _number_of_alias(invocation: Invocation) -> bytes:
    """The argument is an address of its own."""
    address = address_at(invocation.arguments, 0)
    account = invocation.account(address)
    if entity_id.num_of_long_zero(address) is not None:
        raise Refused("INVALID_ACCOUNT_ID")
    return SUCCESS + word_of_address(entity_id.long_zero(account.id))


def _is_valid_alias(invocation: Invocation) -> bytes:
    account = invocation.ledger.account_at(address_at(invocation.arguments, 0))
    return word_of(account is not None)


FUNCTIONS = (
    Function("getEvmAddressAlias(address)", _alias_of_number, "(int64,address)", tells_code_when_static=True),
    Function(
        "getHederaAccountNumAlias(address)", _number_of_alias, "(int64,address)", tells_code_when_static=True
    ),
    Function("isValidAlias(address)", _is_valid_alias, "(bool)", tells_code=False),
)
