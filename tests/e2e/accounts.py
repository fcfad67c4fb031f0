"""What the API says of accounts and their hbars: now, at the time of a snapshot, and at any time."""

from random import Random
from typing import Any

from ledger.stream.demo.world import Account, World
from tests.e2e.forms import NANOS_PER_SECOND, at, base_32, entity, hexed, key
from tests.e2e.life import Life, Moment, Snapshot, snapshot_at, snapshots
from tests.e2e.rest import Rest, same

_TREASURY = 2
_TOTAL_SUPPLY = 5_000_000_000_000_000_000
_UNRELEASED = {2, 42, *range(44, 72), *range(73, 88), 99, 100, *range(200, 350), *range(400, 751)}


def check(rest: Rest, world: World, choose: Random) -> None:
    accounts = list(world.accounts.values())
    listed = rest.all("accounts", "accounts", order="asc")
    same(listed, [record(world, one, balance_now(world, one)) for one in by_number(accounts)], "/accounts")
    balances = rest.all("balances", "balances", order="desc")
    same(balances, [holdings_now(world, one) for one in reversed(by_number(accounts))], "/balances")
    for account in choose.sample(accounts, 5):
        path = f"accounts/{any_id(account, choose)}"
        found = rest.get(path, transactions="false")
        expected = record(world, account, balance_now(world, account)) | {
            "transactions": [],
            "links": {"next": None},
        }
        same(found, expected, path)
    unreleased = [one for one in accounts if one.number in _UNRELEASED]
    expected = supply(sum(one.balance for one in unreleased), max(map(balance_changed, unreleased)))
    same(rest.get("network/supply"), expected, "/network/supply")


def check_past(rest: Rest, life: Life, blocks: int, choose: Random) -> None:
    """Accounts and balances at random times of the first `blocks` blocks."""
    taken = snapshots(life, blocks)
    moments = [one for one in life.moments if one.since <= life.ends[blocks - 1].since]
    for moment in choose.sample(moments, min(len(moments), 6)):
        _check_accounts_at(rest, moment, taken, choose)
        _check_balances_at(rest, moment.any_time(choose), taken)


def _check_accounts_at(rest: Rest, moment: Moment, taken: list[Snapshot], choose: Random) -> None:
    accounts = list(moment.world.accounts.values())
    for account in choose.sample(accounts, min(len(accounts), 6)):
        time = moment.any_time(choose)
        snapshot = snapshot_at(taken, time)
        if snapshot:
            tokens = sorted(
                (token, held) for (holder, token), held in snapshot.tokens.items() if holder == account.number
            )
            balance = {
                "balance": snapshot.accounts.get(account.number, 0),
                "timestamp": at(snapshot.at),
                "tokens": [{"token_id": entity(token), "balance": held} for token, held in tokens],
            }
            expected = record(moment.world, account, balance)
        else:
            # Without a snapshot it is the balance of when the row was last written, whenever that was.
            expected = record(moment.world, account, {})
        path, query = f"accounts/0.0.{account.number}", choose.choice(("", "lte:")) + str(at(time))
        found = rest.get(path, timestamp=query, transactions="false")
        if not snapshot:
            assert found["balance"]["tokens"] == []
            found["balance"] = {}
        del found["transactions"], found["links"]
        same(found, expected, path, query)


def _check_balances_at(rest: Rest, time: int, taken: list[Snapshot]) -> None:
    snapshot = snapshot_at(taken, time)
    found = rest.all("balances", "balances", timestamp=at(time), order="asc")
    if snapshot is None:
        same(found, [], "/balances", time)
        return
    held: dict[int, list[tuple[int, int]]] = {}
    for (holder, token), balance in sorted(snapshot.tokens.items()):
        held.setdefault(holder, []).append((token, balance))
    expected = [
        {
            "account": entity(number),
            "balance": balance,
            "tokens": [
                {"token_id": entity(token), "balance": amount} for token, amount in held.get(number, [])[:50]
            ],
        }
        for number, balance in sorted(snapshot.accounts.items())
    ]
    same(found, expected, "/balances", at(time))
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
        "deleted": account.deleted,
        "ethereum_nonce": account.nonce,
        "evm_address": hexed(account.address),
        "expiry_timestamp": at(expiration),
        "key": key(account.key),
        "max_automatic_token_associations": account.max_automatic_token_associations,
        "memo": account.memo,
        "pending_reward": 0,
        "receiver_sig_required": account.receiver_signature_required,
        "staked_account_id": entity(account.staked_account_id),
        "staked_node_id": account.staked_node_id,
        "stake_period_start": None,
    }


def balance_now(world: World, account: Account) -> dict[str, Any]:
    return {"balance": account.balance, "timestamp": at(balance_changed(account)), "tokens": []}


def holdings_now(world: World, account: Account) -> dict[str, Any]:
    return {"account": entity(account.number), "balance": account.balance, "tokens": []}


def supply(unreleased: int, time: int) -> dict[str, Any]:
    return {
        "released_supply": str(_TOTAL_SUPPLY - unreleased),
        "timestamp": at(time),
        "total_supply": str(_TOTAL_SUPPLY),
    }


def balance_changed(account: Account) -> int:
    return max(account.created, account.balance_timestamp)


def by_number(accounts: list[Account]) -> list[Account]:
    return sorted(accounts, key=lambda one: one.number)


def any_id(account: Account, choose: Random) -> str:
    """The account as a client may name it; what is deleted has its number alone."""
    ids = [f"0.0.{account.number}", str(account.number)]
    if not account.deleted:
        ids += [hexed(account.evm_address)] * bool(account.evm_address)
        ids += [base_32(account.alias)] * bool(account.alias)
    return choose.choice(ids)
