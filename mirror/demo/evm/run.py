"""Running a contract: its effects on the world, and its record.

The caller makes a Run, submits the transaction with fields of the record from the run, and finishes the run,
which submits a child transaction for each contract that was created on the way.
"""

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from eth_bloom.bloom import BloomFilter

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ContractID, Key
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.evm import sidecars
from mirror.demo.evm.children import Parent, record_request
from mirror.demo.evm.execution import Execution, Log, Request, execute
from mirror.demo.evm.ledgers import WorldLedger
from mirror.demo.evm.solidity import kinds
from mirror.demo.evm.state import Place
from mirror.demo.evm.system_contracts import Rate
from mirror.demo.network import Network
from mirror.demo.streams.record_files import ComposedTransaction, account
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD, Account
from mirror.demo.world.contracts import Contract, LogEntry, Result, StoredSlot
from mirror.demo.world.fees import exchange_rate

# Tinybars; 852 tinycents at 12 cents for an hbar.
GAS_PRICE = 71

NO_BLOOM = bytes(256)


@cache
def contract_id(number: int) -> Any:
    """Return the ContractID of a contract."""
    return ContractID(contractNum=number)


def implicit_key(number: int) -> bytes:
    """Return the serialized key of an immutable contract: its own id."""
    key: bytes = Key(contractID=contract_id(number)).SerializeToString()
    return key


def place(network: Network) -> Place:
    """Return the block in which the next transaction runs."""
    composer = network.composer
    began = composer.block_start // NANOS_PER_SECOND
    hbars, cents = exchange_rate(network.world)
    rate, number = Rate(cents, hbars), network.world.next_number
    return Place(composer.block_number, began, GAS_PRICE, network.logs_transfers, rate, number)


class Run:
    """One execution. `called` is the account or contract that is called; None for a creation.

    `created` are the new contracts, that of the transaction itself first; `transfers` the hbars it moves.
    """

    def __init__(
        self, network: Network, sender: Account, request: Request, around: Iterable[Account]
    ) -> None:
        self.network, self.sender, self.request = network, sender, request
        self._ledger = WorldLedger(network.world, (sender, *around))
        self.execution: Execution = execute(request, place(network), self._ledger)
        called = self._ledger.account(request.to) if request.to else None
        self.called = called.number if called else None
        self.created = self._create()
        self.transfers = self._transfers()
        self.logs = tuple(map(self._log, self.execution.logs))

    @property
    def contract(self) -> int | None:
        """Return the contract or account that the record names."""
        if not self.request.created:
            return self.called
        return self.created[0].number if self.created else None

    @property
    def gas_fee(self) -> int:
        return self.execution.gas_used * GAS_PRICE

    @property
    def error(self) -> str:
        """Return the error message of the record."""
        done = self.execution
        if done.successful:
            return ""
        return done.frames[0].error or "0x" + done.output.hex()

    # THE RECORD

    def function_result(self, *, requested: bool = False, signer_nonce: int | None = None) -> dict[str, Any]:
        """Return the ContractFunctionResult, which repeats the request if `requested`."""
        done, request = self.execution, self.request
        result: dict[str, Any] = {
            "gasUsed": done.gas_used,
            "errorMessage": self.error,
            "bloom": self._bloom(self.logs),
            "sender_id": account(self.sender.number),
        }
        if self.contract is not None:
            result["contractID"] = contract_id(self.contract)
        if done.successful:
            result |= {
                "contractCallResult": self.output,
                "logInfo": [
                    {
                        "contractID": contract_id(log.contract),
                        "bloom": self._bloom([log]),
                        "topic": log.topics,
                        "data": log.data,
                    }
                    for log in self.logs
                ],
                "createdContractIDs": [contract_id(created.number) for created in self.created],
                "contract_nonces": [
                    {"contract_id": contract_id(self._number(address)), "nonce": nonce}
                    for address, nonce in done.nonces.items()
                ],
            }
            if request.created:
                result["evm_address"] = {"value": request.created}
        if requested:
            result |= {"gas": request.gas, "amount": request.value, "functionParameters": request.data}
        if signer_nonce is not None:
            result["signer_nonce"] = {"value": signer_nonce}
        return result

    @property
    def output(self) -> bytes:
        """Return the output of the call, or the code of the new contract."""
        if not self.execution.successful:
            return b""
        return self.created[0].code if self.request.created else self.execution.output

    def sidecars(self, *, bytecode: bool = False) -> list[Any]:
        """Return state changes and actions, with `bytecode` also the code of the new contract."""
        messages = sidecars.of(self.execution, self._number_at, self.sender.number)
        if bytecode:
            messages.append(sidecars.bytecode(self.created[0] if self.created else None, self.request.data))
        return messages

    def finish(
        self,
        composed: ComposedTransaction,
        hash: bytes,
        *,
        itself: Account | None = None,
        payer: int,
        ethereum: bytes = b"",
    ) -> Result:
        """Change the world as the submitted transaction did, and submit its children.

        `itself` is the account of the contract that the transaction itself created, `ethereum` the Ethereum
        transaction that it wraps.
        """
        world, done, at = self.network.world, self.execution, composed.consensus_timestamp
        # Where the node has not logged the units that moved, mirrors add a log to the call.
        moves = [] if self.network.logs_transfers else [each.moved for each in done.requests if each.moved]
        logged = [
            LogEntry(self.called or 0, moved.topics, moved.amount.to_bytes(32, "big")) for moved in moves
        ]
        result = Result(
            *(at, self.contract, self.sender.number, hash, done.result, self.request.gas, done.gas_used),
            *(self.request.value, self.request.data, self.output, self.error),
            created=tuple(created.number for created in self.created),
            logs=(*self.logs, *logged),
            ethereum=ethereum,
        )
        world.contracts.results.append(result)
        if not done.successful:
            return result
        for address, nonce in done.nonces.items():
            world.accounts[self._number(address)].nonce = nonce
        for address, touched in done.slots.items():
            number = self._number_at(address)
            if number is None:
                continue
            stored = world.contracts.deployed[number].slots
            for slot, change in touched.items():
                if change.written is not None:
                    stored[slot] = StoredSlot(change.written, at)
        if itself is not None:
            itself.created = itself.balance_timestamp = at
        children = self.created if itself is None else self.created[1:]
        for nonce, child in enumerate(children, 1):
            self._record_child(child, composed, nonce, payer)
        for nonce, request in enumerate(done.requests, 1 + len(children)):
            record_request(self.network, request, Parent(composed, nonce, payer, self.sender.number))
        return result

    def _record_child(self, child: Contract, parent: ComposedTransaction, nonce: int, payer: int) -> None:
        network = self.network
        network.world.accounts[child.number].created = network.now
        network.world.accounts[child.number].balance_timestamp = network.now
        composed = network.submit(
            "contractCreateInstance",
            {"autoRenewPeriod": {"seconds": AUTO_RENEW_PERIOD}},
            payer=payer,
            receipt={"contractID": contract_id(child.number)},
            record={
                "contractCreateResult": {
                    "contractID": contract_id(child.number),
                    "bloom": NO_BLOOM,
                    "evm_address": {"value": child.address},
                    "sender_id": account(self.sender.number),
                }
            },
            parent=parent,
            nonce=nonce,
            sidecars=[sidecars.bytecode(child, child.initcode)],
        )
        at, hash = composed.consensus_timestamp, composed.record.transactionHash[:32]
        created = Result(at, child.number, self.sender.number, hash, "SUCCESS")
        network.world.contracts.results.append(created)

    # EFFECTS

    def _create(self) -> list[Contract]:
        """Create the new contracts and their accounts."""
        world, done = self.network.world, self.execution
        creations = {frame.recipient: frame for frame in done.frames if frame.creates}
        own = [self.request.created] if self.request.created and done.successful else []
        created = []
        for address in (*own, *(address for address in done.codes if address not in own)):
            number, code = self.network.new_number(), done.codes[address]
            contract = Contract(number, kinds()[code], address, code, creations[address].data)
            if address not in own:
                contract.creator = self._number(creations[address].caller)
            opened = Account(number, self.network.now, is_contract=True, key=implicit_key(number))
            opened.auto_renew_period = AUTO_RENEW_PERIOD
            if entity_id.num_of_long_zero(address) is None:
                opened.evm_address = address
            world.accounts[number] = opened
            world.contracts.add(contract)
            created.append(contract)
        return created

    def _transfers(self) -> dict[int, int]:
        moved = {}
        for address, balance in self.execution.balances.items():
            change = balance - self._ledger.balance(address)
            if change:
                moved[self._number(address)] = change
        return moved

    def _number_at(self, address: bytes) -> int | None:
        account = self._ledger.account(address)
        return account.number if account else None

    def _number(self, address: bytes) -> int:
        number = self._number_at(address)
        if number is None:
            raise LookupError(f"a contract touched 0x{address.hex()}, which was not said to be around")
        return number

    def _log(self, log: Log) -> LogEntry:
        # A token logs at its own address.
        token = entity_id.num_of_long_zero(log.address)
        is_token = token is not None and token in self.network.world.tokens.issued
        return LogEntry(token if is_token and token else self._number(log.address), log.topics, log.data)

    def _bloom(self, logs: Collection[LogEntry]) -> bytes:
        """Return the bloom filter of logs, with the addresses that Ethereum tools know their contracts by."""
        accounts = self.network.world.accounts
        numbers = {log.contract for log in logs}
        addresses = {
            number: accounts[number].address if number in accounts else entity_id.long_zero(number)
            for number in numbers
        }
        entries = (entry for log in logs for entry in (addresses[log.contract], *log.topics))
        return int(BloomFilter.from_iterable(entries)).to_bytes(len(NO_BLOOM), "big")
