"""Accounts: opening, paying, changing and closing them."""

from ledger.stream.record.compose import TREASURY, account, timestamp, transfer_list
from mirror.demo.actions.accounts import people
from mirror.demo.keys.wallet import Ed25519Wallet
from mirror.demo.network import Action, Network
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.world import World
from mirror.values.hapi import Key
from mirror.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND

_FEWEST_PEOPLE = 20
_SHORT = 1_000 * HBAR
_LEAVING = 0.2
_CENT = HBAR // 100
_MEMOS = ("Coffee", "Lunch", "Ticket {}", "Thanks!", "", "", "")
_MEMOS_OF_MUCH = ("Rent", "Invoice {}", "Order {}", "Deposit", "", "", "")
_MUCH = 60 * HBAR


def pay(network: Network) -> bool:
    """Somebody pays somebody, now and then a few at once."""
    payer = network.person(at_least=HBAR)
    if payer is None:
        return False
    chosen = network.choose.sample(network.world.people, network.choose.choice((1, 1, 1, 1, 3)))
    transfers = {to: _amount(network, payer.balance // (20 * len(chosen))) for to in chosen}
    if payer.number in transfers:
        return False
    memos = _MEMOS_OF_MUCH if max(transfers.values()) > _MUCH else _MEMOS
    transfers[payer.number] = -sum(transfers.values())
    network.submit(
        "cryptoTransfer",
        {"transfers": transfer_list(transfers)},
        payer=payer.number,
        whole={"memo": network.choose.choice(memos).format(network.choose.randrange(1000, 9999))},
        transfers=transfers,
    )
    return True


def overdraw(network: Network) -> bool:
    """Somebody pays more than there is, which fails and costs the fee."""
    payer, receiver = network.person(), network.person()
    if payer is None or receiver is None or payer is receiver:
        return False
    amount = payer.balance + HBAR
    network.submit(
        "cryptoTransfer",
        {"transfers": transfer_list({payer.number: -amount, receiver.number: amount})},
        payer=payer.number,
        result="INSUFFICIENT_ACCOUNT_BALANCE",
    )
    return True


def open_account(network: Network) -> bool:
    """Somebody opens an account for somebody new."""
    payer = network.person(at_least=1_000 * HBAR)
    if payer is None:
        return False
    if not people.has_room(network):
        # Somebody has to go first.
        return network.choose.random() < _LEAVING and close(network)
    name, ecdsa = people.next_name(network), network.choose.random() < 0.5
    people.open_account(network, name=name, ecdsa=ecdsa, payer=payer.number)
    return True


def buy_hbars(network: Network) -> bool:
    """Somebody who runs short of hbars buys some; the treasury sends them."""
    short = [one for one in network.world.living() if one.balance < _SHORT]
    if not short:
        return False
    buyer = network.choose.choice(short).number
    amount = network.choose.randrange(10, 400) * 50 * HBAR
    transfers = {TREASURY: -amount, buyer: amount}
    network.submit(
        "cryptoTransfer",
        {"transfers": transfer_list(transfers)},
        payer=TREASURY,
        whole={"memo": f"Purchase {network.choose.randrange(10_000, 99_999)}"},
        transfers=transfers,
    )
    return True


def change(network: Network) -> bool:
    """Somebody changes a memo, keys, automatic associations, when the account is to be renewed, or whether a
    signature is needed to receive.
    """
    changed = network.person()
    if changed is None:
        return False
    body: dict[str, object] = {"accountIDToUpdate": account(changed.number)}
    match network.choose.randrange(6):
        case 0:
            changed.memo = people.memo_of(network, changed)
            body["memo"] = {"value": changed.memo}
        case 1:
            in_use = network.world.tokens.automatic_associations[changed.number]
            limit = network.choose.choice((-1, in_use + network.choose.randrange(20)))
            changed.max_automatic_token_associations = limit
            body["max_automatic_token_associations"] = {"value": limit}
        case 2:
            changed.expiration = network.now // NANOS_PER_SECOND * NANOS_PER_SECOND + 180 * NANOS_PER_DAY
            body["expirationTime"] = timestamp(changed.expiration)
        case 3:
            changed.auto_renew_period = network.choose.randrange(30, 92) * 86_400
            body["autoRenewPeriod"] = {"seconds": changed.auto_renew_period}
        case 4 if not changed.alias:
            changed.key = _other_key(network, changed)
            body["key"] = Key.FromString(changed.key)
        case _:
            changed.receiver_signature_required = not changed.receiver_signature_required
            body["receiverSigRequiredWrapper"] = {"value": changed.receiver_signature_required}
    network.submit("cryptoUpdateAccount", body, payer=changed.number)
    return True


def close(network: Network) -> bool:
    """Somebody closes an account that owns nothing but hbars, which go to the treasury."""
    world, payer = network.world, network.person()
    closable = [one for one in world.living() if one is not payer and _may_close(world, one)]
    if len(world.people) <= _FEWEST_PEOPLE or not closable or payer is None:
        return False
    closed = network.choose.choice(closable)
    remaining = closed.balance
    closed.deleted = True
    world.people.remove(closed.number)
    world.closed.append(closed.number)
    network.submit(
        "cryptoDelete",
        {"deleteAccountID": account(closed.number), "transferAccountID": account(TREASURY)},
        payer=payer.number,
        transfers={closed.number: -remaining, TREASURY: remaining} if remaining else None,
    )
    return True


def _may_close(world: World, one: Account) -> bool:
    tied = one.number in world.bound or one.number in world.staking.pending
    return one.passing and not tied and not world.contracts.hooks_of(one.number)


def pay_in_vain(network: Network) -> bool:
    """Somebody pays nobody, or an account that is closed, or with the wrong signature."""
    payer, receiver = network.person(), network.person()
    if payer is None or receiver is None or payer is receiver:
        return False
    match network.choose.randrange(3):
        case 0:
            to, result = network.world.next_number + 1_000_000, "INVALID_ACCOUNT_ID"
        case 1 if network.world.closed:
            to, result = network.choose.choice(network.world.closed), "ACCOUNT_DELETED"
        case _:
            to, result = receiver.number, "INVALID_SIGNATURE"
    amount = network.choose.randrange(1, 50) * HBAR
    body = {"transfers": transfer_list({payer.number: -amount, to: amount})}
    network.submit("cryptoTransfer", body, payer=payer.number, result=result)
    return True


def use_live_hash(network: Network) -> bool:
    """Somebody attaches a hash to an account and takes it away, which networks no longer do."""
    owner = network.person()
    if owner is None or owner.key is None:
        return False
    holder, digest = account(owner.number), network.choose.randbytes(48)
    keys = {"keys": [Key.FromString(owner.key)]}
    live_hash = {"accountId": holder, "hash": digest, "keys": keys, "duration": {"seconds": 86_400}}
    network.submit("cryptoAddLiveHash", {"liveHash": live_hash}, payer=owner.number, result="NOT_SUPPORTED")
    body = {"accountOfLiveHash": holder, "liveHashToDelete": digest}
    network.submit("cryptoDeleteLiveHash", body, payer=owner.number, result="NOT_SUPPORTED")
    return True


def _other_key(network: Network, changed: Account) -> bytes:
    """Another serialized key of an account: its spare one, its first one again, or any two of three."""
    first, spare, third = (Ed25519Wallet(changed.number, *word).key for word in ((), ("spare",), ("third",)))
    if network.choose.random() < 0.25:
        keys = [Key.FromString(key) for key in (first, spare, third)]
        threshold: bytes = Key(thresholdKey={"threshold": 2, "keys": {"keys": keys}}).SerializeToString()
        return threshold
    return first if changed.key == spare else spare


def _amount(network: Network, most: int) -> int:
    """A plausible amount: mostly small, now and then large, and mostly a round one."""
    amount = int(most * network.choose.random() ** 4)
    unit = network.choose.choice((1, _CENT, 10 * _CENT, HBAR, HBAR, 5 * HBAR))
    return max(amount - amount % unit, min(unit, most), 1)


ACTIONS = (
    Action(pay, 60),
    Action(overdraw, 1),
    Action(open_account, 2),
    Action(buy_hbars, 1),
    Action(change, 2),
    Action(close, 0),
    Action(pay_in_vain, 0),
    Action(use_live_hash, 0),
)
