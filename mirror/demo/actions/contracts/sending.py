"""Calling contracts: by a ContractCall, or by an Ethereum transaction."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from mirror.core.values.ethereum import EIP_1559, EIP_2930, EIP_7702, LEGACY, created_address
from mirror.demo.actions import people
from mirror.demo.evm.ethereum import Access, Authorization, EthereumTransaction, SignedTransaction, authorize
from mirror.demo.evm.run import Run
from mirror.demo.evm.solidity import call_data
from mirror.demo.evm.system_contracts import GAS_PRICE
from mirror.demo.network import Action, Network, required
from mirror.demo.streams.keys import EcdsaWallet
from mirror.demo.streams.record_files import transfer_list
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.contracts import Contract, Result
from web3sim.engine.interface import CallRequest

_TYPES, _TYPE_WEIGHTS = (LEGACY, EIP_2930, EIP_1559), (3, 1, 6)
_MAX_GAS_ALLOWANCE = 20 * HBAR
_ETHEREUM_SHARE = 0.6
_GAS = 300_000  # of transactions that are never run
_WITH_RESULT = 0.5  # share of the transactions with a wrong nonce whose record has a result
_ANNOUNCING = 0.3  # share of the transactions with an access list that is not empty

WRONG_NONCE = "WRONG_NONCE"


@cache
def wallet(number: int) -> EcdsaWallet:
    """Return the key pair of an account that can use Ethereum tools."""
    return EcdsaWallet(number)


def signs_ethereum(sender: Account) -> bool:
    return sender.evm_address is not None and sender.evm_address == wallet(sender.number).evm_address


def can_pay(sender: Account, gas: int, value: int = 0) -> bool:
    return sender.balance >= gas * GAS_PRICE + value + HBAR


@dataclass(frozen=True, slots=True)
class ContractCall:
    """A call of a contract or account; without `called` it creates a contract.

    `accounts` are other accounts that it may pay, `file` has its call data. With `delegated` the sender also
    delegates to the code at that address, which takes one more nonce (EIP-7702).
    """

    sender: Account
    called: Account | None
    data: bytes
    gas: int
    value: int = 0
    accounts: Sequence[Account] = ()
    file: int | None = None
    delegated: bytes | None = None


def send(network: Network, sent: ContractCall) -> Result:
    """Call a contract in a way that the sender can."""
    sender, called = sent.sender, sent.called
    if called is None or (signs_ethereum(sender) and network.choose.random() < _ETHEREUM_SHARE):
        return by_ethereum(network, sent)
    request = CallRequest(sender.address, called.address, sent.data, sent.gas, sent.value)
    run = Run(network, sender, request, (called, *sent.accounts))
    body = {
        "contractID": called.number,
        "gas": sent.gas,
        "amount": sent.value,
        "functionParameters": sent.data,
    }
    composed = network.submit("contractCall", body, payer=sender.number, **run.outcome("contractCallResult"))
    return run.finish(composed, payer=sender.number)


def by_ethereum(network: Network, sent: ContractCall) -> Result:
    """Send an Ethereum transaction: its sender pays for the gas, the relay that submits it pays the rest."""
    sender, called, delegated = sent.sender, sent.called, sent.delegated
    signed = _signed(network, sent)
    to = called.address if called else None
    request = CallRequest(sender.address, to, sent.data, sent.gas, sent.value)
    if to is None:
        address = created_address(sender.address, sender.nonce)
        request = request._replace(new_contract_address=address)
    run = Run(network, sender, request, (called, *sent.accounts) if called else sent.accounts)
    sender.nonce += 1 if delegated is None else 2
    paying, fee = relay(network), network.fee("ethereumTransaction")
    # A relay may send for itself.
    transfers = Counter({paying.number: -fee, network.composer.fee_account: fee + run.gas_fee})
    transfers[sender.number] -= run.gas_fee
    if run.execution.successful:
        transfers.update(run.transfers)
    result = run.function_result(requested=True, signer_nonce=sender.nonce)
    composed = network.submit(
        "ethereumTransaction",
        _body(signed.without_data() if sent.file else signed, sent.file),
        payer=paying.number,
        receipt={"contractID": run.contract},
        record={
            "contractCallResult" if called else "contractCreateResult": result,
            "ethereum_hash": signed.hash,
            "transferList": transfer_list(transfers),
            "transactionFee": fee + run.gas_fee,
        },
        result=run.execution.result,
        fee=fee,
        sidecars=run.sidecars(),
    )
    if delegated is not None:
        sender.delegation = delegated
        body = {"accountIDToUpdate": sender.number, "delegation_address": delegated}
        network.submit("cryptoUpdateAccount", body, payer=paying.number, parent=composed, nonce=1)
    return run.finish(composed, payer=paying.number, ethereum=signed)


def submit_wrong_nonce(network: Network, sender: Account, called: Account, data: bytes) -> None:
    """Send an Ethereum transaction with a wrong nonce. It is not run, but its record may have a result."""
    late = Account(sender.number, sender.created, evm_address=sender.address, nonce=sender.nonce + 3)
    signed = _signed(network, ContractCall(late, called, data, _GAS))
    if network.choose.random() >= _WITH_RESULT:
        _fail(network, signed, WRONG_NONCE)
        return
    result = {
        "contractID": called.number,
        "errorMessage": WRONG_NONCE,
        "gas": _GAS,
        "functionParameters": data,
        "sender_id": sender.number,
    }
    at = _fail(network, signed, WRONG_NONCE, contractCallResult=result)
    failed = Result(at, called.number, sender.number, signed.hash, WRONG_NONCE, _GAS, error=WRONG_NONCE)
    network.world.contracts.results.append(replace(failed, parameters=data, ethereum=signed.raw))


def submit_unfunded(network: Network, sender: Account, called: Account) -> None:
    """Send an Ethereum transaction of more hbars than the sender has. It is not run, but has a result."""
    value, result = sender.balance + HBAR, "INSUFFICIENT_PAYER_BALANCE"
    signed = _signed(network, ContractCall(sender, called, b"", _GAS, value))
    at = _fail(network, signed, result)
    failed = Result(at, None, relay(network).number, signed.hash, result, _GAS, amount=value, error=result)
    network.world.contracts.results.append(replace(failed, ethereum=signed.raw))


def _fail(network: Network, signed: SignedTransaction, result: str, **record: Any) -> int:
    """Submit an Ethereum transaction that is not run. Return its consensus timestamp."""
    paying, fee = relay(network).number, network.fee("ethereumTransaction")
    record["ethereum_hash"] = signed.hash
    composed = network.submit(
        "ethereumTransaction", _body(signed, None), payer=paying, record=record, result=result, fee=fee
    )
    return composed.consensus_timestamp


def relay(network: Network) -> Account:
    contracts = network.world.contracts
    if contracts.relay is None:
        opened = people.open_account(network, name="JSON-RPC relay", ecdsa=True)
        network.world.bound.add(opened.number)
        contracts.relay = opened.number
    return network.world.accounts[contracts.relay]


def _signed(network: Network, sent: ContractCall) -> SignedTransaction:
    sender, called = sent.sender, sent.called
    authorizations: tuple[Authorization, ...] = ()
    if sent.delegated is None:
        (kind,) = network.choose.choices(_TYPES, _TYPE_WEIGHTS)
    else:
        kind, authorizations = EIP_7702, _authorizations(network, sender, sent.delegated)
    access: tuple[Access, ...] = ()
    if kind != LEGACY and called and sent.file is None and network.choose.random() < _ANNOUNCING:
        # The network neither charges for it nor makes anything cheaper by it.
        contract = network.world.contracts.deployed.get(called.number)
        slots = sorted(contract.slots) if contract else []
        access = ((called.address, tuple(slots[: network.choose.randrange(3)])),)
    to = called.address if called else b""
    wrapped = EthereumTransaction(
        *(kind, sender.nonce, GAS_PRICE, sent.gas, to, sent.value, sent.data, access, authorizations)
    )
    return wrapped.sign(wallet(sender.number))


def _authorizations(network: Network, sender: Account, delegated: bytes) -> tuple[Authorization, ...]:
    """Return the delegation of the sender itself, sometimes with an outdated one of another account."""
    own = authorize(wallet(sender.number), delegated, sender.nonce + 1)
    other = find_ethereum_sender(network)
    if other is None or other is sender or network.choose.random() < 0.5:
        return (own,)
    return own, authorize(wallet(other.number), delegated, other.nonce + 5)


def _body(signed: SignedTransaction, file: int | None) -> dict[str, Any]:
    return {"ethereum_data": signed.raw, "max_gas_allowance": _MAX_GAS_ALLOWANCE, "call_data": file}


# CONTRACTS AND PARTIES
Use = Callable[[Network, Contract, str], None]


def uses(weight: int, kind: str, use: Use, ways: Mapping[str, int]) -> Action:
    """Return the action of using a contract of a kind in one of several ways, by their weights."""
    return Action(partial(_use, kind=kind, use=use, ways=ways), weight)


def _use(network: Network, kind: str, use: Use, ways: Mapping[str, int]) -> None:
    contract = network.find(network.world.contracts.all(kind))
    (way,) = network.choose.choices(list(ways), list(ways.values()))
    use(network, required(contract), way)


def owner_of(network: Network, contract: Contract) -> Account | None:
    """Return the account that deployed a contract, unless it is deleted."""
    owner = None if contract.owner is None else network.world.accounts[contract.owner]
    return None if owner is None or owner.deleted else owner


def call(
    network: Network,
    sender: Account,
    contract: Contract,
    signature: str,
    *arguments: object,
    gas: int,
    value: int = 0,
) -> Result | None:
    """Call a function, with accounts for their addresses; None when the sender can't pay for it."""
    if not can_pay(sender, gas, value):
        return None
    accounts = [each for each in arguments if isinstance(each, Account)]
    data = call_data(signature, *(each.address if isinstance(each, Account) else each for each in arguments))
    called = network.world.accounts[contract.number]
    return send(network, ContractCall(sender, called, data, gas, value, accounts))


def find_changeable(
    network: Network, kind: str | None = None, *, unhooked: bool = False
) -> tuple[Contract, Account] | None:
    """Return a contract, one without hooks if `unhooked`, and the account that may change it."""
    contracts, accounts = network.world.contracts, network.world.accounts
    able = [
        (contract, accounts[contract.admin])
        for of_kind in ([kind] if kind else list(contracts.living))
        for contract in contracts.all(of_kind)
        if contract.admin is not None
        and not accounts[contract.admin].deleted
        and not (unhooked and contracts.hooks_of(contract.number))
    ]
    found = network.find(able)
    return found if found and found[1].balance > HBAR else None


def submit_change(network: Network, contract: int, body: dict[str, Any], *, payer: int) -> None:
    named = {"contractID": contract}
    network.submit("contractUpdateInstance", named | body, payer=payer, receipt=named)


def find_ethereum_sender(network: Network) -> Account | None:
    """Return an account that can send Ethereum transactions; None if the first one tried can't."""
    sender = network.find_person()
    return sender if sender is not None and signs_ethereum(sender) else None


def find_payee(network: Network) -> Account | None:
    """Return an account that a contract may pay unsigned; None if the first one tried needs to sign."""
    payee = network.find_person()
    return None if payee is None or payee.receiver_signature_required else payee
