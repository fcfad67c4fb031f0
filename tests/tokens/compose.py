"""Token transactions for tests: bodies and records from plain values."""

from collections.abc import Iterable
from typing import Any

from mirror.core.values.hapi.messages import (
    AccountAmount,
    NftTransfer,
    TokenID,
    TokenTransferList,
    TransactionBody,
    TransactionReceipt,
    TransactionRecord,
)
from mirror.demo.streams.record_files import TREASURY, account
from tests.composing import Composer

KEY = {"ed25519": bytes(range(32))}
OTHER_KEY = {"ed25519": bytes(range(1, 33))}
ALL_SERIALS = -1

Move = tuple[int, int, int]  # serial, sender, receiver; 0 for none


def token(number: int) -> Any:
    return TokenID(tokenNum=number)


def units(number: int, amounts: dict[int, int], *, approved: bool = False) -> Any:
    """Return a list of transfers of a fungible token; `approved` debits use an allowance."""
    return TokenTransferList(
        token=token(number),
        transfers=[
            AccountAmount(accountID=account(to), amount=amount, is_approval=approved and amount < 0)
            for to, amount in amounts.items()
        ],
    )


def serials(number: int, *moves: Move, approved: bool = False) -> Any:
    """Return a list of transfers of serials."""
    return TokenTransferList(
        token=token(number),
        nftTransfers=[
            NftTransfer(
                serialNumber=serial,
                senderAccountID=account(sender) if sender else None,
                receiverAccountID=account(receiver) if receiver else None,
                is_approval=approved,
            )
            for serial, sender, receiver in moves
        ],
    )


class TokenStream(Composer):
    """A stream whose methods add one transaction and return its consensus timestamp."""

    def happen(
        self,
        kind: str,
        body: dict[str, Any],
        *moved: Any,
        record: dict[str, Any] | None = None,
        receipt: dict[str, Any] | None = None,
        associated: Iterable[tuple[int, int]] = (),
        **options: Any,
    ) -> int:
        """Add a transaction with the body of field `kind`; its record has the transfer lists `moved`.

        `associated` are pairs of account and token that it associated automatically.
        """
        complete = TransactionRecord(
            receipt=TransactionReceipt(**(receipt or {})),
            tokenTransferLists=moved,
            automatic_token_associations=[
                {"account_id": account(holder), "token_id": token(held)} for holder, held in associated
            ],
            **(record or {}),
        )
        return self.transaction(TransactionBody(**{kind: body}), complete, **options).consensus_timestamp

    def create(self, number: int, *, treasury: int = TREASURY, supply: int = 0, **body: Any) -> int:
        """Add a creation of a token, fungible unless the body has another `tokenType`."""
        token_body = {"name": f"Token {number}", "symbol": f"T{number}", "treasury": account(treasury)} | body
        return self.happen(
            "tokenCreation",
            {"initialSupply": supply} | token_body,
            *([units(number, {treasury: supply})] if supply else []),
            receipt={"tokenID": token(number)},
        )

    def create_nft(self, number: int, **options: Any) -> int:
        return self.create(number, tokenType="NON_FUNGIBLE_UNIQUE", supplyKey=KEY, **options)

    def associate(self, holder: int, *numbers: int) -> int:
        return self.happen("tokenAssociate", {"account": account(holder), "tokens": [*map(token, numbers)]})

    def transfer(self, *moved: Any, **options: Any) -> int:
        """Add a crypto transfer whose record has the requested transfers."""
        return self.happen("cryptoTransfer", {"tokenTransfers": moved}, *map(_as_recorded, moved), **options)

    def mint(self, number: int, amount: int, total: int, *, treasury: int = TREASURY) -> int:
        return self.happen(
            "tokenMint",
            {"token": token(number), "amount": amount},
            units(number, {treasury: amount}),
            receipt={"newTotalSupply": total},
        )

    def mint_serials(
        self, number: int, *minted: int, total: int | None = None, treasury: int = TREASURY
    ) -> int:
        """Add a mint of serials, each with the metadata `serial <n>`."""
        return self.happen(
            "tokenMint",
            {"token": token(number), "metadata": [f"serial {serial}".encode() for serial in minted]},
            serials(number, *((serial, 0, treasury) for serial in minted)),
            receipt={"newTotalSupply": len(minted) if total is None else total, "serialNumbers": minted},
        )


def _as_recorded(moved: Any) -> Any:
    """Return transfers without approvals, as records have them."""
    recorded = TokenTransferList()
    recorded.CopyFrom(moved)
    for transfer in (*recorded.transfers, *recorded.nftTransfers):
        transfer.is_approval = False
    return recorded
