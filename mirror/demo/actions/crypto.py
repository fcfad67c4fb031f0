"""Accounts: payments between them, opening, changing and closing them, and staking."""

from typing import Any

from mirror.core.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND
from mirror.demo.actions import people
from mirror.demo.network import Network, NotPossible, pair, require, weighted
from mirror.demo.streams.keys import Ed25519Wallet, nodes, threshold_key
from mirror.demo.streams.record_files import TREASURY
from mirror.demo.world.accounts import HBAR, Account

_MIN_PEOPLE = 20
_SHORT = 1_000 * HBAR
_LEAVING = 0.2  # share of the attempts to open one too many account that close one
_CENT = HBAR // 100
_MEMOS = ("Coffee", "Lunch", "Ticket {}", "Thanks!", "", "", "")
_MEMOS_OF_MUCH = ("Rent", "Invoice {}", "Order {}", "Deposit", "", "", "")
_MUCH = 60 * HBAR
_NO_NODE = -1


def pay(network: Network) -> None:
    """Pay a person, sometimes several at once."""
    payer = network.person(at_least=HBAR)
    receivers = network.choose.sample(network.world.people, network.choose.choice((1, 1, 1, 1, 3)))
    transfers = {receiver: _amount(network, payer.balance // (20 * len(receivers))) for receiver in receivers}
    require(payer.number not in transfers)
    memos = _MEMOS_OF_MUCH if max(transfers.values()) > _MUCH else _MEMOS
    transfers[payer.number] = -sum(transfers.values())
    memo = network.choose.choice(memos).format(network.choose.randrange(1000, 9999))
    network.pay(transfers, payer.number, envelope={"memo": memo})


def _amount(network: Network, max_amount: int) -> int:
    """Return a plausible amount: mostly small, sometimes large, and mostly a round one."""
    amount = int(max_amount * network.choose.random() ** 4)
    unit = network.choose.choice((1, _CENT, 10 * _CENT, HBAR, HBAR, 5 * HBAR))
    return max(amount - amount % unit, min(unit, max_amount), 1)


def overdraw(network: Network) -> None:
    payer, receiver = pair(network.find_person(), network.find_person())
    amount = payer.balance + HBAR
    transfers = {payer.number: -amount, receiver.number: amount}
    network.pay(transfers, payer.number, result="INSUFFICIENT_ACCOUNT_BALANCE")


def open_account(network: Network) -> None:
    """Open an account for a new person; when there is no room, sometimes close one."""
    payer = network.person(at_least=1_000 * HBAR)
    if people.has_room(network):
        name, ecdsa = people.next_name(network), network.choose.random() < 0.5
        people.open_account(network, name=name, ecdsa=ecdsa, payer=payer.number)
    else:
        require(network.choose.random() < _LEAVING)
        close(network)


def buy_hbars(network: Network) -> None:
    """Let a person who runs short of hbars buy some from the treasury."""
    buyer = network.pick([account.number for account in network.world.living() if account.balance < _SHORT])
    amount = network.choose.randrange(10, 400) * 50 * HBAR
    memo = f"Purchase {network.choose.randrange(10_000, 99_999)}"
    network.pay({TREASURY: -amount, buyer: amount}, TREASURY, envelope={"memo": memo})


def change(network: Network) -> None:
    """Change an account: its memo, key, expiry, automatic associations, or what it signs to receive."""
    changed = network.person()
    body: dict[str, Any] = {"accountIDToUpdate": changed.number}
    match network.choose.randrange(6):
        case 0:
            changed.memo = body["memo"] = people.memo_of(network, changed)
        case 1:
            in_use = network.world.tokens.automatic_associations[changed.number]
            limit = network.choose.choice((-1, in_use + network.choose.randrange(20)))
            changed.max_automatic_token_associations = body["max_automatic_token_associations"] = limit
        case 2:
            at = network.now // NANOS_PER_SECOND * NANOS_PER_SECOND + 180 * NANOS_PER_DAY
            changed.expiration = body["expirationTime"] = at
        case 3:
            changed.auto_renew_period = body["autoRenewPeriod"] = network.choose.randrange(30, 92) * 86_400
        case 4 if not changed.alias:
            changed.key = body["key"] = _other_key(network, changed)
        case _:
            required = not changed.receiver_signature_required
            changed.receiver_signature_required = body["receiverSigRequiredWrapper"] = required
    network.submit("cryptoUpdateAccount", body, payer=changed.number)


def _other_key(network: Network, changed: Account) -> bytes:
    """Return another serialized key for an account: its spare one, its first one, or any two of three."""
    first, spare, third = (Ed25519Wallet(changed.number, *word).key for word in ((), ("spare",), ("third",)))
    if network.choose.random() < 0.25:
        return threshold_key(first, spare, third)
    return first if changed.key == spare else spare


def close(network: Network) -> None:
    """Close an account that owns nothing but hbars, which go to the treasury."""
    world, payer = network.world, network.person()
    tied = world.bound | world.staking.pending.keys() | {payer.number}
    closable = [
        account
        for account in world.living()
        if account.passing and account.number not in tied and not world.contracts.hooks_of(account.number)
    ]
    require(len(world.people) > _MIN_PEOPLE)
    closed = network.pick(closable)
    remaining = closed.balance
    closed.deleted = True
    world.people.remove(closed.number)
    world.closed.append(closed.number)
    network.submit(
        "cryptoDelete",
        {"deleteAccountID": closed.number, "transferAccountID": TREASURY},
        payer=payer.number,
        transfers={closed.number: -remaining, TREASURY: remaining} if remaining else None,
    )


def pay_invalid(network: Network) -> None:
    """Pay to an account that never was or is closed, or with the wrong signature."""
    payer, receiver = pair(network.find_person(), network.find_person())
    match network.choose.randrange(3):
        case 0:
            to, result = network.world.next_number + 1_000_000, "INVALID_ACCOUNT_ID"
        case 1 if network.world.closed:
            to, result = network.choose.choice(network.world.closed), "ACCOUNT_DELETED"
        case _:
            to, result = receiver.number, "INVALID_SIGNATURE"
    amount = network.choose.randrange(1, 50) * HBAR
    network.pay({payer.number: -amount, to: amount}, payer.number, result=result)


def use_live_hash(network: Network) -> None:
    """Attach a hash to an account and take it away, which networks no longer support."""
    owner = network.person()
    if owner.key is None:
        raise NotPossible
    digest, keys = network.choose.randbytes(48), {"keys": [owner.key]}
    live_hash = {"accountId": owner.number, "hash": digest, "keys": keys, "duration": 86_400}
    deleted = {"accountOfLiveHash": owner.number, "liveHashToDelete": digest}
    for kind, body in (("cryptoAddLiveHash", {"liveHash": live_hash}), ("cryptoDeleteLiveHash", deleted)):
        network.submit(kind, body, payer=owner.number, result="NOT_SUPPORTED")


# STAKING
def stake(network: Network) -> None:
    """Stake to a node, sometimes without reward, or to another account, which earns it; or stop staking."""
    (way,) = network.choose.choices(("node", "account", "none"), (4, 2, 1))
    node, account = None, None
    body: dict[str, Any] = {}
    if way == "node":
        staker, node = network.person(), network.choose.choice(nodes()).node_id
        body["staked_node_id"], decline = node, network.choose.random() < 0.1
        if decline is not staker.decline_reward:
            staker.decline_reward = body["decline_reward"] = decline
    elif way == "account":
        staker, stakee = pair(network.find_person(), network.find_person(settled=True))
        account = body["staked_account_id"] = stakee.number
        network.world.bound.add(account)
    else:
        staking = [each for each in network.world.living() if _is_staking(each)]
        staker = network.pick([each for each in staking if network.can_pay(each.number)])
        to_node = staker.staked_account_id is None
        body |= {"staked_node_id": _NO_NODE} if to_node else {"staked_account_id": 0}
    at = network.now
    # The reward earned before is paid with the change.
    network.submit("cryptoUpdateAccount", {"accountIDToUpdate": staker.number, **body}, payer=staker.number)
    network.world.staking.restart(staker, at)
    staker.staked_node_id, staker.staked_account_id = node, account


def _is_staking(account: Account) -> bool:
    return account.staked_node_id is not None or bool(account.staked_account_id)


def stake_invalid(network: Network) -> None:
    """Stake to a node that does not exist, or to the own account."""
    staker = network.person().number
    if network.choose.random() < 0.5:
        body, result = {"staked_node_id": 99}, "INVALID_STAKING_ID"
    else:
        body, result = {"staked_account_id": staker}, "SELF_STAKING_IS_NOT_ALLOWED"
    network.submit("cryptoUpdateAccount", {"accountIDToUpdate": staker, **body}, payer=staker, result=result)


ACTIONS = weighted(
    *((60, pay), (1, overdraw), (2, open_account), (1, buy_hbars), (2, change)),
    (0, close, pay_invalid, use_live_hash),
)
STAKING = weighted((1, stake), (0, stake_invalid))
