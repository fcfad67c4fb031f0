"""A small token economy that acts at random and knows the rows that should be stored.

Apart from transactions that fail, only what a network allows happens.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mirror.demo.streams.record_files import Block, account
from tests.tokens.compose import ALL_SERIALS, KEY, TokenStream, serials, token, units

PEOPLE = range(1001, 1006)
FAILED = 7
LATEST = 3  # half of all actions are on the latest tokens, so that they change often within a batch
MAX_TOKENS, MIN_LIVING = 7, 3


@dataclass
class Relationship:
    """A row that token_account should have."""

    automatic: bool
    freeze: int | None = None
    kyc: int | None = None
    associated: bool = True
    balance: int = 0


@dataclass
class Serial:
    """A row that nft should have; without owner it is deleted."""

    owner: int | None
    metadata: bytes
    spender: int | None = None


@dataclass
class SimulatedToken:
    """A row that token should have."""

    number: int
    fungible: bool
    treasury: int
    supply: int
    name: str
    over: str = ""  # deleted or expired
    serials: dict[int, Serial] = field(default_factory=dict)


class Simulation:
    """The economy: `block` makes a block of random transactions; the attributes are the state after it."""

    def __init__(self, seed: int) -> None:
        self.choose = Random(seed)
        self.stream = TokenStream()
        self.tokens: dict[int, SimulatedToken] = {}
        self.relationships: dict[tuple[int, int], Relationship] = {}
        self.allowances: dict[tuple[int, int, int], int] = {}  # owner, spender, token
        self.airdrops: dict[tuple[int, int, int, int], tuple[int | None, str]] = {}
        self._actions: list[Callable[[], bool]] = [
            *[self.create] * 3,
            *[self.associate] * 4,
            *[self.dissociate] * 3,
            *[self.transfer] * 8,
            *[self.mint] * 4,
            *[self.burn_or_wipe] * 3,
            *[self.update] * 2,
            *[self.change_treasury] * 2,
            *[self.change_status] * 3,
            *[self.approve] * 4,
            *[self.delete_allowance] * 2,
            *[self.use_allowance] * 3,
            *[self.update_serial] * 2,
            *[self.airdrop] * 10,
            *[self.end_airdrop] * 8,
            *[self.finish] * 1,
            *[self.fail] * 1,
        ]

    def block(self, transactions: int) -> Block:
        while transactions:
            transactions -= self.choose.choice(self._actions)()
        return self.stream.block()

    # CHOICES

    def token(self, *, fungible: bool | None = None, over: bool = False) -> SimulatedToken | None:
        tokens = [
            t
            for t in self.tokens.values()
            if bool(t.over) == over and (fungible is None or t.fungible == fungible)
        ]
        if self.choose.random() < 0.5:
            tokens = tokens[-LATEST:]
        return self.choose.choice(tokens) if tokens else None

    def balance(self, holder: int, number: int) -> int:
        relationship = self.relationships.get((holder, number))
        return relationship.balance if relationship else 0

    def holders(self, number: int) -> list[int]:
        return [who for (who, what), r in self.relationships.items() if what == number and r.balance > 0]

    def associated(self, holder: int, number: int) -> bool:
        relationship = self.relationships.get((holder, number))
        return relationship is not None and relationship.associated

    def receive(self, holder: int, number: int) -> list[tuple[int, int]]:
        """Associate a holder automatically if necessary, and return the record's associations."""
        if self.associated(holder, number):
            return []
        self.relationships[holder, number] = Relationship(automatic=True)
        return [(holder, number)]

    def move(self, t: SimulatedToken, sender: int, receiver: int) -> Any:
        """Move some tokens of the sender, and return the list of transfers."""
        if t.fungible:
            amount = self.choose.randint(1, self.balance(sender, t.number))
            self.relationships[sender, t.number].balance -= amount
            self.relationships[receiver, t.number].balance += amount
            return units(t.number, {sender: -amount, receiver: amount})
        owned = [n for n, serial in t.serials.items() if serial.owner == sender]
        moved = self.choose.sample(owned, self.choose.randint(1, min(2, len(owned))))
        for number in moved:
            t.serials[number] = Serial(receiver, t.serials[number].metadata)
        self.relationships[sender, t.number].balance -= len(moved)
        self.relationships[receiver, t.number].balance += len(moved)
        return serials(t.number, *((number, sender, receiver) for number in moved))

    # ACTIONS: each returns whether it happened

    def create(self) -> bool:
        number = 5000 + len(self.tokens)
        if len(self.tokens) == MAX_TOKENS:
            return False
        treasury, fungible = self.choose.choice(PEOPLE), self.choose.random() < 0.5
        supply = self.choose.randint(0, 100) if fungible else 0
        create = self.stream.create if fungible else self.stream.create_nft
        keyed = self.choose.random() < 0.5
        keys = {"freezeKey": KEY, "kycKey": KEY} if keyed else {}
        create(number, treasury=treasury, supply=supply, **keys)
        self.tokens[number] = SimulatedToken(number, fungible, treasury, supply, f"Token {number}")
        freeze, kyc = (2, 1) if keyed else (0, 0)
        self.relationships[treasury, number] = Relationship(False, freeze, kyc, balance=supply)
        return True

    def associate(self) -> bool:
        t, holder = self.token(), self.choose.choice(PEOPLE)
        if waiting := [key for key, (_, state) in self.airdrops.items() if state == "PENDING"]:
            _, holder, number, _ = self.choose.choice(waiting)
            t = self.tokens[number]
        if not t or t.over or self.associated(holder, t.number):
            return False
        self.stream.associate(holder, t.number)
        self.relationships[holder, t.number] = Relationship(automatic=False)
        return True

    def dissociate(self) -> bool:
        holder, t = self.choose.choice(PEOPLE), self.token(over=self.choose.random() < 0.7)
        if not t or not self.associated(holder, t.number) or holder == t.treasury:
            return False
        relationship = self.relationships[holder, t.number]
        if relationship.balance and not t.over:
            return False
        moved = []
        if relationship.balance:
            amounts = {holder: -relationship.balance}
            if t.over == "expired":
                amounts[t.treasury] = relationship.balance
                self.relationships[t.treasury, t.number].balance += relationship.balance
            else:
                t.supply -= relationship.balance
                for serial in t.serials.values():
                    if serial.owner == holder:
                        serial.owner = serial.spender = None
            moved.append(units(t.number, amounts))
        relationship.associated, relationship.balance = False, 0
        body = {"account": account(holder), "tokens": [token(t.number)]}
        self.stream.happen("tokenDissociate", body, *moved)
        return True

    def transfer(self) -> bool:
        t = self.token()
        if not t or not (holders := self.holders(t.number)):
            return False
        sender, receiver = self.choose.choice(holders), self.choose.choice(PEOPLE)
        if sender == receiver:
            return False
        associated = self.receive(receiver, t.number)
        self.stream.transfer(self.move(t, sender, receiver), associated=associated)
        return True

    def mint(self) -> bool:
        if not (t := self.token()):
            return False
        amount = self.choose.randint(1, 4)
        t.supply += amount
        self.relationships[t.treasury, t.number].balance += amount
        if t.fungible:
            self.stream.mint(t.number, amount, t.supply, treasury=t.treasury)
            return True
        minted = range(len(t.serials) + 1, len(t.serials) + 1 + amount)
        for serial in minted:
            t.serials[serial] = Serial(t.treasury, f"serial {serial}".encode())
        self.stream.mint_serials(t.number, *minted, total=t.supply, treasury=t.treasury)
        return True

    def burn_or_wipe(self) -> bool:
        t = self.token()
        if not t or not (holders := self.holders(t.number)):
            return False
        holder = self.choose.choice(holders)
        body: dict[str, Any] = {"token": token(t.number)}
        if t.fungible:
            amount = self.choose.randint(1, self.balance(holder, t.number))
            moved = units(t.number, {holder: -amount})
            body["amount"] = amount
        else:
            ended = [n for n, serial in t.serials.items() if serial.owner == holder][:2]
            for number in ended:
                t.serials[number] = Serial(None, t.serials[number].metadata)
            moved = serials(t.number, *((number, holder, 0) for number in ended))
            amount = len(ended)
            body["serialNumbers"] = ended
        t.supply -= amount
        self.relationships[holder, t.number].balance -= amount
        kind = "tokenBurn" if holder == t.treasury else "tokenWipe"
        if kind == "tokenWipe":
            body["account"] = account(holder)
        self.stream.happen(kind, body, moved, receipt={"newTotalSupply": t.supply})
        return True

    def update(self) -> bool:
        if not (t := self.token()):
            return False
        t.name = f"Renamed {self.stream.consensus_timestamp}"
        self.stream.happen("tokenUpdate", {"token": token(t.number), "name": t.name})
        return True

    def change_treasury(self) -> bool:
        t, new = self.token(), self.choose.choice(PEOPLE)
        if not t or new == t.treasury:
            return False
        associated, old = self.receive(new, t.number), t.treasury
        moved = []
        if amount := self.balance(old, t.number):
            self.relationships[old, t.number].balance = 0
            self.relationships[new, t.number].balance += amount
            if t.fungible:
                moved.append(units(t.number, {old: -amount, new: amount}))
            else:
                moved.append(serials(t.number, (ALL_SERIALS, old, new)))
        for serial in t.serials.values():
            if serial.owner == old:
                serial.owner, serial.spender = new, None
        t.treasury = new
        body = {"token": token(t.number), "treasury": account(new)}
        self.stream.happen("tokenUpdate", body, *moved, associated=associated)
        return True

    def change_status(self) -> bool:
        t, holder = self.token(), self.choose.choice(PEOPLE)
        if not t or not self.associated(holder, t.number):
            return False
        kind, column, status = self.choose.choice(
            [("tokenFreeze", "freeze", 1), ("tokenUnfreeze", "freeze", 2), ("tokenGrantKyc", "kyc", 1)]
        )
        setattr(self.relationships[holder, t.number], column, status)
        self.stream.happen(kind, {"account": account(holder), "token": token(t.number)})
        return True

    def approve(self) -> bool:
        t = self.token()
        owner, spender = self.choose.sample(PEOPLE, 2)
        if not t:
            return False
        allowance = {"tokenId": token(t.number), "owner": account(owner), "spender": account(spender)}
        if t.fungible:
            amount = self.choose.randint(0, 50)
            self.allowances[owner, spender, t.number] = amount
            body = {"tokenAllowances": [allowance | {"amount": amount}]}
        else:
            owned = [n for n, serial in t.serials.items() if serial.owner == owner]
            for number in owned:
                t.serials[number].spender = spender
            body = {"nftAllowances": [allowance | {"serial_numbers": owned}]}
        self.stream.happen("cryptoApproveAllowance", body)
        return True

    def delete_allowance(self) -> bool:
        t, owner = self.token(fungible=False), self.choose.choice(PEOPLE)
        owned = [n for n, serial in t.serials.items() if serial.owner == owner] if t else []
        if not t or not owned:
            return False
        for number in owned:
            t.serials[number].spender = None
        removals = {"token_id": token(t.number), "owner": account(owner), "serial_numbers": owned}
        self.stream.happen("cryptoDeleteAllowance", {"nftAllowances": [removals]})
        return True

    def use_allowance(self) -> bool:
        usable = [
            (key, min(left, self.balance(key[0], key[2])))
            for key, left in self.allowances.items()
            if left and self.balance(key[0], key[2]) and not self.tokens[key[2]].over
        ]
        if not usable:
            return False
        (owner, spender, number), most = self.choose.choice(usable)
        amount = self.choose.randint(1, most)
        associated = self.receive(spender, number)
        self.allowances[owner, spender, number] -= amount
        self.relationships[owner, number].balance -= amount
        self.relationships[spender, number].balance += amount
        moved = units(number, {owner: -amount, spender: amount}, approved=True)
        self.stream.transfer(moved, payer=spender, associated=associated)
        return True

    def update_serial(self) -> bool:
        t = self.token(fungible=False)
        living = [n for n, serial in t.serials.items() if serial.owner] if t else []
        if not t or not living:
            return False
        number = self.choose.choice(living)
        t.serials[number].metadata = f"changed {self.stream.consensus_timestamp}".encode()
        metadata = {"value": t.serials[number].metadata}
        body = {"token": token(t.number), "serial_numbers": [number], "metadata": metadata}
        self.stream.happen("token_update_nfts", body)
        return True

    def airdrop(self) -> bool:
        t = self.token()
        sender, receiver = self.choose.sample(PEOPLE, 2)
        if not t or not self.balance(sender, t.number) or self.associated(receiver, t.number):
            return False
        if t.fungible:
            key, amount = (sender, receiver, t.number, 0), self.choose.randint(1, 9)
            if (before := self.airdrops.get(key)) and before[1] == "PENDING":
                amount += before[0] or 0
        else:
            serial = self.choose.choice([n for n, s in t.serials.items() if s.owner == sender])
            key, amount = (sender, receiver, t.number, serial), 0
        self.airdrops[key] = amount or None, "PENDING"
        pending: dict[str, Any] = {"pending_airdrop_id": _airdrop_id(key)}
        if amount:
            pending["pending_airdrop_value"] = {"amount": amount}
        self.stream.happen("tokenAirdrop", {}, record={"new_pending_airdrops": [pending]})
        return True

    def end_airdrop(self) -> bool:
        pending = [key for key, (_, state) in self.airdrops.items() if state == "PENDING"]
        if not pending:
            return False
        key = self.choose.choice(pending)
        sender, receiver, number, serial = key
        t, amount = self.tokens[number], self.airdrops[key][0]
        body = {"pending_airdrops": [_airdrop_id(key)]}
        owned = self.balance(sender, number) >= amount if amount else t.serials[serial].owner == sender
        if t.over or not owned or self.choose.random() < 0.3:
            self.airdrops[key] = amount, "CANCELLED"
            self.stream.happen("tokenCancelAirdrop", body)
            return True
        self.airdrops[key] = amount, "CLAIMED"
        associated = [] if self.associated(receiver, number) else [(receiver, number)]
        if associated:
            self.relationships[receiver, number] = Relationship(automatic=False)
        self.relationships[sender, number].balance -= amount or 1
        self.relationships[receiver, number].balance += amount or 1
        if amount:
            moved = units(number, {sender: -amount, receiver: amount})
        else:
            t.serials[serial] = Serial(receiver, t.serials[serial].metadata)
            moved = serials(number, (serial, sender, receiver))
        self.stream.happen("tokenClaimAirdrop", body, moved, associated=associated)
        return True

    def finish(self) -> bool:
        """Delete a token, or let it expire, which has no transaction; only dissociations follow."""
        t = self.token()
        if not t or sum(not each.over for each in self.tokens.values()) <= MIN_LIVING:
            return False
        if t.fungible and self.choose.random() < 0.5:
            t.over = "expired"
            return False
        t.over = "deleted"
        self.stream.happen("tokenDeletion", {"token": token(t.number)})
        return True

    def fail(self) -> bool:
        if not (t := self.token()):
            return False
        holder = self.choose.choice(PEOPLE)
        kind = self.choose.choice(["tokenAssociate", "tokenDissociate"])
        body = {"account": account(holder), "tokens": [token(t.number)]}
        self.stream.happen(kind, body, units(t.number, {holder: 5}), result=FAILED)
        return True


def _airdrop_id(key: tuple[int, int, int, int]) -> dict[str, Any]:
    sender, receiver, number, serial = key
    given: dict[str, Any] = {"sender_id": account(sender), "receiver_id": account(receiver)}
    if serial:
        return given | {"non_fungible_token": {"token_ID": token(number), "serial_number": serial}}
    return given | {"fungible_token_type": token(number)}
