"""On a database with many rows, reading the state makes PostgreSQL read no table from end to end."""

import json

from tests.build import SECOND, START
from tests.contract.filled import ACCOUNTS, CONTRACTS, TOKENS, fill
from tests.contract.plans import large_tables, prepared
from tests.web3sim.state.states import at, current, long_zero
from web3sim.state import cache
from web3sim.state.blocks import UnknownBlock, block_at, block_hashes, find_block, parse_block
from web3sim.state.database import Reading
from web3sim.state.ledger import LedgerState
from web3sim.state.tables.rows import AirdropKey, Token


def read_everything(state: LedgerState) -> None:
    state.load([long_zero(CONTRACTS), long_zero(ACCOUNTS), b"\1" * 20])
    state.load([b"\2" * 20])
    state.load([long_zero(ACCOUNTS + 1)])
    state.account(long_zero(CONTRACTS))
    state.slot(long_zero(CONTRACTS), 1)
    state.token(TOKENS)
    state.deleted_token(TOKENS)
    for unique in (False, True):
        token = Token(TOKENS + unique, "", "", 0, unique, ACCOUNTS, 0)
        state.total_supply(token)
        state.relationship(token, ACCOUNTS)
    state.tying_tokens(ACCOUNTS)
    state.allowances(ACCOUNTS)
    state.token_allowance(TOKENS, ACCOUNTS, ACCOUNTS + 1)
    state.nft(TOKENS, 1)
    state.load_token(TOKENS + 1, 1)
    state.approved_for_all(TOKENS, ACCOUNTS, ACCOUNTS + 1)
    state.custom_fees(TOKENS)
    state.newest_serial(TOKENS + 1)
    state.associations(ACCOUNTS)
    state.hbar_allowance(ACCOUNTS, ACCOUNTS + 1)
    state.pending_airdrop(AirdropKey(ACCOUNTS, ACCOUNTS + 1, TOKENS, 0))
    state.schedule(1)
    state.signatories(1)
    state.next_contract_address()


def read_blocks() -> None:
    for text in ("latest", "earliest", "7", "0x" + "ab" * 32):
        try:
            find_block(parse_block(text), Reading())
        except UnknownBlock:
            assert text.endswith("ab")
    block_at(START, Reading())
    block_hashes(9, 264, Reading())


def test_no_read_of_the_state_goes_through_a_large_table(db):
    fill()
    large = large_tables()
    for _ in range(2):
        cache.reset()
        read_blocks()
        read_everything(current())
        read_everything(at(START + 5000 * SECOND))
    read = [
        f"{table} is read by\n{statement.text}\n{json.dumps(statement.plan, indent=1)}"
        for statement in prepared(set())
        for table in statement.tables_read_whole()
        if table in large
    ]
    assert not read, "\n\n".join(read)
