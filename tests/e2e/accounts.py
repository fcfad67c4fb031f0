"""Accounts and their hbars in the API: now, at the time of a snapshot, and at any time."""

from random import Random
from typing import Any

from mirror.demo.world.accounts import Account
from mirror.demo.world.world import World
from tests.e2e.forms import NANOS_PER_DAY, NANOS_PER_SECOND, at, base_32, entity, hexed, key, numbered
from tests.e2e.life import Instant, Life, Snapshot
from tests.e2e.rest import Rest, same
from tests.e2e.tokens import relationships, same_balances
from tests.ledger.ingest.load import settings

# So many tokens are shown with each account of a list.
_FEW = 50
_TOTAL_SUPPLY = 5_000_000_000_000_000_000
_UNRELEASED = {2, 42, *range(44, 72), *range(73, 88), 99, 100, *range(200, 350), *range(400, 751)}


def check(rest: Rest, world: World, choose: Random) -> None:
    with settings(rest__response__enableDelegationAddress=True):
        _check(rest, world, choose)


def _check(rest: Rest, world: World, choose: Random) -> None:
    accounts = sorted(world.accounts.values(), key=lambda one: one.number)
    held = tokens_held(world)
    expected = [record(world, one, balance_now(one, held.get(one.number, [])[:_FEW])) for one in accounts]
    same(rest.all("accounts", "accounts", order="asc"), expected, "/accounts")
    holdings = [holdings_now(one, held.get(one.number, [])[::-1][:_FEW]) for one in reversed(accounts)]
    same(rest.all("balances", "balances", order="desc"), holdings, "/balances")
    for account in choose.sample(accounts, 5):
        path = f"accounts/{any_id(account, choose)}"
        found = rest.get(path, transactions="false")
        expected_of_one = record(world, account, balance_now(account, held.get(account.number, [])))
        same(found, expected_of_one | {"transactions": [], "links": {"next": None}}, path)
    unreleased = [one for one in accounts if one.number in _UNRELEASED]
    changed = max(one.balance_timestamp for one in unreleased)
    released = supply(sum(one.balance for one in unreleased), changed)
    same(rest.get("network/supply"), released, "/network/supply")


def check_past(rest: Rest, life: Life, blocks: int, choose: Random) -> None:
    """Check accounts and balances at random times of the first `blocks` blocks."""
    instants = life.known(blocks)
    for instant in choose.sample(instants, min(len(instants), 6)):
        with settings(rest__response__enableDelegationAddress=True):
            _check_accounts_at(rest, life, blocks, instant, choose)
        time = instant.any_time(choose)
        _check_balances_at(rest, time, life.snapshot_at(time, blocks))


def _check_accounts_at(rest: Rest, life: Life, blocks: int, instant: Instant, choose: Random) -> None:
    world = instant.world
    accounts = list(world.accounts.values())
    for account in choose.sample(accounts, min(len(accounts), 6)):
        time = instant.any_time(choose)
        snapshot = life.snapshot_at(time, blocks)
        path, query = f"accounts/0.0.{account.number}", choose.choice(("", "lte:")) + str(at(time))
        found = rest.get(path, timestamp=query, transactions="false")
        balance = found.pop("balance")
        if snapshot:
            same(balance["balance"], snapshot.accounts.get(account.number, 0), path, query)
            same(balance["timestamp"], at(snapshot.at), path, query)
            tokens = {t: held for (holder, t), held in snapshot.tokens.items() if holder == account.number}
            same_holdings(balance["tokens"], tokens, path, query)
        else:
            # Without a snapshot it is the balance of when the row was last written, whenever that was.
            assert balance["tokens"] == []
        expected = record(world, account, balance) | {"transactions": [], "links": {"next": None}}
        # The nonce is the last one that this version of the account had.
        assert found["ethereum_nonce"] >= account.nonce, (path, query)
        expected["ethereum_nonce"] = found["ethereum_nonce"]
        same(found | {"balance": balance}, expected, path, query)


def _check_balances_at(rest: Rest, time: int, snapshot: Snapshot | None) -> None:
    found = rest.all("balances", "balances", timestamp=at(time), order="asc")
    if snapshot is None:
        same(found, [], "/balances", time)
        return
    held: dict[int, dict[int, int]] = {}
    for (holder, token), balance in snapshot.tokens.items():
        held.setdefault(holder, {})[token] = balance
    for row in found:
        of_account = held.get(int(row["account"].rpartition(".")[2]), {})
        tokens = row.pop("tokens")
        if len(tokens) < _FEW:
            same_holdings(tokens, of_account, "/balances", at(time), row)
    expected = [
        {"account": entity(number), "balance": balance}
        for number, balance in sorted(snapshot.accounts.items())
    ]
    same(found, expected, "/balances", at(time))
    same(
        rest.get("balances", timestamp=at(time), limit=1)["timestamp"], at(snapshot.at), "/balances", at(time)
    )
    unreleased = sum(balance for number, balance in snapshot.accounts.items() if number in _UNRELEASED)
    same(
        rest.get("network/supply", timestamp=at(time)),
        supply(unreleased, snapshot.at),
        "/network/supply",
        at(time),
    )


# JSON
def record(world: World, account: Account, balance: dict[str, Any]) -> dict[str, Any]:
    expiration = account.expiration
    if expiration is None and account.auto_renew_period is not None:
        expiration = account.created + account.auto_renew_period * NANOS_PER_SECOND
    return {
        "account": entity(account.number),
        "alias": base_32(account.alias),
        "auto_renew_period": account.auto_renew_period,
        "balance": balance,
        "created_timestamp": at(account.created),
        "decline_reward": account.decline_reward,
        "delegation_address": hexed(account.delegation or b""),
        "deleted": account.deleted,
        "ethereum_nonce": account.nonce,
        "evm_address": hexed(account.address),
        "expiry_timestamp": at(expiration),
        "key": key(account.key),
        "max_automatic_token_associations": account.max_automatic_token_associations,
        "memo": account.memo,
        "pending_reward": world.staking.pending.get(account.number, 0),
        "receiver_sig_required": None if account.is_contract else account.receiver_signature_required,
        "staked_account_id": entity(account.staked_account_id),
        "staked_node_id": account.staked_node_id,
        "stake_period_start": at(_stake_period_start(account)),
    }


def balance_now(account: Account, held: list[dict[str, Any]]) -> dict[str, Any]:
    return {"balance": account.balance, "timestamp": at(account.balance_timestamp), "tokens": held}


def holdings_now(account: Account, held: list[dict[str, Any]]) -> dict[str, Any]:
    return {"account": entity(account.number), "balance": account.balance, "tokens": held}


def _stake_period_start(account: Account) -> int | None:
    """Return the start of the day, if the account stakes to a node."""
    if account.staked_node_id is None or account.stake_period_start is None:
        return None
    return account.stake_period_start * NANOS_PER_DAY


def tokens_held(world: World) -> dict[int, list[dict[str, Any]]]:
    """Return token balances by account, in the order of the tokens."""
    return {
        account: [{"token_id": entity(token.number), "balance": one.balance} for token, one in held]
        for account, held in relationships(world).items()
    }


def supply(unreleased: int, time: int) -> dict[str, Any]:
    return {
        "released_supply": str(_TOTAL_SUPPLY - unreleased),
        "timestamp": at(time),
        "total_supply": str(_TOTAL_SUPPLY),
    }


def same_holdings(found: list[dict[str, Any]], expected: dict[int, int], *about: object) -> None:
    balances = {row["token_id"]: row["balance"] for row in found}
    same_balances(balances, {numbered(token): held for token, held in expected.items()}, *about)


def any_id(account: Account, choose: Random) -> str:
    """Return a name that a client may use for an account; a deleted one only has its number."""
    ids = [numbered(account.number), str(account.number)]
    if not account.deleted:
        ids += [known for known in (hexed(account.evm_address), base_32(account.alias)) if known]
    return choose.choice(ids)
