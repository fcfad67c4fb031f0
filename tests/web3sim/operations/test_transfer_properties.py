"""Random transfers and airdrops with random custom fees: nothing is lost, made or left half done."""

import os
from collections import Counter
from random import Random
from typing import Any

import pytest

from mirror.core.values.hapi.messages import ContractID, Key
from tests.web3sim.rows import contract
from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.simulation import Simulation
from web3sim.state.tables.rows import CustomFees

SEQUENCES = int(os.environ.get("MIRROR_TEST_SEQUENCES", "40"))
TREASURY, ALICE, BOB, CAROL, DAVE, CONTRACT = 1001, 2001, 2002, 2003, 2004, 5001
ACCOUNTS = (TREASURY, ALICE, BOB, CAROL, DAVE, CONTRACT)
TOKENS, UNIQUES = (3001, 3002, 3003), (3011, 3012)
SERIALS = range(1, 7)
NEW_ADDRESSES = [bytes([number]) * 20 for number in (0xA1, 0xA2)]
HBAR = 100_000_000


@pytest.fixture
def ledger(build):
    for number in ACCOUNTS[:-1]:
        build.entity(number, balance=100 * HBAR, max_automatic_token_associations=-1 if number == DAVE else 1)
    key = Key(contractID=ContractID(contractNum=CONTRACT)).SerializeToString()
    contract(build, CONTRACT, b"", key=key, balance=100 * HBAR)
    for number in (*TOKENS, *UNIQUES):
        build.entity(number, type="TOKEN")
        build.token(number, type="NON_FUNGIBLE_UNIQUE" if number in UNIQUES else "FUNGIBLE_COMMON")
        for account in (TREASURY, ALICE, BOB, CONTRACT):
            held = 0 if account == CONTRACT else 2
            build.holding(number, account=account, balance=held if number in UNIQUES else 100)
    for number in UNIQUES:
        for serial in SERIALS:
            build.nft(number, serial, account=(TREASURY, ALICE, BOB)[serial % 3])
    for owner in (ALICE, CONTRACT):
        build.allowance("token", owner=owner, spender=BOB, token_id=TOKENS[0], amount=60, amount_granted=60)
        build.allowance("nft", owner=owner, spender=BOB, token_id=UNIQUES[0])
        build.allowance("crypto", owner=owner, spender=BOB, amount=60, amount_granted=60)
    return build


class Chance:
    """Random fees and functions, from a seed."""

    def __init__(self, seed: int) -> None:
        self._choose = Random(seed)

    def fees(self, *, unique: bool) -> CustomFees:
        choose = self._choose

        def terms() -> dict[str, Any]:
            return {
                "collector_account_id": choose.choice(ACCOUNTS),
                "all_collectors_are_exempt": choose.random() < 0.2,
            }

        def fixed() -> dict[str, Any]:
            token = choose.choice((None, *TOKENS))
            return {"amount": choose.choice((1, 3, 40)), "denominating_token_id": token}

        def part() -> dict[str, Any]:
            return {"numerator": choose.randint(1, 3), "denominator": choose.randint(3, 20)}

        def fractional() -> dict[str, Any]:
            bounds = choose.choice(((0, None), (2, 5), (0, 1), (9, None)))
            least, most = bounds
            return {
                **part(),
                "minimum_amount": least,
                "maximum_amount": most,
                "net_of_transfers": choose.random() < 0.5,
            }

        def royalty() -> dict[str, Any]:
            return {**part(), "fallback_fee": choose.choice((None, fixed()))}

        def some(make: Any) -> tuple[dict[str, Any], ...]:
            return tuple(terms() | make() for _ in range(choose.choice((0, 0, 1, 2))))

        return CustomFees(some(fixed), () if unique else some(fractional), some(royalty) if unique else ())

    def adjustments(self, most: int = 30) -> list[tuple[Any, ...]]:
        """Mostly such that they add up to zero."""
        choose = self._choose
        accounts = choose.sample([*map(long_zero, ACCOUNTS), *NEW_ADDRESSES], choose.randint(2, 4))
        amounts = [choose.randint(-most, most) for _ in accounts[1:]]
        amounts.append(-sum(amounts) + (choose.random() < 0.03))
        return [
            (account, amount, choose.random() < 0.2)
            for account, amount in zip(accounts, amounts, strict=True)
        ]

    def nfts(self) -> list[tuple[Any, ...]]:
        choose = self._choose
        parties = [*map(long_zero, ACCOUNTS), *NEW_ADDRESSES]
        return [
            (choose.choice(parties), choose.choice(parties), choose.choice(SERIALS), choose.random() < 0.3)
            for _ in range(choose.randint(1, 2))
        ]

    def lists(self) -> list[tuple[Any, ...]]:
        choose = self._choose
        units: list[tuple[Any, ...]] = [
            (long_zero(token), self.adjustments(), []) for token in TOKENS if choose.random() < 0.4
        ]
        nfts: list[tuple[Any, ...]] = [
            (long_zero(token), [], self.nfts()) for token in UNIQUES if choose.random() < 0.3
        ]
        return [*units, *nfts]

    def airdrop(self) -> list[tuple[Any, ...]]:
        choose = self._choose
        token = choose.choice((*TOKENS, *UNIQUES))
        sender, *others = map(long_zero, choose.sample(ACCOUNTS, 3))
        if token in UNIQUES:
            return [(long_zero(token), [], [(sender, others[0], choose.choice(SERIALS), False)])]
        gifts = [(other, choose.randint(1, 9), False) for other in others]
        debit = (sender, -sum(amount for _, amount, _ in gifts), False)
        return [(long_zero(token), [debit, *gifts], [])]

    def pending(self) -> list[tuple[Any, ...]]:
        choose = self._choose
        token = choose.choice((*TOKENS, *UNIQUES))
        return [(*map(long_zero, (*choose.sample(ACCOUNTS, 2), token)), choose.choice(SERIALS))]

    def call(self) -> tuple[str, tuple[Any, ...], int | None]:
        """A signature, its arguments and the token that is called."""
        choose = self._choose
        token, account = choose.choice(TOKENS), long_zero(choose.choice(ACCOUNTS))
        parties = long_zero(choose.choice(ACCOUNTS)), choose.choice((account, *NEW_ADDRESSES))
        everything = (self.adjustments() if choose.random() < 0.4 else [],)
        calls: list[tuple[str, tuple[Any, ...], int | None]] = [
            ("cryptoTransfer(TransferList,TokenTransferListV2[])", (everything, self.lists()), None),
            ("transferToken(address,address,address,int64)", (long_zero(token), *parties, 9), None),
            ("transferFrom(address,address,address,uint256)", (long_zero(TOKENS[0]), *parties, 9), None),
            ("transfer(address,uint256)", (parties[1], choose.randint(0, 40)), token),
            ("transferFrom(address,address,uint256)", (*parties, choose.choice(SERIALS)), UNIQUES[0]),
            ("airdropTokens(TokenTransferListV2[])", (self.airdrop(),), None),
            ("claimAirdrops(PendingAirdrop[])", (self.pending(),), None),
            ("cancelAirdrops(PendingAirdrop[])", (self.pending(),), None),
            ("rejectTokens(address,address[],NftID[])", (account, [long_zero(token)], []), None),
        ]
        return choose.choices(calls, weights=(8, 2, 2, 2, 2, 4, 2, 1, 1))[0]

    def caller(self) -> int:
        return self._choose.choice((ALICE, BOB, CONTRACT))


def check_sums(calls: Simulation, accounts: list[int]) -> None:
    for token in TOKENS:
        balances = calls.balances(token, *accounts)
        assert min(balances) >= 0
        assert sum(balances) == 400
    for token in UNIQUES:
        owners = Counter(calls.owner(token, serial) for serial in SERIALS)
        assert calls.balances(token, *accounts) == [owners[account] for account in accounts]
    assert min(calls.hbars(*accounts)) >= 0
    for account in accounts:
        relationships = [
            calls.overlay.relationship(calls.token(token), account) for token in (*TOKENS, *UNIQUES)
        ]
        found = [relationship for relationship in relationships if relationship is not None]
        counts = calls.overlay.associations(account)
        automatic = sum(relationship.automatic for relationship in found)
        assert counts == (len(found), automatic)


def everyone(calls: Simulation) -> list[int]:
    created = [calls.overlay.account_id_at(address) for address in NEW_ADDRESSES]
    return [*ACCOUNTS, *(account for account in created if account is not None)]


def test_everything_adds_up_and_a_refusal_changes_nothing(ledger):
    codes: Counter[str] = Counter()
    succeeded: Counter[str] = Counter()
    for seed in range(SEQUENCES):
        chance = Chance(seed)
        calls = Simulation()
        for number in (*TOKENS, *UNIQUES):
            calls.overlay.put_custom_fees(number, chance.fees(unique=number in UNIQUES))
        for _ in range(20):
            calls.sender = chance.caller()
            before = dict(calls.journal.rows())
            hbars, total = calls.hbars(*ACCOUNTS), sum(calls.hbars(*everyone(calls)))
            signature, arguments, token = chance.call()
            answer = calls.ask(signature, *arguments, token=token)
            # An account without a key, as transfers to new addresses make them, can't be debited.
            assert answer.halt is None or len(everyone(calls)) > len(ACCOUNTS)
            codes[str(answer.child)] += 1
            lost = total - sum(calls.hbars(*everyone(calls)))
            # Only waiting airdrops have a fee of hbar, of a tenth of a dollar each at most.
            assert lost == 0 if not signature.startswith("airdropTokens") else 0 <= lost < 10 * HBAR
            if answer.child == "SUCCESS":
                succeeded[signature] += 1
            else:
                assert (dict(calls.journal.rows()), calls.hbars(*ACCOUNTS)) == (before, hbars)
        check_sums(calls, everyone(calls))
    assert codes["SUCCESS"] > SEQUENCES
    assert len(codes) > 10
    assert len(succeeded) > 6
