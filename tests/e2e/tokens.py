"""Tokens and their holders in the API."""

from random import Random
from typing import Any

from mirror.demo.streams.record_files import Block
from mirror.demo.world.tokens import CustomFee, FixedFee, FractionalFee, Relationship, RoyaltyFee, Token
from mirror.demo.world.world import World
from tests.e2e.forms import NANOS_PER_SECOND, at, base_64, entity, key, numbered
from tests.e2e.life import Instant, Life
from tests.e2e.rest import Rest, same

_FREEZE = {None: "NOT_APPLICABLE", True: "FROZEN", False: "UNFROZEN"}
_KYC = {None: "NOT_APPLICABLE", True: "GRANTED", False: "REVOKED"}
_CHANGES_OF_SUPPLY = ("tokenMint", "tokenBurn", "tokenWipe")
_PAUSE = {None: "NOT_APPLICABLE", True: "PAUSED", False: "UNPAUSED"}


def check(rest: Rest, world: World, choose: Random) -> None:
    tokens = sorted(world.tokens.issued.values(), key=lambda one: one.number)
    same(rest.all("tokens", "tokens"), [summary(one) for one in tokens], "/tokens")
    for token in tokens:
        path = f"tokens/0.0.{token.number}"
        same(rest.get(path), record(token), path)
        holders = sorted(token.relationships.items(), reverse=True)
        expected = [
            {"account": entity(account), "balance": one.balance, "decimals": token.decimals}
            for account, one in holders
        ]
        same(rest.all(f"{path}/balances", "balances"), expected, f"{path}/balances")
        newest = max((one.balance_timestamp for _, one in holders[:100]), default=None)
        same(rest.get(f"{path}/balances", limit=100)["timestamp"], at(newest), f"{path}/balances")
    held = relationships(world)
    for account in world.accounts:
        path = f"accounts/0.0.{account}/tokens"
        expected = [relationship(token, one) for token, one in held.get(account, [])]
        same(rest.all(path, "tokens"), expected, path)


def check_past(rest: Rest, life: Life, blocks: int, choose: Random) -> None:
    instants = life.known(blocks)
    for instant in choose.sample(instants, min(len(instants), 6)):
        _check_tokens_at(rest, life, blocks, instant, choose)
    issued = list(instants[-1].supplies)
    for token in choose.sample(issued, min(len(issued), 3)):
        time = choose.choice(instants).any_time(choose)
        path, snapshot = f"tokens/0.0.{token}/balances", life.snapshot_at(time, blocks)
        found = rest.all(path, "balances", timestamp=at(time), order="asc")
        balances = {row["account"]: row["balance"] for row in found}
        if snapshot is None:
            same(balances, {}, path, at(time))
        else:
            expected = {
                numbered(account): held
                for (account, number), held in snapshot.tokens.items()
                if number == token
            }
            same_balances(balances, expected, path, at(time))


def same_balances(found: dict[str, int], expected: dict[str, int], *about: object) -> None:
    """Compare balances at a snapshot; accounts that were associated before may have a balance of 0."""
    same({name: held for name, held in found.items() if held or name in expected}, expected, *about)


def supplies_since(blocks: list[Block], token: Token, since: int) -> set[int]:
    """Return the supply of a token after each change of it."""
    return {
        one.record.receipt.newTotalSupply
        for block in blocks
        for one in block.transactions
        if one.consensus_timestamp > since
        and (kind := one.body.WhichOneof("data")) in _CHANGES_OF_SUPPLY
        and getattr(one.body, kind).token.tokenNum == token.number
    }


def _check_tokens_at(rest: Rest, life: Life, blocks: int, instant: Instant, choose: Random) -> None:
    instants = life.known(blocks)
    tokens = list(instant.world.tokens.issued.values())
    for token in choose.sample(tokens, min(len(tokens), 4)):
        time = instant.any_time(choose)
        path, query = f"tokens/0.0.{token.number}", choose.choice(("", "lte:")) + str(at(time))
        found, expected = rest.get(path, timestamp=query), record(token)
        # A version of a token has one supply: the last there was of it.
        later = {one.supplies[token.number] for one in instants if one.since >= instant.since}
        later |= supplies_since(life.blocks[:blocks], token, instant.since)
        del expected["total_supply"]
        assert int(found.pop("total_supply")) in later, (path, query)
        same(found, expected, path, query)


def relationships(world: World) -> dict[int, list[tuple[Token, Relationship]]]:
    """Return relationships by account, in the order of the tokens."""
    held: dict[int, list[tuple[Token, Relationship]]] = {}
    for token in sorted(world.tokens.issued.values(), key=lambda one: one.number):
        for account, one in token.relationships.items():
            held.setdefault(account, []).append((token, one))
    return held


# JSON
def summary(token: Token) -> dict[str, Any]:
    return {
        "admin_key": key(token.admin_key),
        "metadata": base_64(token.metadata),
        "name": token.name,
        "symbol": token.symbol,
        "token_id": entity(token.number),
        "type": _type(token),
        "decimals": token.decimals,
    }


def record(token: Token) -> dict[str, Any]:
    expiration = token.expiration
    if expiration is None and token.auto_renew_period is not None:
        expiration = token.created + token.auto_renew_period * NANOS_PER_SECOND
    return {
        "admin_key": key(token.admin_key),
        "auto_renew_account": entity(token.auto_renew_account),
        "auto_renew_period": token.auto_renew_period,
        "created_timestamp": at(token.created),
        "custom_fees": custom_fees(token),
        "decimals": str(token.decimals),
        "deleted": token.deleted,
        "expiry_timestamp": expiration,
        "fee_schedule_key": key(token.fee_schedule_key),
        "freeze_default": token.freeze_default,
        "freeze_key": key(token.freeze_key),
        "initial_supply": str(token.initial_supply),
        "kyc_key": key(token.kyc_key),
        "max_supply": str(token.max_supply),
        "memo": token.memo,
        "metadata": base_64(token.metadata),
        "metadata_key": key(token.metadata_key),
        "modified_timestamp": at(token.modified),
        "name": token.name,
        "pause_key": key(token.pause_key),
        "pause_status": _PAUSE[token.paused],
        "supply_key": key(token.supply_key),
        "supply_type": "FINITE" if token.finite else "INFINITE",
        "symbol": token.symbol,
        "token_id": entity(token.number),
        "total_supply": str(token.supply),
        "treasury_account_id": entity(token.treasury),
        "type": _type(token),
        "wipe_key": key(token.wipe_key),
    }


def custom_fees(token: Token) -> dict[str, Any]:
    name, kind = ("fractional_fees", FractionalFee) if token.fungible else ("royalty_fees", RoyaltyFee)
    return {
        "created_timestamp": at(token.fees_since),
        "fixed_fees": [fee_json(token, fee) for fee in token.fees if isinstance(fee, FixedFee)],
        name: [fee_json(token, fee) for fee in token.fees if isinstance(fee, kind)],
    }


def fee_json(token: Token, fee: CustomFee) -> dict[str, Any]:
    common = {
        "all_collectors_are_exempt": fee.all_collectors_are_exempt,
        "collector_account_id": entity(fee.collector),
    }
    match fee:
        case FixedFee():
            return common | {"amount": fee.amount, "denominating_token_id": entity(fee.denominating_token)}
        case FractionalFee():
            return common | {
                "amount": {"numerator": fee.numerator, "denominator": fee.denominator},
                "denominating_token_id": entity(token.number),
                "maximum": fee.maximum or None,
                "minimum": fee.minimum,
                "net_of_transfers": fee.net_of_transfers,
            }
        case RoyaltyFee():
            fallback = fee.fallback and {
                "amount": fee.fallback.amount,
                "denominating_token_id": entity(fee.fallback.denominating_token),
            }
            return common | {
                "amount": {"numerator": fee.numerator, "denominator": fee.denominator},
                "fallback_fee": fallback,
            }


def relationship(token: Token, one: Relationship) -> dict[str, Any]:
    return {
        "automatic_association": one.automatic,
        "balance": one.balance,
        "created_timestamp": at(one.created),
        "decimals": token.decimals,
        "token_id": entity(token.number),
        "freeze_status": _FREEZE[one.frozen],
        "kyc_status": _KYC[one.kyc_granted],
    }


def _type(token: Token) -> str:
    return "FUNGIBLE_COMMON" if token.fungible else "NON_FUNGIBLE_UNIQUE"
