"""Running a contract: its effects on the world, and its record.

The caller makes a Run, submits the transaction with fields of the record from the run, and finishes the run,
which submits a child transaction for each contract that was created on the way.
"""

from collections.abc import Collection, Iterable
from typing import Any

from eth_bloom.bloom import BloomFilter

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import Key
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.evm import sidecars
from mirror.demo.evm.children import Parent, record_request
from mirror.demo.evm.ethereum import SignedTransaction
from mirror.demo.evm.execution import CHAIN_ID, WorldState, execute
from mirror.demo.evm.solidity import kinds
from mirror.demo.evm.system_contracts import GAS_PRICE, Services
from mirror.demo.network import Network, Submission
from mirror.demo.streams.record_files import FEE_COLLECTOR, ComposedTransaction
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD, Account
from mirror.demo.world.contracts import Contract, LogEntry, Result, StoredSlot
from web3sim.engine.interface import BlockEnvironment, CallRequest, Log

NO_BLOOM = bytes(256)
_BLOCK_GAS = 15_000_000


def block_of(network: Network) -> BlockEnvironment:
    """Return the block in which the next transaction runs."""
    composer = network.composer
    return BlockEnvironment(
        number=composer.block_number,
        timestamp=composer.block_start // NANOS_PER_SECOND,
        coinbase=entity_id.long_zero(FEE_COLLECTOR),
        prevrandao=bytes(32),
        gas_limit=_BLOCK_GAS,
        chain_id=CHAIN_ID,
    )


class Run:
    """One execution. `contract` is the contract or account that the record names.

    `created` are the new contracts, that of the transaction itself first; `transfers` the hbars it moves. The
    `output` is that of the call, or the code of the new contract; `error` the error message of the record.
    """

    def __init__(
        self, network: Network, sender: Account, request: CallRequest, accounts: Iterable[Account]
    ) -> None:
        self.network, self.sender, self.request = network, sender, request
        self._state = WorldState(network.world, (sender, *accounts))
        services = Services(network.world, logs_transfers=network.logs_transfers)
        self.execution = execute(request, block_of(network), self._state, services)
        done = self.execution
        self.contract = self._state.number_at(request.to) if request.to else None
        self.created = self._create()
        self.output, self.error = b"", ""
        if done.successful:
            self.output = done.call.output
        else:
            self.error = done.frames[0].error or "0x" + done.call.output.hex()
        if request.to is None and self.created:
            self.contract = self.created[0].number
        self.transfers = {}
        for address, balance in done.call.balances.items():
            number = self._number(address)
            self.transfers[number] = balance - network.world.accounts[number].balance
        self.logs = tuple(map(self._log, done.call.logs))
        self.gas_fee = done.call.gas_used * GAS_PRICE

    # THE RECORD

    def function_result(self, *, requested: bool = False, signer_nonce: int | None = None) -> dict[str, Any]:
        """Return the ContractFunctionResult, which repeats the request if `requested`."""
        done, request = self.execution, self.request
        result: dict[str, Any] = {
            "gasUsed": done.call.gas_used,
            "errorMessage": self.error,
            "bloom": self._bloom(self.logs),
            "sender_id": self.sender.number,
            "contractID": self.contract,
            "signer_nonce": signer_nonce,
        }
        if done.successful:
            result |= {
                "contractCallResult": self.output,
                "logInfo": [
                    {
                        "contractID": log.contract,
                        "bloom": self._bloom([log]),
                        "topic": log.topics,
                        "data": log.data,
                    }
                    for log in self.logs
                ],
                "createdContractIDs": [created.number for created in self.created],
                "contract_nonces": [
                    {"contract_id": self._number(address), "nonce": nonce}
                    for address, nonce in done.nonces.items()
                ],
                "evm_address": request.new_contract_address,
            }
        if requested:
            result |= {"gas": request.gas, "amount": request.value, "functionParameters": request.data}
        return result

    def outcome(self, field: str, *, fee: int = 0) -> Submission:
        """Return what the transaction is submitted with; this field of the record has its result.

        The sender pays `fee` besides the gas. The sidecars of a creation have the code of the new contract.
        """
        messages = self.sidecars()
        if self.request.to is None:
            messages.append(sidecars.bytecode(self.created[0] if self.created else None, self.request.data))
        return {
            "receipt": {"contractID": self.contract},
            "record": {field: self.function_result()},
            "transfers": self.transfers,
            "result": self.execution.result,
            "fee": fee + self.gas_fee,
            "sidecars": messages,
        }

    def sidecars(self) -> list[Any]:
        return sidecars.create_sidecars(self.execution, self._state.number_at, self.sender.number)

    def finish(
        self,
        composed: ComposedTransaction,
        *,
        itself: Account | None = None,
        payer: int,
        ethereum: SignedTransaction | None = None,
    ) -> Result:
        """Change the world as the submitted transaction did, and submit its children.

        `itself` is the account of the contract that the transaction itself created, `ethereum` the Ethereum
        transaction that it wraps.
        """
        world, done, at = self.network.world, self.execution, composed.consensus_timestamp
        # Where the node has not logged the units that moved, mirrors add a log to the call.
        moves = [] if self.network.logs_transfers else [each.answer.moved for each in done.requests]
        logged = [LogEntry(self.contract or 0, each.topics, each.data) for each in moves if each]
        hash = ethereum.hash if ethereum else composed.hash
        result = Result(
            *(at, self.contract, self.sender.number, hash, done.result, self.request.gas),
            *(done.call.gas_used, self.request.value, self.request.data, self.output, self.error),
            created=tuple(created.number for created in self.created),
            logs=(*self.logs, *logged),
            ethereum=ethereum.raw if ethereum else b"",
        )
        world.contracts.results.append(result)
        if not done.successful:
            return result
        for address, nonce in done.nonces.items():
            world.accounts[self._number(address)].nonce = nonce
        for (address, slot), change in done.call.slots.items():
            if change.written is not None:
                contract = world.contracts.deployed[self._number(address)]
                contract.slots[slot] = StoredSlot(change.written, at)
        if itself is not None:
            itself.created = itself.balance_timestamp = at
        children = self.created if itself is None else self.created[1:]
        for nonce, child in enumerate(children, 1):
            self._record_child(child, Parent(composed, nonce, payer, self.sender.number))
        for nonce, request in enumerate(done.requests, 1 + len(children)):
            record_request(self.network, request, Parent(composed, nonce, payer, self.sender.number))
        return result

    def _record_child(self, child: Contract, parent: Parent) -> None:
        network, number = self.network, child.number
        itself = network.world.accounts[number]
        itself.created = network.now
        # A balance that the call has moved has its time, before that of the contract.
        if itself.balance_timestamp != parent.transaction.consensus_timestamp:
            itself.balance_timestamp = network.now
        created = {
            "contractID": number,
            "bloom": NO_BLOOM,
            "evm_address": child.address,
            "sender_id": parent.sender,
        }
        composed = network.submit(
            "contractCreateInstance",
            {"autoRenewPeriod": AUTO_RENEW_PERIOD},
            payer=parent.payer,
            receipt={"contractID": number},
            record={"contractCreateResult": created},
            parent=parent.transaction,
            nonce=parent.nonce,
            sidecars=[sidecars.bytecode(child, child.initcode)],
        )
        result = Result(composed.consensus_timestamp, number, parent.sender, composed.hash, "SUCCESS")
        network.world.contracts.results.append(result)

    # EFFECTS

    def _create(self) -> list[Contract]:
        world, done = self.network.world, self.execution
        creations = {frame.start.recipient: frame.start for frame in done.frames if frame.creates}
        created = []
        for address, code in done.codes.items():
            number, creation = self.network.new_number(), creations[address]
            contract = Contract(number, kinds()[code], address, code, creation.data)
            if creation.depth:
                contract.creator = self._number(creation.sender)
            # The key of an immutable contract is its own id.
            key = Key(contractID={"contractNum": number}).SerializeToString()
            opened = Account(number, self.network.now, is_contract=True, key=key)
            opened.auto_renew_period = AUTO_RENEW_PERIOD
            if entity_id.num_of_long_zero(address) is None:
                opened.evm_address = address
            world.accounts[number] = opened
            world.contracts.add(contract)
            created.append(contract)
        return created

    def _number(self, address: bytes) -> int:
        number = self._state.number_at(address)
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
        accounts, entries = self.network.world.accounts, []
        for log in logs:
            known = accounts.get(log.contract)
            entries += [known.address if known else entity_id.long_zero(log.contract), *log.topics]
        return int(BloomFilter.from_iterable(entries)).to_bytes(len(NO_BLOOM), "big")
