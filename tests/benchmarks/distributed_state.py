"""The state that simulated calls read, of a distributed database beside a single one with the same rows.

`python -m tests.benchmarks.distributed_state SINGLE_URL DISTRIBUTED_URL` asks both for everything there is,
now and at several blocks, compares all answers, and prints the time and the statements of each kind of question.
"""

import os
import pickle
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

from mirror.db.sql import Row, Values
from web3sim.state.database import Reading
from web3sim.state.tables.choice import tables_at
from web3sim.state.tables.interface import AirdropKey, Entities

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = 6
MOST = 150

Timed = dict[str, dict[Hashable, tuple[Any, float, int]]]


def main() -> None:
    single, distributed = (
        _asked(url, text) for url, text in zip(sys.argv[1:3], ("false", "true"), strict=True)
    )
    different = 0
    print(f"{'question':24} {'asked':>6} {'single ms':>10} {'distributed':>12} {'statements':>12}")
    for name, answers in single.items():
        others = distributed[name]
        wrong = [key for key, (answer, *_) in answers.items() if repr(others[key][0]) != repr(answer)]
        for key in wrong[:3]:
            print(f"DIFFERENT {name} {key}: {answers[key][0]!r} but {others[key][0]!r}"[:600])
        different += len(wrong)
        figures = [
            (_median([took for _, took, _ in each.values()]), max(count for *_, count in each.values()))
            for each in (answers, others)
        ]
        (one, few), (other, more) = figures
        print(f"{name:24} {len(answers):6} {one:10.2f} {other:12.2f} {f'{few} / {more}':>12}")
    sys.exit(f"{different} answers differ." if different else None)


def _median(numbers: list[float]) -> float:
    return 1000 * sorted(numbers)[len(numbers) // 2]


def _asked(url: str, is_distributed: str) -> Timed:
    variables = {**os.environ, "DATABASE_URL": url, "SVC_MIRROR_DB_DISTRIBUTED": is_distributed}
    program = "from tests.benchmarks import distributed_state; distributed_state.ask()"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=variables, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr.decode())
    answers: Timed = pickle.loads(done.stdout)
    return answers


def ask() -> None:
    """Write the answers of the database of the settings to standard output."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    import django

    django.setup()
    reading = Counting()
    reader = Reading()
    blocks = [end for (end,) in reader.fetch("select consensus_end from record_file order by 1")]
    times = [None, *blocks[:: max(len(blocks) // BLOCKS, 1)], blocks[-1]]
    found: Timed = defaultdict(dict)
    for at in times:
        tables = tables_at(at, reading)
        moment = "now" if at is None else "then"
        for name, key, question in questions(tables, reader):
            count, began = reading.statements, time.perf_counter()
            try:
                answer = question()
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            took = time.perf_counter() - began
            found[f"{name} {moment}"][at, key] = answer, took, reading.statements - count
    sys.stdout.buffer.write(pickle.dumps(dict(found)))


def questions(tables: Any, reader: Any) -> Iterator[tuple[str, Hashable, Callable[[], Any]]]:
    """Yield all questions about a state: the name, the keys, and what asks."""

    def keys(table: str, columns: str, *, history: bool = True) -> list[tuple[Any, ...]]:
        past = f" union select {columns} from {table}_history" if history else ""
        rows = reader.fetch(
            f"select * from (select {columns} from {table}{past}) keys order by md5(keys::text)"
        )
        return list(rows[:MOST])

    entities = keys("entity", "id, evm_address, alias")
    for entity_id, *addresses in entities:
        yield "entity by id", entity_id, lambda id=entity_id: tables.entities([], [id])
        for address in filter(None, addresses):
            yield "entity by address", address, lambda address=address: tables.entities([address], [])
    ids = [row[0] for row in entities]
    named = [address for _, *addresses in entities for address in addresses if address]
    yield "entities", "all", lambda: sorted_entities(tables.entities(named, ids))
    slots = [
        (contract, int.from_bytes(slot, "big"))
        for contract, slot in keys("contract_state", "contract_id, slot", history=False)
    ]
    for slot in slots:
        yield "slot", slot, lambda slot=slot: tables.slots([slot])
    yield "slots", "all", lambda: sorted(tables.slots(slots).items())
    held = keys("token_account", "account_id, token_id")
    by_id = {}
    for (token_id,) in keys("token", "token_id"):
        yield "token", token_id, lambda id=token_id: tables.token(id)
        yield "deleted token", token_id, lambda id=token_id: tables.deleted_token(id)
        yield "facts", token_id, lambda id=token_id: tables.token_facts(id, 1)
        yield "custom fees", token_id, lambda id=token_id: tables.custom_fees(id)
        yield "newest serial", token_id, lambda id=token_id: tables.newest_serial(id)
        if (token := tables.token(token_id)) is not None:
            by_id[token_id] = token
            yield "supply", token_id, lambda token=token: tables.total_supply(token)
    for account, token_id in held:
        if token_id in by_id:
            key = account, token_id
            yield "relationship", key, lambda key=key: tables.relationship(by_id[key[1]], key[0])
    for account in dict.fromkeys(row[0] for row in held):
        yield "associations", account, lambda id=account: tables.associations(id)
        yield "tying tokens", account, lambda id=account: sorted(tables.tying_tokens(id))
    for owner, spender in keys("crypto_allowance", "owner, spender"):
        key = owner, spender
        yield "allowances", key, lambda key=key: tables.allowances(key[0])
        yield "hbar allowance", key, lambda key=key: tables.hbar_allowance(*key)
    for key in keys("token_allowance", "token_id, owner, spender"):
        yield "token allowance", key, lambda key=key: tables.token_allowance(*key)
    for key in keys("nft_allowance", "token_id, owner, spender"):
        yield "approved for all", key, lambda key=key: tables.approved_for_all(*key)
    for key in keys("nft", "token_id, serial_number"):
        yield "serial", key, lambda key=key: tables.nft(*key)
    columns = "sender_account_id, receiver_account_id, token_id, serial_number"
    for key in keys("token_airdrop", columns):
        yield "airdrop", key, lambda key=key: tables.pending_airdrop(AirdropKey(*key))
    for (schedule,) in keys("schedule", "schedule_id", history=False):
        yield "schedule", schedule, lambda id=schedule: tables.schedule(id)
        yield "signatories", schedule, lambda id=schedule: sorted(tables.signatories(id))


def sorted_entities(found: Entities) -> list[Any]:
    return [sorted(found.by_id.items()), sorted(found.by_address.items())]


class Counting(Reading):
    """Counts the statements."""

    statements = 0

    def fetch(self, statement: str, values: Values = ()) -> list[Row]:
        self.statements += 1
        return super().fetch(statement, values)


if __name__ == "__main__":
    main()
