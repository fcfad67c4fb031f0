"""Serials in the API: their list, their owners and their history."""

from random import Random
from typing import Any

from mirror.demo.world.tokens import Serial, Token
from mirror.demo.world.world import World
from tests.e2e.forms import at, base_64, entity
from tests.e2e.life import Life
from tests.e2e.rest import Rest, same


def check(rest: Rest, world: World, choose: Random) -> None:
    owned: dict[int, list[dict[str, Any]]] = {}
    for token in sorted(world.tokens.issued.values(), key=lambda one: one.number):
        expected = [record(token, *one) for one in sorted(token.serials.items())]
        order, path = choose.choice(("asc", "desc")), f"tokens/0.0.{token.number}/nfts"
        found = rest.all(path, "nfts", order=order)
        same(found, expected if order == "asc" else expected[::-1], path)
        for (number, serial), shown in zip(sorted(token.serials.items()), expected, strict=True):
            if serial.owner is not None:
                owned.setdefault(serial.owner, []).append(shown)
            if choose.randrange(20) == 0:
                same(rest.get(f"{path}/{number}"), shown, path, number)
    for account in world.accounts:
        path = f"accounts/0.0.{account}/nfts"
        same(rest.all(path, "nfts"), owned.get(account, [])[::-1], path)


def check_past(rest: Rest, life: Life, blocks: int, choose: Random) -> None:
    """Check that the history of some serials leads to their owners at some instants."""
    *before, last = life.known(blocks)
    some = [*sorted(choose.sample(before, min(len(before), 8)), key=lambda one: one.since), last]
    worlds = [one.world.tokens.issued for one in some]
    tokens = worlds[-1]
    serials = [(token.number, number) for token in tokens.values() for number in token.serials]
    for number, serial in choose.sample(serials, min(len(serials), 8)):
        path = f"tokens/0.0.{number}/nfts/{serial}/transactions"
        steps = rest.all(path, "transactions", order="asc")
        times = [step["consensus_timestamp"] for step in steps]
        assert times == sorted(set(times)), path
        known = [
            tokens[number].serials[serial]
            for tokens in worlds
            if number in tokens and serial in tokens[number].serials
        ]
        assert times[0] == at(known[0].created), path
        assert {at(one.modified) for one in known} <= set(times), path
        for one in known:
            owners = _owners(steps, at(one.modified))
            assert not owners or owners[-1] == entity(one.owner), (path, at(one.modified), owners)


def _owners(steps: list[dict[str, Any]], time: str | None) -> list[str | None]:
    """Return the owners of the serial by then, one after the other; None is no owner.

    Empty when the last is unknown: where a token's treasury changed, or a token was left that is deleted.
    """
    owners: list[str | None] = []
    for step in steps:
        if step["consensus_timestamp"] > (time or ""):
            break
        if step["sender_account_id"] or step["receiver_account_id"]:
            owners.append(step["receiver_account_id"])
        elif step["type"] in ("TOKENUPDATE", "TOKENDISSOCIATE"):
            owners.clear()
    return owners


# JSON
def record(token: Token, number: int, serial: Serial) -> dict[str, Any]:
    return {
        "account_id": entity(serial.owner),
        "created_timestamp": at(serial.created),
        "delegating_spender": entity(serial.delegating_spender),
        "deleted": serial.owner is None or token.deleted,
        "metadata": base_64(serial.metadata),
        "modified_timestamp": at(serial.modified),
        "serial_number": number,
        "spender": entity(serial.spender),
        "token_id": entity(token.number),
    }
