"""Random streams of contract, hook and token transactions give the same tables in batches of any size."""

import random

import pytest

from mirror.core.values.hapi.messages import CryptoCreateTransactionBody
from mirror.demo.streams.record_files import Block, account
from tests.contracts.compose import (
    ContractStream,
    actions,
    bytecode,
    change,
    contract,
    ethereum_data,
    file,
    function_result,
    log,
    state,
)
from tests.ledger.ingest.load import load, settings
from tests.ledger.ingest.tables import contents, empty_tables
from tests.tokens.compose import units

pytestmark = pytest.mark.django_db(transaction=True)

FILES = range(3001, 3003)
REVERTED = 33


class RandomStream(ContractStream):
    """Transactions as they come, by a seeded choice; many touch what others touched before."""

    def __init__(self, seed: int, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.choose = random.Random(seed)
        self.accounts: list[int] = []
        self.contracts: list[int] = []
        for _ in range(3):
            self.any_account()
            self.any_creation()

    def any_transaction(self) -> None:
        self.choose.choice(
            [
                *(self.any_call, self.any_ethereum, self.any_creation, self.any_update, self.any_file),
                *(self.any_hooks, self.any_storage, self.any_migration, self.any_units, self.any_account),
            ]
        )()

    def any_call(self) -> None:
        called = self.choose.choice(self.contracts)
        changes = [change(bytes((self.choose.randint(1, 3),)), b"r", self.any_value()) for _ in range(1)]
        nonces = [{"contract_id": contract(called), "nonce": self.choose.randint(1, 9)}]
        ran = function_result(called, logInfo=[log(called), log(2001, b"\1")], contract_nonces=nonces)
        top = {"calling_account": account(1001), "recipient_contract": contract(called), "output": b""}
        result = self.choose.choice([22, 22, REVERTED])
        self.call(called, ran, sidecars=[state(*changes, number=called), actions(top)], result=result)

    def any_value(self) -> bytes | None:
        return self.choose.choice([None, b"", b"a", b"\0b"])

    def any_ethereum(self) -> None:
        ran = function_result(sender_id=account(self.choose.choice(self.accounts)))
        ran |= {"signer_nonce": {"value": self.choose.randint(1, 99)}}
        self.ethereum(ethereum_data(), ran, hash=b"", call_data=self.choose.choice(FILES))

    def any_creation(self) -> None:
        number = 2001 + len(self.contracts)
        if self.choose.random() < 0.5:
            nonces = [{"contract_id": contract(number), "nonce": self.choose.randint(1, 9)}]
            self.call(2001, function_result(2001, contract_nonces=nonces), transfers={1001: -3, number: 3})
        self.contracts.append(number)
        if self.choose.random() < 0.3:
            self.any_transaction()
        hooks = self.any_hook_details() if self.choose.random() < 0.3 else []
        body = {"fileID": file(self.choose.choice(FILES)), "hook_creation_details": hooks}
        self.create(number, body, sidecars=[bytecode(number, self.choose.choice([b"", b"init"]))])

    def any_update(self) -> None:
        kind = self.choose.choice(["contractUpdateInstance", "contractDeleteInstance"])
        self.happen(kind, {"contractID": contract(self.choose.choice(self.contracts))})

    def any_file(self) -> None:
        write = self.choose.choice([self.create_file, self.append, self.append, self.update_file])
        write(self.choose.choice(FILES), self.choose.choice([b"", b"60", b"8001"]))

    def any_hook_details(self) -> list[dict[str, object]]:
        spec = {"contract_id": contract(self.choose.choice(self.contracts))}
        return [{"hook_id": self.choose.randint(1, 2), "evm_hook": {"spec": spec}}]

    def any_hooks(self) -> None:
        body = {
            "accountIDToUpdate": account(self.choose.choice(self.accounts)),
            "hook_ids_to_delete": self.choose.sample((1, 2), self.choose.randint(0, 2)),
            "hook_creation_details": self.any_hook_details() if self.choose.random() < 0.6 else [],
        }
        self.happen("cryptoUpdateAccount", body)

    def any_storage(self) -> None:
        hook = {"entity_id": {"account_id": account(1001)}, "hook_id": self.choose.randint(1, 2)}
        slot = {"key": bytes((self.choose.randint(1, 2),)), "value": self.any_value() or b""}
        self.happen("hook_store", {"hook_id": hook, "storage_updates": [{"storage_slot": slot}]})

    def any_migration(self) -> None:
        number = self.choose.choice([*self.contracts, *self.accounts])
        self.happen("fileUpdate", {}, sidecars=[bytecode(number, b"", b"migrated", migration=True)])

    def any_units(self) -> None:
        sender, receiver = self.choose.sample(self.accounts, 2)
        moved = units(5000, {sender: -1, receiver: 1})
        self.happen("cryptoTransfer", {"tokenTransfers": [moved]}, record={"tokenTransferLists": [moved]})

    def any_account(self) -> None:
        number = 1001 + len(self.accounts)
        if self.choose.random() < 0.5:
            self.crypto_transfer({1001: -7, number: 7})
        self.accounts.append(number)
        self.crypto_create(number, create=CryptoCreateTransactionBody(alias=bytes((number % 251,)) * 20))


def blocks(seed: int) -> list[Block]:
    stream = RandomStream(seed, hapi_version=(0, 60, 0))
    closed = []
    for _ in range(6):
        for _ in range(stream.choose.randint(1, 14)):
            stream.any_transaction()
        closed.append(stream.block())
    return closed


@pytest.mark.checklist("MRG-04", "MRG-11")
@pytest.mark.parametrize("seed", range(3))
def test_rows_do_not_depend_on_batches(seed: int) -> None:
    composed = blocks(seed)
    for block in composed:
        load(block)
    one_by_one = contents()

    for size in (1, 20, 1_000):
        empty_tables()
        with settings(importer__parser__record__batch__maxItems=size):
            load(*composed)
        found = contents()
        assert found.keys() == one_by_one.keys()
        for table, rows in one_by_one.items():
            assert found[table] == rows, table
