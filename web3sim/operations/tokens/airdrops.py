"""TokenAirdrop, TokenClaimAirdrop and TokenCancelAirdrop (HIP-904).

An airdrop to an account that would have to agree first waits until that account claims it; everyone else gets
it at once. Custom fees are paid by the sender when it airdrops.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from web3sim.operations import holdings
from web3sim.operations.rejections import Rejected, reject_if, required
from web3sim.operations.signatures import key_members, usable_key
from web3sim.operations.transfers.body import Adjustment, NftTransfer, Outcome, TokenTransfers, Transfers
from web3sim.operations.transfers.checks import check_participants, check_token_lists, find_party, number_of
from web3sim.operations.transfers.crypto_transfer import transfer_without_fees
from web3sim.operations.transfers.custom_fees import TokenFees, assess
from web3sim.operations.transfers.moves import Moves
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import AirdropKey, Entity, Token

#: Of a network's default configuration.
MAX_PENDING_IDS = 10
_CLAIMING_KEYS = frozenset({"contractID", "ed25519", "ECDSA_secp256k1"})


# AIRDROP


#: Charges for airdrops that begin to wait or associate a receiver, and for those added to waiting ones.
Charge = Callable[[int, int], None]


def airdrop(ledger: Overlay, transfers: Transfers, charge: Charge) -> Outcome:
    """Give tokens away, now or when they are claimed.

    Checks, in this order: senders, the lists, accounts; for each token what its sender has, and royalties;
    custom fees; then for each token its receivers, and what is charged.
    """
    _check_senders(transfers)
    check_token_lists(transfers.tokens, approvals=False)
    check_participants(ledger, transfers)
    for each in transfers.tokens:
        _check_token(ledger, transfers, each)
    assessment = assess(ledger, transfers)
    outcome = Outcome()
    fees = Moves(ledger, None, outcome, assessment.fees)
    for level in assessment.levels[1:]:
        fees.move_hbar(level.hbar)
        fees.move_fungible(level.tokens)
    immediate = []
    for each in assessment.levels[0].tokens:
        _check_receivers(ledger, each)
        transferred = _split_pending(ledger, each, charge)
        if transferred.adjustments or transferred.nfts:
            immediate.append(transferred)
    reject_if(any(number_of(transfers, account) for account in transfers.missing), "INVALID_ACCOUNT_ID")
    transfer_without_fees(ledger, Transfers((), tuple(immediate), transfers.missing), outcome)
    return outcome


def _check_senders(transfers: Transfers) -> None:
    reject_if(not transfers.tokens, "EMPTY_TOKEN_TRANSFER_BODY")
    for each in transfers.tokens:
        debits = sum(adjustment.amount < 0 for adjustment in each.adjustments)
        senders = {nft.sender for nft in each.nfts}
        if len(senders) > 1 or (each.adjustments and debits != 1):
            raise Rejected("AIRDROP_CONTAINS_MULTIPLE_SENDERS_FOR_A_TOKEN")


def _check_token(ledger: Overlay, transfers: Transfers, tokens: TokenTransfers) -> None:
    token = holdings.usable_token(ledger, tokens.token_id)
    if tokens.adjustments:
        reject_if(token.unique, "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON")
        debit = next(each for each in tokens.adjustments if each.amount < 0)
        if holdings.unfrozen_relationship(ledger, token, debit.account).balance + debit.amount < 0:
            raise Rejected("INSUFFICIENT_TOKEN_BALANCE")
        return
    for nft in tokens.nfts:
        _check_royalties(ledger, transfers, token, nft)
    holdings.unfrozen_relationship(ledger, token, tokens.nfts[0].sender)
    for nft in tokens.nfts:
        row = ledger.nft(token.id, nft.serial_number)
        if row is None or not token.unique:
            raise Rejected("INVALID_NFT_ID")
        reject_if(holdings.owner_of(token, row) != nft.sender, "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")


def _check_royalties(ledger: Overlay, transfers: Transfers, token: Token, nft: NftTransfer) -> None:
    """Refuse a serial for which the receiver, or the sender out of what it gets, would have to pay."""
    of_token = TokenFees(token, ledger.custom_fees(token.id))
    gets_value = any(
        each.amount > 0 and each.account == nft.sender
        for tokens in transfers.tokens
        for each in tokens.adjustments
    )
    for fee in of_token.royalty:
        receiver_pays = fee["fallback_fee"] and not of_token.is_exempt(nft.receiver, fee)
        if receiver_pays or (gets_value and not of_token.is_exempt(nft.sender, fee)):
            raise Rejected("TOKEN_AIRDROP_WITH_FALLBACK_ROYALTY")


def _check_receivers(ledger: Overlay, tokens: TokenTransfers) -> None:
    """Refuse receivers that could never claim."""
    for number in Transfers(tokens=(tokens,)).credited():
        account = find_party(ledger, number)
        reject_if(account is not None and not _can_claim(account), "NOT_SUPPORTED")


def _can_claim(account: Entity) -> bool:
    """An account without a key may get one."""
    key = usable_key(account)
    return key is None or _key_can_claim(key)


def _key_can_claim(key: Any) -> bool:
    field, can_claim = key.WhichOneof("key"), list(map(_key_can_claim, key_members(key)))
    if field == "keyList":
        return all(can_claim)
    if field == "thresholdKey":
        return bool(sum(can_claim) >= key.thresholdKey.threshold)
    return field in _CLAIMING_KEYS


def _split_pending(ledger: Overlay, tokens: TokenTransfers, charge: Charge) -> TokenTransfers:
    """Charge for what has to wait and for new associations, note the former; return what moves at once."""
    token = holdings.usable_token(ledger, tokens.token_id)
    sender = next((each.account for each in tokens.adjustments if each.amount < 0), 0)
    credits = {each.account: each.amount for each in tokens.adjustments if each.amount > 0}
    # What each gives, of serials nothing that could be added up.
    amounts = {
        **{AirdropKey(sender, account, token.id, 0): amount for account, amount in credits.items()},
        **{AirdropKey(nft.sender, nft.receiver, token.id, nft.serial_number): 0 for nft in tokens.nfts},
    }
    waiting = {key: ledger.pending_airdrop(key) for key in amounts if _waits(ledger, token, key.receiver)}
    existing = sum(not key.serial_number and pending is not None for key, pending in waiting.items())
    ready = {key.receiver for key in amounts if key not in waiting}
    associated = sum(ledger.relationship(token, receiver) is None for receiver in ready)
    charge(len(waiting) - existing + associated, existing)
    for key, pending in waiting.items():
        reject_if(key.serial_number and pending is not None, "PENDING_NFT_AIRDROP_ALREADY_EXISTS")
        ledger.put_pending_airdrop(key, (pending or 0) + amounts[key])
    moved = [Adjustment(account, amount) for account, amount in credits.items() if account in ready]
    if moved:
        moved.insert(0, Adjustment(sender, -sum(each.amount for each in moved)))
    return TokenTransfers(token.id, tuple(moved), tuple(nft for nft in tokens.nfts if nft.receiver in ready))


def _waits(ledger: Overlay, token: Token, receiver: int) -> bool:
    account = find_party(ledger, receiver)
    if account is None:
        return False
    return ledger.relationship(token, receiver) is None and holdings.has_no_free_slots(ledger, account)


# CLAIM AND CANCEL


@dataclass(frozen=True, slots=True)
class PendingId:
    """What names a pending airdrop; without a serial number it is of units. Accounts are as in Transfers."""

    sender: int
    receiver: int
    token_id: int
    serial_number: int | None = None

    @property
    def key(self) -> AirdropKey:
        return AirdropKey(self.sender, self.receiver, self.token_id, self.serial_number or 0)


def check_pending_ids(ids: Sequence[PendingId]) -> None:
    reject_if(not ids, "EMPTY_PENDING_AIRDROP_ID_LIST")
    reject_if(len(set(ids)) < len(ids), "PENDING_AIRDROP_ID_REPEATED")


def claim(ledger: Overlay, ids: Sequence[PendingId]) -> None:
    """Receive what waits.

    Checks, in this order: the list; each receiver; that each airdrop waits; for each token
    that it is not paused and has no fallback fee; then as for a transfer without fees.
    """
    check_pending_ids(ids)
    for each in ids:
        required(find_party(ledger, each.receiver), "INVALID_ACCOUNT_ID")
    _check_pending(ledger, ids)
    for each in ids:
        holdings.usable_token(ledger, each.token_id)
        if any(fee["fallback_fee"] for fee in ledger.custom_fees(each.token_id).royalty):
            raise Rejected("TOKEN_AIRDROP_WITH_FALLBACK_ROYALTY")
    moves: dict[int, TokenTransfers] = {}
    for each in ids:
        token_moves = moves.get(each.token_id, TokenTransfers(each.token_id))
        moves[each.token_id] = _add_claim(ledger, token_moves, each)
        token = holdings.usable_token(ledger, each.token_id)
        if ledger.relationship(token, each.receiver) is None:
            holdings.add_relationship(ledger, holdings.new_relationship(token, each.receiver))
    transfer_without_fees(ledger, Transfers(tokens=tuple(moves.values())), Outcome())
    for each in ids:
        ledger.put_pending_airdrop(each.key, None)


def _add_claim(ledger: Overlay, moves: TokenTransfers, pending: PendingId) -> TokenTransfers:
    sender, receiver = pending.sender, pending.receiver
    if pending.serial_number is not None:
        nft = NftTransfer(sender, receiver, pending.serial_number)
        return replace(moves, nfts=(*moves.nfts, nft))
    amount = ledger.pending_airdrop(pending.key) or 0
    amounts = {each.account: each.amount for each in moves.adjustments}
    for account, change in ((sender, -amount), (receiver, amount)):
        amounts[account] = amounts.get(account, 0) + change
    return replace(moves, adjustments=tuple(Adjustment(*each) for each in amounts.items()))


def cancel(ledger: Overlay, ids: Sequence[PendingId]) -> None:
    """Take back what waits.

    Checks, in this order: the list, its accounts are named, its serial numbers; that each airdrop waits.
    """
    check_pending_ids(ids)
    reject_if(any(0 in (each.sender, each.receiver) for each in ids), "INVALID_PENDING_AIRDROP_ID")
    if any(each.serial_number is not None and each.serial_number <= 0 for each in ids):
        raise Rejected("INVALID_TOKEN_NFT_SERIAL_NUMBER")
    _check_pending(ledger, ids)
    for each in ids:
        ledger.put_pending_airdrop(each.key, None)


def _check_pending(ledger: Overlay, ids: Sequence[PendingId]) -> None:
    for each in ids:
        accounts = (find_party(ledger, account) for account in (each.sender, each.receiver))
        is_invalid = each.serial_number is not None and each.serial_number <= 0
        if None in accounts or is_invalid or ledger.pending_airdrop(each.key) is None:
            raise Rejected("INVALID_PENDING_AIRDROP_ID")
