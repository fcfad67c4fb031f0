"""The pages of tokens, NFTs, who holds and who may spend them."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin
from django.db.models import BooleanField, Q
from django.db.models.expressions import RawSQL

from ledger.admin.entities import HOLDERS, this_entity
from ledger.models import (
    CryptoAllowance,
    CryptoTransfer,
    CustomFee,
    Entity,
    StakingRewardTransfer,
    Transaction,
)
from mirror.core.admin.lists import ColumnFilter, conditions
from mirror.core.admin.readonly import ReadOnlyAdmin
from mirror.core.admin.related import Related, Where, add_related, join_on
from mirror.core.admin.tables import register_tables, table
from tokens.models import (
    AssessedCustomFee,
    Nft,
    NftAllowance,
    NftHistory,
    Token,
    TokenAccount,
    TokenAccountHistory,
    TokenAirdrop,
    TokenAllowance,
    TokenBalance,
    TokenHistory,
    TokenTransfer,
)

_MIN_LETTERS, _MIN_SYMBOL = 3, 2


def _present(where: Callable[[Any], Where | None], **state: str) -> Callable[[Any], Where | None]:
    """Match only related rows in this state: others are of the past."""
    return lambda row: {**own, **state} if (own := where(row)) else None


@admin.register(Token)
class TokenAdmin(ReadOnlyAdmin):
    is_entity, api_path = True, "tokens/{}"
    list_display = ("token_id", "name", "symbol", "type", "total_supply", "decimals", "treasury_account_id")
    extra_search = "part of a name"
    related = (
        Related(TokenAccount, _present(join_on("token_id"), associated="true"), "Holders"),
        Related(Nft, join_on("token_id"), "Serials"),
        Related(CustomFee, join_on(entity_id="token_id"), "Custom fees"),
        Related(TokenHistory, join_on("token_id"), "Earlier versions"),
    )

    def global_search(self, text: str) -> Iterable[Q]:
        yield from conditions(Token, ("token_id",), text)
        if "\0" not in text:
            yield _symbols(text)
        yield from self._tokens_by_name(text)

    def row_summary(self, row: Token) -> str:
        return f"Token {row.name} ({row.symbol})"

    def row_title(self, row: Token) -> str:
        return f"{row.symbol} ({super().row_title(row)})"

    def search(self, text: str) -> Iterable[Q]:
        yield from super().search(text)
        yield from self._tokens_by_name(text)

    def _tokens_by_name(self, text: str) -> Iterable[Q]:
        if len(text) >= _MIN_LETTERS and "\0" not in text:
            escaped = text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
            # Index: token__name, trigrams; it can't find fewer than three letters.
            yield Q(RawSQL("token.name ilike %s", (f"%{escaped}%",), output_field=BooleanField()))


def _symbols(text: str) -> Q:
    """Return the condition that finds symbols, from two letters on by their beginning."""
    # Index: token__symbol (symbol, token_id).
    forms = {text, text.upper(), text.lower()}
    if len(text) < _MIN_SYMBOL:
        return Q(symbol__in=forms)
    condition = Q()
    for form in forms:
        # A range, as LIKE can't use the index; the last character of Unicode comes after all others.
        condition |= Q(symbol__gte=form, symbol__lt=f"{form}\U0010ffff", symbol__startswith=form)
    return condition


@admin.register(Nft)
class NftAdmin(ReadOnlyAdmin):
    label, singular, api_path = "NFTs", "NFT", "tokens/{}/nfts/{}"
    list_display = (
        "token_id", "serial_number", "account_id", "metadata", "created_timestamp", "deleted", "spender",
    )  # fmt: skip
    extra_search = "token/serial (0.0.1234/5)"
    related = (Related(NftHistory, join_on("token_id", "serial_number"), "Earlier versions"),)

    def other_conditions(self, text: str) -> Iterable[Q]:
        token, slash, serial = text.partition("/")
        if slash:
            for condition in conditions(Nft, ("token_id",), token.strip()):
                for serial_condition in conditions(Nft, ("serial_number",), serial.strip()):
                    # Index: the primary key (token_id, serial_number).
                    yield condition & serial_condition


class StateFilter(ColumnFilter):
    """The filter by what has become of an airdrop or a holding, beside the account or the token."""

    finds_alone = False


register_tables(
    "tokens",
    {
        TokenAccount: table(
            "account_id token_id balance associated automatic_association created_timestamp",
            label="Token holdings",
            singular="Token holding",
            history="Earlier versions",
            extra_filters={"associated": StateFilter},
        ),
        TokenAccountHistory: table("account_id token_id timestamp_range balance associated"),
        NftHistory: table("token_id serial_number timestamp_range account_id spender deleted"),
        TokenTransfer: table("consensus_timestamp token_id account_id amount payer_account_id is_approval"),
        NftAllowance: table(label="NFT allowances", singular="NFT allowance", history="Earlier grants"),
        TokenAirdrop: table(extra_filters={"state": StateFilter}),
        TokenAllowance: table(history="Earlier grants"),
        TokenBalance: table(label="Token balances at snapshots", singular="Token balance"),
        TokenHistory: table("token_id timestamp_range name symbol type total_supply treasury_account_id"),
    },
)

add_related(
    Transaction,
    Related(TokenTransfer, join_on("consensus_timestamp"), "Token transfers", limit=50),
    after=CryptoTransfer,
)
add_related(
    Transaction,
    Related(AssessedCustomFee, join_on("consensus_timestamp"), "Custom fees charged"),
    after=StakingRewardTransfer,
)
add_related(
    Entity,
    Related(Token, this_entity("token_id", "TOKEN"), "Token"),
    Related(TokenAccount, _present(this_entity("token_id", "TOKEN"), associated="true"), "Holders"),
)
add_related(
    Entity,
    Related(
        TokenAccount, _present(this_entity("account_id", *HOLDERS), associated="true"), "Tokens it holds"
    ),
    Related(TokenTransfer, this_entity("account_id", *HOLDERS), "Token transfers"),
    Related(Nft, this_entity("account_id", *HOLDERS), "NFTs it holds"),
    Related(
        TokenAirdrop,
        _present(this_entity("receiver_account_id", *HOLDERS), state="PENDING"),
        "Airdrops waiting for it",
    ),
    Related(TokenAirdrop, this_entity("sender_account_id", *HOLDERS), "Airdrops it sent"),
    after=StakingRewardTransfer,
)
add_related(
    Entity,
    Related(TokenAllowance, this_entity("owner", *HOLDERS), "Token allowances it gave"),
    Related(NftAllowance, this_entity("owner", *HOLDERS), "NFT allowances it gave"),
    after=CryptoAllowance,
)
