"""Tokens, what is held of them, and who may move it: now and at a time."""

import pytest

from mirror.core.db.reading.sql import MAX_INT64
from tests.build import START, insert, time_range
from tests.web3sim.state.states import at, current, long_zero, token
from web3sim.state.tables.rows import Nft, Token

pytestmark = pytest.mark.usefixtures("each_form")

TOKEN, OWNER, SPENDER, OTHER, TREASURY = 3001, 2001, 2002, 2003, 1001
UNIQUE = "NON_FUNGIBLE_UNIQUE"
DAY = 86_400 * 10**9


def build_token(build, **columns):
    build.entity(TOKEN, type="TOKEN")
    build.token(TOKEN, **columns)


def balance(time, account, amount):
    insert("token_balance", consensus_timestamp=time, account_id=account, token_id=TOKEN, balance=amount)


def treasury_snapshot(time):
    insert("account_balance", consensus_timestamp=time, account_id=2, balance=1)


def transfer(time, account, amount, *, payer=SPENDER, approval=False):
    insert(
        "token_transfer",
        token_id=TOKEN,
        account_id=account,
        amount=amount,
        consensus_timestamp=time,
        payer_account_id=payer,
        is_approval=approval,
    )


def version(table, since, until=None, **columns):
    insert(
        table if until is None else f"{table}_history", timestamp_range=time_range(since, until), **columns
    )


# TOKENS


def test_a_token_is_as_it_is_or_was(build):
    build_token(build, since=START + 10, name="New", symbol="N", total_supply=9)
    build.token(
        TOKEN,
        since=START,
        until=START + 10,
        table="token_history",
        name="ExpiredPartition",
        symbol="O",
        decimals=3,
    )
    old = Token(TOKEN, "ExpiredPartition", "O", 3, False, TREASURY, 0, MAX_INT64, created_timestamp=START)
    new = Token(TOKEN, "New", "N", 2, False, TREASURY, 9, MAX_INT64, created_timestamp=START + 10)
    assert [at(START + after).token(TOKEN) for after in (-1, 0, 9, 10)] == [None, old, old, new]
    assert current().token(TOKEN) == new
    assert current().token_at(long_zero(TOKEN)) == new
    assert at(START).token_at(long_zero(TOKEN)) == old


def test_a_deleted_token_is_gone(build):
    build.entity(TOKEN, type="TOKEN", since=START, until=START + 10, table="entity_history")
    build.entity(TOKEN, type="TOKEN", since=START + 10, deleted=True)
    build.token(TOKEN)
    assert current().token(TOKEN) is None
    assert [at(START + after).token(TOKEN) is None for after in (9, 10)] == [False, True]


@pytest.mark.parametrize("type", ["ACCOUNT", "CONTRACT"])
def test_what_is_no_token_is_none(build, type):
    build.entity(TOKEN, type=type)
    build.token(TOKEN)
    for state in (current(), at(START)):
        assert state.token(TOKEN) is None
        assert state.token_at(long_zero(TOKEN)) is None


# SUPPLY


def supply_at(time):
    state = at(time)
    return state.total_supply(token(state, TOKEN))


def test_the_supply_is_that_of_the_token(build):
    build_token(build, total_supply=1300)
    state = current()
    assert state.total_supply(token(state, TOKEN)) == 1300


def test_past_supply_is_snapshot_plus_later_transfers(build):
    build_token(build, total_supply=1300)
    balance(START + 5, TREASURY, 990)
    balance(START + 5, OWNER, 8)
    balance(START + 10, OWNER, 10)
    treasury_snapshot(START + 5)
    treasury_snapshot(START + 10)
    for time, account, amount in (
        (START + 10, TREASURY, 5000),
        (START + 12, TREASURY, -20),
        (START + 12, OWNER, 20),
        (START + 20, TREASURY, 300),
    ):
        transfer(time, account, amount)
    assert [supply_at(START + after) for after in (5, 10, 12, 19, 20)] == [998, 1000, 1000, 1000, 1300]


def test_without_a_snapshot_the_supply_is_all_transfers(build):
    build_token(build)
    transfer(START + 1, TREASURY, 500)
    transfer(START + 2, TREASURY, -100)
    assert [supply_at(START + after) for after in (0, 1, 2)] == [0, 500, 400]


def test_the_supply_of_a_unique_token_is_its_serials_of_that_time(build):
    build_token(build, type=UNIQUE, total_supply=2)
    build.nft(TOKEN, 1, account=OWNER, since=START + 1)
    build.nft(TOKEN, 2, account=OWNER, since=START + 2, until=START + 5, table="nft_history")
    build.nft(TOKEN, 2, account=None, since=START + 5, created_timestamp=START + 2, deleted=True)
    build.nft(TOKEN, 3, account=OWNER, since=START + 6)
    assert [supply_at(START + after) for after in (0, 1, 2, 4, 5, 6)] == [0, 1, 2, 2, 1, 2]
    state = current()
    assert state.total_supply(token(state, TOKEN)) == 2


# BALANCES


def held(state, account=OWNER):
    relationship = state.relationship(token(state, TOKEN), account)
    return 0 if relationship is None else relationship.balance


def test_a_balance_is_that_of_the_relationship(build):
    build_token(build)
    build.holding(TOKEN, account=OWNER, balance=60)
    build.holding(TOKEN, account=OTHER, balance=3, associated=False)
    assert [held(current(), account) for account in (OWNER, OTHER, SPENDER)] == [60, 0, 0]


def test_past_balance_is_snapshot_plus_later_transfers(build):
    build_token(build)
    build.holding(TOKEN, account=OWNER, balance=60)
    balance(START + 5, OWNER, 10)
    treasury_snapshot(START + 5)
    treasury_snapshot(START + 10)
    transfer(START + 5, OWNER, 999)
    transfer(START + 12, OWNER, 20)
    transfer(START + 12, TREASURY, -20)
    transfer(START + 20, OWNER, 30)
    assert [held(at(START + after)) for after in (5, 11, 12, 20)] == [10, 10, 30, 60]


def test_balances_before_the_last_31_days_of_snapshots_do_not_count(build):
    build_token(build, since=START - 90 * DAY, created_timestamp=START - 90 * DAY)
    build.holding(TOKEN, account=OWNER, since=START - 90 * DAY)
    with_entity_since(build, START - 90 * DAY)
    balance(START - 32 * DAY, OWNER, 10)
    treasury_snapshot(START - DAY)
    assert held(at(START)) == 0
    treasury_snapshot(START - 2 * DAY)
    assert held(at(START - 2 * DAY)) == 10


def with_entity_since(build, since):
    build.entity(TOKEN, type="TOKEN", since=since, until=START, table="entity_history")


def test_without_a_relationship_at_that_time_nothing_is_held(build):
    build_token(build)
    version_of = {"account_id": OWNER, "token_id": TOKEN}
    version("token_account", START + 1, START + 5, **version_of, associated=True)
    version("token_account", START + 5, **version_of, associated=False)
    transfer(START + 1, OWNER, 7)
    assert [held(at(START + after)) for after in (0, 1, 4, 5)] == [0, 7, 7, 0]


def test_of_a_unique_token_the_serials_owned_at_that_time_count(build):
    build_token(build, type=UNIQUE)
    for account in (OWNER, OTHER):
        build.holding(TOKEN, account=account, balance=account - 2000)
    build.nft(TOKEN, 1, account=OWNER, since=START + 1)
    build.nft(TOKEN, 2, account=OWNER, since=START + 2, until=START + 5, table="nft_history")
    build.nft(TOKEN, 2, account=OTHER, since=START + 5, created_timestamp=START + 2)
    assert [held(at(START + after)) for after in (0, 1, 2, 5)] == [0, 1, 2, 1]
    assert [held(at(START + after), OTHER) for after in (4, 5)] == [0, 1]
    assert [held(current(), account) for account in (OWNER, OTHER)] == [1, 3]


# ALLOWANCES


def allowed(state, owner=OWNER, spender=SPENDER):
    return state.token_allowance(TOKEN, owner, spender)


def test_an_allowance_is_what_is_left_of_it(build):
    build.allowance("token", owner=OWNER, spender=SPENDER, token_id=TOKEN, amount=33, amount_granted=50)
    assert [allowed(current()), allowed(current(), SPENDER, OWNER)] == [33, 0]


def test_past_allowance_is_grant_minus_spending(build):
    key = {"token_id": TOKEN, "owner": OWNER, "spender": SPENDER, "payer_account_id": OWNER}
    version("token_allowance", START, START + 10, **key, amount=40, amount_granted=40)
    version("token_allowance", START + 10, **key, amount=0, amount_granted=100)
    transfer(START + 5, OWNER, -30, approval=True)
    transfer(START + 10, OWNER, -1, approval=True)
    transfer(START + 12, OWNER, -7, approval=True)
    transfer(START + 13, OWNER, -8)
    transfer(START + 13, OTHER, 8, approval=True)
    transfer(START + 14, OWNER, -9, payer=OTHER, approval=True)
    transfer(START + 15, OWNER, -900, approval=True)
    assert [allowed(at(START + after)) for after in (-1, 0, 5, 10, 12, 14, 15)] == [0, 40, 10, 100, 93, 93, 0]


def test_what_a_contract_spent_for_its_caller_is_spent(build):
    build.allowance("token", owner=OWNER, spender=SPENDER, token_id=TOKEN, amount=33, amount_granted=50)
    for time, sender in ((START + 1, SPENDER), (START + 2, OTHER)):
        transfer(time, OWNER, -5, payer=OTHER, approval=True)
        insert(
            "contract_result",
            consensus_timestamp=time,
            contract_id=9000,
            sender_id=sender,
            payer_account_id=OTHER,
            function_parameters=b"",
            gas_limit=1,
            transaction_result=22,
        )
    assert [allowed(at(START + after)) for after in (0, 1, 2)] == [50, 45, 45]


def test_what_a_contract_spent_itself_is_not_spent_by_who_paid(build):
    """A user has a contract spend what the owner allowed to the contract: 5 of 50, by the token service."""
    contract, service = 9000, 0x167
    for spender in (SPENDER, contract):
        build.allowance("token", owner=OWNER, spender=spender, token_id=TOKEN, amount=50, amount_granted=50)
    transfer(START + 1, OWNER, -5, payer=SPENDER, approval=True)
    insert(
        "contract_result",
        consensus_timestamp=START + 1,
        contract_id=service,
        sender_id=contract,
        payer_account_id=SPENDER,
        function_parameters=b"",
        gas_limit=1,
        transaction_result=22,
    )
    assert allowed(at(START + 1), OWNER, contract) == 45
    assert allowed(at(START + 1), OWNER, SPENDER) == 50


def test_an_allowance_that_was_revoked_is_nothing(build):
    key = {"token_id": TOKEN, "owner": OWNER, "spender": SPENDER, "payer_account_id": OWNER}
    version("token_allowance", START, START + 10, **key, amount=40, amount_granted=40)
    version("token_allowance", START + 10, **key, amount=0, amount_granted=0)
    assert [allowed(at(START + after)) for after in (9, 10)] == [40, 0]


def test_all_serials_may_be_allowed_now_or_then(build):
    key = {"token_id": TOKEN, "owner": OWNER, "spender": SPENDER, "payer_account_id": OWNER}
    version("nft_allowance", START, START + 10, **key, approved_for_all=True)
    version("nft_allowance", START + 10, **key, approved_for_all=False)
    approved = [at(START + after).approved_for_all(TOKEN, OWNER, SPENDER) for after in (-1, 0, 9, 10)]
    assert approved == [False, True, True, False]
    assert not current().approved_for_all(TOKEN, OWNER, SPENDER)
    build.allowance("nft", owner=OWNER, spender=OTHER, token_id=TOKEN)
    assert current().approved_for_all(TOKEN, OWNER, OTHER)
    assert not current().approved_for_all(TOKEN, OTHER, OWNER)


# NFTS


def test_an_nft_is_as_it_is_or_was(build):
    build.nft(TOKEN, 1, account=OWNER, since=START, until=START + 5, table="nft_history", spender=SPENDER)
    build.nft(TOKEN, 1, account=OTHER, since=START + 5, until=START + 9, table="nft_history", metadata=None)
    build.nft(TOKEN, 1, account=None, since=START + 9, deleted=True)
    first, second = Nft(OWNER, SPENDER, b"metadata", START), Nft(OTHER, None, b"", START + 5)
    assert [at(START + after).nft(TOKEN, 1) for after in (-1, 0, 4, 5, 8, 9)] == [
        *(None, first, first, second, second, None)
    ]
    assert current().nft(TOKEN, 1) is None


def test_an_nft_that_exists_now(build):
    build.nft(TOKEN, 1, account=OWNER, spender=SPENDER)
    assert current().nft(TOKEN, 1) == at(START).nft(TOKEN, 1) == Nft(OWNER, SPENDER, b"metadata", START)
    assert current().nft(TOKEN, 2) is None
