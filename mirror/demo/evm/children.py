"""The records of what contracts had system contracts do: each is a child of the call."""

from collections.abc import Callable
from typing import Any, NamedTuple

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ContractID, Key, SchedulableTransactionBody
from mirror.core.values.hashes import sha384
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.evm.system_contracts import SystemCallRequest
from mirror.demo.network import Network
from mirror.demo.streams.record_files import ComposedTransaction
from mirror.demo.world.contracts import Result
from mirror.demo.world.messages import amounts, association, pending_airdrop, token_creation, units
from mirror.demo.world.schedules import Schedule
from mirror.demo.world.tokens import Relationship, Token


class Parent(NamedTuple):
    """The parent of a child, the nonce of the child, who pays for both, and who called the contract."""

    transaction: ComposedTransaction
    nonce: int
    payer: int
    sender: int


def record_request(network: Network, request: SystemCallRequest, parent: Parent) -> None:
    """Make the effects of a call of a system contract, and submit their record."""
    function, arguments = request.function, request.answer.arguments or ()
    _RECORDING[function.recorded_as or function.name](_Child(network, request, parent), *arguments)


class _Child:
    def __init__(self, network: Network, request: SystemCallRequest, parent: Parent) -> None:
        self._network, self._request, self._parent = network, request, parent
        self._world, self._at = network.world, network.now
        self._caller = self._number(request.caller)

    def _number(self, address: bytes) -> int:
        holder = self._world.account_at(address)
        if holder is None:
            raise LookupError(f"no account has the address 0x{address.hex()}")
        return holder.number

    def _token(self, address: bytes) -> Token:
        return self._world.tokens.issued[entity_id.num_of_long_zero(address) or 0]

    def _submit(
        self,
        kind: str,
        body: dict[str, Any],
        receipt: dict[str, Any] | None = None,
        transfers: dict[int, int] | None = None,
        **record: Any,
    ) -> ComposedTransaction:
        """Submit what the system contract did, with the result of the call."""
        request, caller, (parent, nonce, payer, _) = self._request, self._caller, self._parent
        record["contractCallResult"] = {
            "contractID": request.service,
            "contractCallResult": request.answer.output,
            "gas": request.function.gas,
            "gasUsed": request.function.gas,
            "functionParameters": request.data,
            "sender_id": caller,
        }
        composed = self._network.submit(
            *(kind, body),
            payer=payer,
            receipt=receipt,
            record=record,
            transfers=transfers,
            parent=parent,
            nonce=nonce,
        )
        result = Result(
            *(composed.consensus_timestamp, request.service, caller, composed.hash, "SUCCESS"),
            *(request.function.gas, request.function.gas),
            parameters=request.data,
            output=request.answer.output,
        )
        self._world.contracts.results.append(result)
        return composed

    # TOKENS

    def _associate(self, holder: bytes, address: bytes) -> None:
        token, number = self._token(address), self._number(holder)
        self._world.tokens.associate(token, number, self._at)
        self._submit("tokenAssociate", {"account": number, "tokens": [token.number]})

    def _transfer(
        self, address: bytes, sender: bytes, receiver: bytes, amount: int, *, approved: bool = False
    ) -> None:
        token = self._token(address)
        moved = {self._number(sender): -amount, self._number(receiver): amount}
        token.receive(moved, self._at)
        body = {"tokenTransfers": [units(token.number, moved, approved=approved)]}
        self._submit("cryptoTransfer", body, tokenTransferLists=[units(token.number, moved)])

    def _spend(self, address: bytes, owner: bytes, receiver: bytes, amount: int) -> None:
        """Spend an allowance of the contract, not of the payer."""
        key = (self._number(owner), self._caller, self._token(address).number)
        self._world.tokens.token_allowances[key].amount -= amount
        self._transfer(address, owner, receiver, amount, approved=True)

    def _spend_hbars(self, owner: bytes, receiver: bytes, amount: int) -> None:
        moved = {self._number(owner): -amount, self._number(receiver): amount}
        self._world.tokens.hbar_allowances[self._number(owner), self._caller].amount -= amount
        body = {"transfers": {"accountAmounts": amounts(moved, approved=True)}}
        self._submit("cryptoTransfer", body, transfers=moved)

    def _airdrop(self, drops: tuple[Any, ...]) -> None:
        ((address, ((sender, _, _), (receiver, amount, _)), _),) = drops
        token, number = self._token(address), self._number(receiver)
        moved = units(token.number, {self._caller: -amount, number: amount})
        body = {"token_transfers": [moved]}
        if number in token.relationships:
            token.receive({self._number(sender): -amount, number: amount}, self._at)
            self._submit("tokenAirdrop", body, tokenTransferLists=[moved])
            return
        key = (self._caller, number, token.number, 0)
        waiting = self._world.tokens.add_airdrop(key, amount, self._at)
        self._world.bound.update((self._caller, number))
        self._submit("tokenAirdrop", body, new_pending_airdrops=[pending_airdrop(key, waiting)])

    def _create(self, struct: tuple[Any, ...], supply: int, decimals: int) -> None:
        name, symbol, _, memo, *_, (_, _, period) = struct
        treasury, at, number = self._caller, self._at, self._new_number()
        token = Token(number, at, at, name, symbol, fungible=True, treasury=treasury, decimals=decimals)
        token.initial_supply = token.supply = supply
        token.memo, token.fees_since = memo, at
        token.auto_renew_account, token.auto_renew_period = treasury, period
        token.relationships[treasury] = Relationship(at, False, None, None, at, supply)
        self._world.tokens.issued[number] = token
        self._world.bound.add(treasury)
        self._submit(
            *("tokenCreation", token_creation(token), {"tokenID": number}),
            tokenTransferLists=[units(number, {treasury: supply})],
            automatic_token_associations=[association(treasury, number)],
        )

    # OTHERS

    def _new_number(self) -> int:
        """Return the number of the new entity, which was the answer to the contract."""
        number = self._network.new_number()
        assert number == self._request.answer.created
        return number

    def _draw(self) -> None:
        self._submit("util_prng", {}, prng_bytes=sha384(str(self._at).encode()))

    def _schedule(self, to: bytes, payer: bytes, second: int, gas: int, value: int, data: bytes) -> None:
        """Only the contract may delete it: its id is the admin key."""
        number, paying, expires = self._new_number(), self._number(payer), second * NANOS_PER_SECOND
        admin_key: bytes = Key(contractID=ContractID(contractNum=self._caller)).SerializeToString()
        contract = {"contractNum": self._number(to)}
        call = {"contractID": contract, "gas": gas, "amount": value, "functionParameters": data}
        scheduled: Any = SchedulableTransactionBody(contractCall=call)
        body = {
            "scheduledTransactionBody": scheduled,
            "adminKey": admin_key,
            "payerAccountID": paying,
            "expiration_time": expires,
        }
        composed = self._submit("scheduleCreate", body, {"scheduleID": number})
        self._world.schedules[number] = Schedule(
            *(number, self._at, self._parent.sender, paying, "", admin_key),
            scheduled=scheduled.SerializeToString(),
            transaction_id=composed.body.transactionID.SerializeToString(),
            expires=expires,
            required=[paying],
            expiration=expires,
            of_contract=True,
        )


_RECORDING: dict[str, Callable[..., None]] = {
    "airdropTokens": _Child._airdrop,
    "associateToken": _Child._associate,
    "createFungibleToken": _Child._create,
    "cryptoTransfer": _Child._spend_hbars,
    "executeCallOnPayerSignature": _Child._schedule,
    "getPseudorandomSeed": _Child._draw,
    "transferFrom": _Child._spend,
    "transferToken": _Child._transfer,
}
