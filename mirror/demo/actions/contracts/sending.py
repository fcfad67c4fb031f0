"""Calling contracts: by a ContractCall, or by an Ethereum transaction."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from ledger.stream.record.compose import TREASURY, transfer_list
from mirror.demo.actions.accounts import people
from mirror.demo.evm.ethereum import EthereumTransaction, SignedTransaction
from mirror.demo.evm.execution import Request
from mirror.demo.evm.run import GAS_PRICE, Run, contract_id
from mirror.demo.evm.solidity import call_data
from mirror.demo.keys.wallet import EcdsaWallet
from mirror.demo.network import Network, NotPossible
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.contracts import Contract, Result
from mirror.values.ethereum import EIP_1559, EIP_2930, LEGACY, created_address
from mirror.values.hapi import FileID

_TYPES, _TYPE_WEIGHTS = (LEGACY, EIP_2930, EIP_1559), (3, 1, 6)
_MAX_GAS_ALLOWANCE = 20 * HBAR
_ETHEREUM_SHARE = 0.6
_GAS = 300_000  # of transactions that are never run


@cache
def wallet(number: int) -> EcdsaWallet:
    """Return the key pair of an account that can use Ethereum tools."""
    return EcdsaWallet(number)


def signs_ethereum(sender: Account) -> bool:
    """Tell whether an account can send Ethereum transactions."""
    return sender.evm_address is not None and sender.evm_address == wallet(sender.number).evm_address


def can_pay(sender: Account, gas: int, value: int = 0) -> bool:
    return sender.balance >= gas * GAS_PRICE + value + HBAR


def send(
    network: Network,
    sender: Account,
    called: Account,
    data: bytes,
    *,
    gas: int,
    value: int = 0,
    around: Iterable[Account] = (),
) -> Result:
    """Call a contract in a way that the sender can. `around` are other accounts the call may pay."""
    if signs_ethereum(sender) and network.choose.random() < _ETHEREUM_SHARE:
        return by_ethereum(network, sender, called, data, gas=gas, value=value, around=around)
    request = Request(sender.address, data, gas, value, to=called.address)
    run = Run(network, sender, request, (called, *around))
    composed = network.submit(
        "contractCall",
        {
            "contractID": contract_id(called.number),
            "gas": gas,
            "amount": value,
            "functionParameters": data,
        },
        payer=sender.number,
        receipt={"contractID": contract_id(called.number)},
        record={"contractCallResult": run.function_result()},
        transfers=run.transfers,
        result=run.execution.result,
        fee=run.gas_fee,
        sidecars=run.sidecars(),
    )
    return run.finish(composed, composed.record.transactionHash[:32], payer=sender.number)


def by_ethereum(
    network: Network,
    sender: Account,
    called: Account | None,
    data: bytes,
    *,
    gas: int,
    value: int = 0,
    around: Iterable[Account] = (),
    file: int | None = None,
) -> Result:
    """Send an Ethereum transaction; without `called` it creates a contract. `file` holds its call data.

    Its sender pays for the gas, and the relay that submits it pays the rest.
    """
    signed = _signed(network, sender, called, data, gas=gas, value=value)
    created = b"" if called else created_address(sender.address, sender.nonce)
    request = Request(sender.address, data, gas, value, called.address if called else b"", created)
    run = Run(network, sender, request, (called, *around) if called else around)
    sender.nonce += 1
    paying, fee = relay(network), network.fee("cryptoTransfer")
    transfers = {paying.number: -fee, network.composer.fee_account: fee + run.gas_fee}
    # A relay may send for itself.
    transfers[sender.number] = transfers.get(sender.number, 0) - run.gas_fee
    for moved, amount in run.transfers.items() if run.execution.successful else ():
        transfers[moved] = transfers.get(moved, 0) + amount
    named = {} if run.contract is None else {"contractID": contract_id(run.contract)}
    composed = network.submit(
        "ethereumTransaction",
        _body(signed.without_data() if file else signed, file),
        payer=paying.number,
        receipt=named,
        record={
            "contractCallResult" if called else "contractCreateResult": run.function_result(
                requested=True, signer_nonce=sender.nonce
            ),
            "ethereum_hash": signed.hash,
            "transferList": transfer_list(transfers),
            "transactionFee": fee + run.gas_fee,
        },
        result=run.execution.result,
        fee=fee,
        sidecars=run.sidecars(),
    )
    return run.finish(composed, signed.hash, payer=paying.number)


def out_of_turn(network: Network, sender: Account, called: Account, data: bytes) -> None:
    """Send an Ethereum transaction with a nonce that is not the sender's next one. It is not run."""
    late = Account(sender.number, sender.created, evm_address=sender.address, nonce=sender.nonce + 3)
    signed = _signed(network, late, called, data, gas=_GAS, value=0)
    network.submit(
        "ethereumTransaction",
        _body(signed, None),
        payer=relay(network).number,
        record={"ethereum_hash": signed.hash},
        result="WRONG_NONCE",
        fee=network.fee("cryptoTransfer"),
    )


def beyond_means(network: Network, sender: Account, called: Account) -> None:
    """Send an Ethereum transaction of more hbars than the sender has. It is not run, but has a result."""
    value = sender.balance + HBAR
    signed = _signed(network, sender, called, b"", gas=_GAS, value=value)
    paying, result = relay(network), "INSUFFICIENT_PAYER_BALANCE"
    composed = network.submit(
        "ethereumTransaction",
        _body(signed, None),
        payer=paying.number,
        record={"ethereum_hash": signed.hash},
        result=result,
        fee=network.fee("cryptoTransfer"),
    )
    at = composed.consensus_timestamp
    network.world.contracts.results.append(
        Result(at, None, paying.number, signed.hash, result, _GAS, 0, value, b"", b"", result)
    )


def relay(network: Network) -> Account:
    """Return the account that submits Ethereum transactions."""
    contracts = network.world.contracts
    if contracts.relay is None:
        opened = people.open_account(network, name="JSON-RPC relay", ecdsa=True, payer=TREASURY)
        network.world.bound.add(opened.number)
        contracts.relay = opened.number
    return network.world.accounts[contracts.relay]


def _signed(
    network: Network, sender: Account, called: Account | None, data: bytes, *, gas: int, value: int
) -> SignedTransaction:
    (kind,) = network.choose.choices(_TYPES, _TYPE_WEIGHTS)
    to = called.address if called else b""
    wrapped = EthereumTransaction(kind, sender.nonce, GAS_PRICE, gas, to, value, data)
    return wrapped.sign(wallet(sender.number))


def _body(signed: SignedTransaction, file: int | None) -> dict[str, Any]:
    body: dict[str, Any] = {"ethereum_data": signed.raw, "max_gas_allowance": _MAX_GAS_ALLOWANCE}
    if file:
        body["call_data"] = FileID(fileNum=file)
    return body


# CONTRACTS AND PARTIES
Use = Callable[[Network, Contract], None]


def use(network: Network, kind: str, uses: Sequence[Use], weights: Sequence[int]) -> None:
    """Use a contract of a kind in one of several ways."""
    contract = find_contract(network, kind)
    (chosen,) = network.choose.choices(uses, weights)
    if contract is None:
        raise NotPossible
    chosen(network, contract)


def find_contract(network: Network, kind: str) -> Contract | None:
    """Return a contract of a kind; None if there is none."""
    contracts = network.world.contracts
    numbers = contracts.living.get(kind)
    return contracts.deployed[network.choose.choice(numbers)] if numbers else None


def call(
    network: Network,
    sender: Account,
    contract: Contract,
    gas: int,
    signature: str,
    *arguments: object,
    value: int = 0,
    around: Sequence[Account] = (),
) -> Result | None:
    """Call a function of a contract; None when the sender can't pay for it."""
    if not can_pay(sender, gas, value):
        return None
    called = network.world.accounts[contract.number]
    data = call_data(signature, *arguments)
    return send(network, sender, called, data, gas=gas, value=value, around=around)


def find_ethereum_sender(network: Network) -> Account | None:
    """Return somebody who can send Ethereum transactions; None if the first person tried can't."""
    sender = network.find_person()
    return sender if sender is not None and signs_ethereum(sender) else None


def find_payee(network: Network) -> Account | None:
    """Return somebody whom a contract may pay without a signature; None if the first person tried is not."""
    payee = network.find_person()
    return None if payee is None or payee.receiver_signature_required else payee
