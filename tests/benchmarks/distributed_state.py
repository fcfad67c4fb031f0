"""The state that simulated calls read, of a distributed database beside a single one with the same rows.

`python -m tests.benchmarks.distributed_state SINGLE_URL DISTRIBUTED_URL` asks both for everything there is,
now and at several blocks, compares all answers, and prints for each kind of question the median time and the
most statements.
"""

import hashlib
import os
import pickle
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mirror.core.db.reading.sql import Row, Values
from web3sim.state.database import Reading
from web3sim.state.ledger import tables_at
from web3sim.state.tables.interface import AirdropKey

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = 6
MOST = 150

Timed = dict[str, dict[Hashable, tuple[Any, float, int]]]


def main() -> None:
    single, distributed = _asked(sys.argv[1], "false"), _asked(sys.argv[2], "true")
    different = 0
    print(f"{'question':24} {'asked':>6} {'single ms':>10} {'distributed':>12} {'statements':>12}")
    for name, answers in single.items():
        others = distributed[name]
        wrong = [key for key, (answer, *_) in answers.items() if others[key][0] != answer]
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
        rows = reader.fetch(f"select {columns} from {table}{past}")
        return sorted(rows, key=lambda row: hashlib.md5(repr(row).encode()).digest())[:MOST]

    entities = keys("entity", "id, evm_address, alias")
    for entity_id, *addresses in entities:
        yield "entity by id", entity_id, partial(tables.entities, [], [entity_id])
        for address in filter(None, addresses):
            yield "entity by address", address, partial(tables.entities, [address], [])
    ids = [row[0] for row in entities]
    named = [address for _, *addresses in entities for address in addresses if address]
    yield "entities", "all", partial(tables.entities, named, ids)
    slots = [
        (contract, int.from_bytes(slot, "big"))
        for contract, slot in keys("contract_state", "contract_id, slot", history=False)
    ]
    for slot in slots:
        yield "slot", slot, partial(tables.slots, [slot])
    yield "slots", "all", partial(tables.slots, slots)
    held = keys("token_account", "account_id, token_id")
    by_id = {}
    for (token_id,) in keys("token", "token_id"):
        yield "token", token_id, partial(tables.token, token_id)
        yield "deleted token", token_id, partial(tables.deleted_token, token_id)
        yield "facts", token_id, partial(tables.token_facts, token_id, 1)
        yield "custom fees", token_id, partial(tables.custom_fees, token_id)
        yield "newest serial", token_id, partial(tables.newest_serial, token_id)
        if (token := tables.token(token_id)) is not None:
            by_id[token_id] = token
            yield "supply", token_id, partial(tables.total_supply, token)
    for account, token_id in held:
        if token_id in by_id:
            key = account, token_id
            yield "relationship", key, partial(tables.relationship, by_id[token_id], account)
    for account in dict.fromkeys(row[0] for row in held):
        yield "associations", account, partial(tables.associations, account)
        yield "tying tokens", account, partial(tables.tying_tokens, account)
    for owner, spender in keys("crypto_allowance", "owner, spender"):
        key = owner, spender
        yield "allowances", key, partial(tables.allowances, owner)
        yield "hbar allowance", key, partial(tables.hbar_allowance, *key)
    for key in keys("token_allowance", "token_id, owner, spender"):
        yield "token allowance", key, partial(tables.token_allowance, *key)
    for key in keys("nft_allowance", "token_id, owner, spender"):
        yield "approved for all", key, partial(tables.approved_for_all, *key)
    for key in keys("nft", "token_id, serial_number"):
        yield "serial", key, partial(tables.nft, *key)
    columns = "sender_account_id, receiver_account_id, token_id, serial_number"
    for key in keys("token_airdrop", columns):
        yield "airdrop", key, partial(tables.pending_airdrop, AirdropKey._make(key))
    for (schedule,) in keys("schedule", "schedule_id", history=False):
        yield "schedule", schedule, partial(tables.schedule, schedule)
        yield "signatories", schedule, partial(tables.signatories, schedule)


class Counting(Reading):
    """Counts the statements."""

    statements = 0

    def fetch(self, statement: str, values: Values = ()) -> list[Row]:
        self.statements += 1
        return super().fetch(statement, values)


if __name__ == "__main__":
    main()
