"""Allowances and pending airdrops in the API."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from mirror.demo.world.world import World
from tests.e2e.forms import entity, since
from tests.e2e.rest import Rest, same
from tests.ledger.ingest.load import stored


def check(rest: Rest, world: World, choose: Random) -> None:
    hbars = _grouped(
        (owner, spender, _amounts(owner, spender, one))
        for (owner, spender), one in world.tokens.hbar_allowances.items()
        if one.amount
    )
    tokens = _grouped(
        (owner, (spender, token), _amounts(owner, spender, one) | {"token_id": entity(token)})
        for (owner, spender, token), one in world.tokens.token_allowances.items()
        if one.amount
    )
    for_all = [
        (owner, spender, token, _for_all(owner, spender, token, one.since))
        for (owner, spender, token), one in world.tokens.nft_allowances.items()
        if one.approved
    ]
    of_owner = _grouped((owner, (spender, token), shown) for owner, spender, token, shown in for_all)
    of_spender = _grouped((spender, (owner, token), shown) for owner, spender, token, shown in for_all)
    waiting = [
        (key, _airdrop(*key, one.amount, one.since))
        for key, one in world.tokens.airdrops.items()
        if one.state == "PENDING"
    ]
    sent = _grouped((sender, (receiver, *rest), shown) for (sender, receiver, *rest), shown in waiting)
    pending = _grouped((receiver, (sender, *rest), shown) for (sender, receiver, *rest), shown in waiting)
    having = {account for some in (hbars, tokens, of_owner, of_spender, sent, pending) for account in some}
    others = sorted(world.accounts.keys() - having)
    for account in (*having, *choose.sample(others, min(len(others), 10))):
        path = f"accounts/0.0.{account}"
        found = rest.all(f"{path}/allowances/crypto", "allowances", order="asc")
        same(found, hbars.get(account, []), path, "hbar allowances")
        found = rest.all(f"{path}/allowances/tokens", "allowances")
        same(found, tokens.get(account, []), path, "token allowances")
        found = rest.all(f"{path}/allowances/nfts", "allowances")
        same(found, of_owner.get(account, []), path, "NFT allowances")
        found = rest.all(f"{path}/allowances/nfts", "allowances", owner="false")
        same(found, of_spender.get(account, []), path, "NFT allowances as spender")
        found = rest.all(f"{path}/airdrops/outstanding", "airdrops")
        same(found, sent.get(account, []), path, "outstanding airdrops")
        found = rest.all(f"{path}/airdrops/pending", "airdrops")
        same(found, pending.get(account, []), path, "pending airdrops")
    _check_tables(world)


def _check_tables(world: World) -> None:
    """Compare what is spent, revoked, claimed or cancelled too, which no endpoint shows."""
    tokens, token = world.tokens, "owner, spender, token_id"
    airdrop = "sender_account_id, receiver_account_id, token_id, serial_number"
    known: tuple[tuple[str, str, Mapping[Any, Any], str], ...] = (
        (
            "crypto_allowance",
            "owner, spender, amount, amount_granted",
            tokens.hbar_allowances,
            "amount granted",
        ),
        ("token_allowance", f"{token}, amount, amount_granted", tokens.token_allowances, "amount granted"),
        ("nft_allowance", f"{token}, approved_for_all", tokens.nft_allowances, "approved"),
        ("token_airdrop", f"{airdrop}, amount, state", tokens.airdrops, "amount state"),
    )
    for table, columns, rows, fields in known:
        expected = [
            (*key, *(getattr(one, name) for name in fields.split()), f"[{one.since},)")
            for key, one in sorted(rows.items())
        ]
        same(stored(table, f"{columns}, timestamp_range"), expected, table)


def _grouped(rows: Iterable[tuple[int, Any, dict[str, Any]]]) -> dict[int, list[dict[str, Any]]]:
    """Group rows of (account, order within the account, JSON) by account, in that order."""
    grouped: dict[int, list[dict[str, Any]]] = {}
    for account, _, shown in sorted(rows, key=lambda row: row[:2]):
        grouped.setdefault(account, []).append(shown)
    return grouped


# JSON
def _amounts(owner: int, spender: int, one: Any) -> dict[str, Any]:
    return {
        "amount": one.amount,
        "amount_granted": one.granted,
        "owner": entity(owner),
        "spender": entity(spender),
        "timestamp": since(one.since),
    }


def _for_all(owner: int, spender: int, token: int, time: int) -> dict[str, Any]:
    return {
        "approved_for_all": True,
        "owner": entity(owner),
        "spender": entity(spender),
        "timestamp": since(time),
        "token_id": entity(token),
    }


def _airdrop(
    sender: int, receiver: int, token: int, serial: int, amount: int | None, time: int
) -> dict[str, Any]:
    return {
        "amount": amount,
        "receiver_id": entity(receiver),
        "sender_id": entity(sender),
        "serial_number": serial or None,
        "timestamp": since(time),
        "token_id": entity(token),
    }
