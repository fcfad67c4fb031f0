"""The records of what contracts had system contracts do: each is a child of the call."""

from collections.abc import Callable
from typing import Any, NamedTuple

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import (
    AccountAmount,
    ContractID,
    SchedulableTransactionBody,
    ScheduleID,
    TokenID,
)
from mirror.core.values.hashes import sha384
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.evm.system_contracts import SystemCallRequest
from mirror.demo.network import Network
from mirror.demo.streams.record_files import ComposedTransaction, account, timestamp
from mirror.demo.world.contracts import Result
from mirror.demo.world.schedules import Schedule
from mirror.demo.world.tokens import Airdrop, Relationship, Token


def record(
    network: Network,
    asked: SystemCallRequest,
    parent: ComposedTransaction,
    nonce: int,
    *,
    payer: int,
    sender: int,
) -> None:
    """Do what was asked for, and record it. `sender` called the contract, also if somebody else pays."""
    child = _Child(network, asked, parent, nonce, payer, sender)
    _RECORDING[asked.function](child, *asked.arguments)


class Answered(NamedTuple):
    """A call of a system contract that succeeded; `caller` is the number of a contract."""

    service: int
    caller: int
    data: bytes
    gas: int
    output: bytes


class Place(NamedTuple):
    """Where a child stands: after its parent, with a nonce of its own, paid by whoever pays the parent."""

    parent: ComposedTransaction
    nonce: int
    payer: int


def submit(
    network: Network,
    answered: Answered,
    place: Place,
    kind: str,
    body: dict[str, Any],
    *,
    receipt: dict[str, Any] | None = None,
    record: dict[str, Any],
    transfers: dict[int, int] | None = None,
) -> ComposedTransaction:
    """Submit what a system contract did, with the result of the call."""
    record["contractCallResult"] = {
        "contractID": ContractID(contractNum=answered.service),
        "contractCallResult": answered.output,
        "gas": answered.gas,
        "gasUsed": answered.gas,
        "functionParameters": answered.data,
        "sender_id": account(answered.caller),
    }
    composed = network.submit(
        kind,
        body,
        payer=place.payer,
        receipt=receipt,
        record=record,
        transfers=transfers,
        parent=place.parent,
        nonce=place.nonce,
    )
    network.world.contracts.results.append(
        Result(
            consensus_timestamp=composed.consensus_timestamp,
            contract=answered.service,
            sender=answered.caller,
            hash=composed.record.transactionHash[:32],
            result="SUCCESS",
            gas_limit=answered.gas,
            gas_used=answered.gas,
            amount=0,
            parameters=answered.data,
            output=answered.output,
            error="",
        )
    )
    return composed


class _Child:
    def __init__(
        self,
        network: Network,
        asked: SystemCallRequest,
        parent: ComposedTransaction,
        nonce: int,
        payer: int,
        sender: int,
    ) -> None:
        self._network, self._asked, self._parent = network, asked, parent
        self._nonce, self._payer, self._sender = nonce, payer, sender
        self._caller = self._number(asked.caller)

    def _number(self, address: bytes) -> int:
        number = entity_id.num_of_long_zero(address)
        if number is not None:
            return number
        accounts = self._network.world.accounts.values()
        return next(each.number for each in accounts if each.evm_address == address)

    def _token(self, address: bytes) -> Token:
        return self._network.world.tokens.issued[self._number(address)]

    def _submit(
        self, kind: str, body: dict[str, Any], receipt: dict[str, Any] | None = None, **record: Any
    ) -> ComposedTransaction:
        asked = self._asked
        answered = Answered(asked.service, self._caller, asked.data, asked.gas, asked.output)
        place = Place(self._parent, self._nonce, self._payer)
        return submit(self._network, answered, place, kind, body, receipt=receipt, record=record)

    # TOKENS

    def _associate(self, holder: bytes, address: bytes) -> None:
        token, number = self._token(address), self._number(holder)
        self._network.world.tokens.associate(token, number, self._network.now)
        body = {"account": account(number), "tokens": [TokenID(tokenNum=token.number)]}
        self._submit("tokenAssociate", body)

    def _transfer(self, address: bytes, sender: bytes, receiver: bytes, amount: int) -> None:
        token, amounts = self._moved(address, sender, receiver, amount)
        moved = {"token": TokenID(tokenNum=token.number), "transfers": amounts}
        self._submit("cryptoTransfer", {"tokenTransfers": [moved]}, tokenTransferLists=[moved])

    def _moved(self, address: bytes, sender: bytes, receiver: bytes, amount: int) -> tuple[Token, list[Any]]:
        token, amounts = self._token(address), []
        for holder, change in ((sender, -amount), (receiver, amount)):
            number = self._number(holder)
            token.relationships[number].receive(change, self._network.now)
            amounts.append(AccountAmount(accountID=account(number), amount=change))
        return token, amounts

    def _airdrop(self, drops: tuple[Any, ...]) -> None:
        ((address, ((sender, _, _), (receiver, amount, _)), _),) = drops
        token, number = self._token(address), self._number(receiver)
        requested = [
            AccountAmount(accountID=account(self._caller), amount=-amount),
            AccountAmount(accountID=account(number), amount=amount),
        ]
        token_id = TokenID(tokenNum=token.number)
        body = {"token_transfers": [{"token": token_id, "transfers": requested}]}
        if number in token.relationships:
            _, amounts = self._moved(address, sender, receiver, amount)
            self._submit("tokenAirdrop", body, tokenTransferLists=[{"token": token_id, "transfers": amounts}])
            return
        airdrops, key = self._network.world.tokens.airdrops, (self._caller, number, token.number, 0)
        pending = airdrops.get(key)
        waiting = pending.amount or 0 if pending is not None and pending.state == "PENDING" else 0
        airdrops[key] = Airdrop(waiting + amount, "PENDING", self._network.now)
        self._network.world.bound.update((self._caller, number))
        airdrop = {
            "sender_id": account(self._caller),
            "receiver_id": account(number),
            "fungible_token_type": token_id,
        }
        value = {"amount": waiting + amount}
        pending_record = {"pending_airdrop_id": airdrop, "pending_airdrop_value": value}
        self._submit("tokenAirdrop", body, new_pending_airdrops=[pending_record])

    def _create(self, struct: tuple[Any, ...], supply: int, decimals: int) -> None:
        name, symbol, _, memo, *_, (_, _, period) = struct
        network, treasury = self._network, self._caller
        number, at = network.new_number(), network.now
        assert number == self._asked.made
        token = Token(
            number=number,
            created=at,
            modified=at,
            name=name,
            symbol=symbol,
            fungible=True,
            treasury=treasury,
            decimals=decimals,
            initial_supply=supply,
            supply=supply,
            memo=memo,
            auto_renew_account=treasury,
            auto_renew_period=period,
            fees_since=at,
        )
        token.relationships[treasury] = Relationship(at, False, None, None, at, supply)
        network.world.tokens.issued[number] = token
        network.world.bound.add(treasury)
        token_id = TokenID(tokenNum=number)
        body = {
            "name": name,
            "symbol": symbol,
            "decimals": decimals,
            "initialSupply": supply,
            "treasury": account(treasury),
            "memo": memo,
            "autoRenewAccount": account(treasury),
            "autoRenewPeriod": {"seconds": period},
        }
        moved = {
            "token": token_id,
            "transfers": [AccountAmount(accountID=account(treasury), amount=supply)],
        }
        association = {"account_id": account(treasury), "token_id": token_id}
        self._submit(
            "tokenCreation",
            body,
            {"tokenID": token_id},
            tokenTransferLists=[moved],
            automatic_token_associations=[association],
        )

    # OTHERS

    def _draw(self) -> None:
        seed = sha384(str(self._network.now).encode())
        self._submit("util_prng", {}, prng_bytes=seed)

    def _schedule(self, to: bytes, payer: bytes, second: int, gas: int, value: int, data: bytes) -> None:
        network, number = self._network, self._network.new_number()
        assert number == self._asked.made
        called = ContractID(contractNum=self._number(to))
        call = {"contractID": called, "gas": gas, "amount": value, "functionParameters": data}
        scheduled: Any = SchedulableTransactionBody(contractCall=call)
        at, paying = network.now, self._number(payer)
        body = {
            "scheduledTransactionBody": scheduled,
            "payerAccountID": account(paying),
            "expiration_time": timestamp(second * NANOS_PER_SECOND),
        }
        composed = self._submit("scheduleCreate", body, {"scheduleID": ScheduleID(scheduleNum=number)})
        schedule = Schedule(
            number=number,
            created=at,
            creator=self._sender,
            payer=paying,
            memo="",
            admin_key=None,
            scheduled=scheduled.SerializeToString(),
            transaction_id=composed.body.transactionID.SerializeToString(),
            expires=second * NANOS_PER_SECOND,
            required=[paying],
            expiration=second * NANOS_PER_SECOND,
            of_contract=True,
        )
        network.world.schedules[number] = schedule


_RECORDING: dict[str, Callable[..., None]] = {
    "airdropTokens": _Child._airdrop,
    "associateToken": _Child._associate,
    "createFungibleToken": _Child._create,
    "executeCallOnPayerSignature": _Child._schedule,
    "getPseudorandomSeed": _Child._draw,
    "transferToken": _Child._transfer,
}
