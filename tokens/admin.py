"""The pages of tokens, NFTs, who holds and who may spend them."""

from collections.abc import Iterable

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
from mirror.core.admin.filters import conditions
from mirror.core.admin.readonly import ReadOnlyAdmin
from mirror.core.admin.related import Related, add_related, join_on
from mirror.core.admin.tables import Table, register_tables
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

_MIN_LETTERS = 3


@admin.register(Token)
class TokenAdmin(ReadOnlyAdmin):
    is_entity = True
    list_display = ("token_id", "name", "symbol", "type", "total_supply", "decimals", "treasury_account_id")
    extra_search = "part of a name"
    related = (
        Related(TokenAccount, join_on("token_id"), "Holders"),
        Related(Nft, join_on("token_id"), "Serials"),
        Related(CustomFee, join_on(entity_id="token_id"), "Custom fees"),
        Related(TokenHistory, join_on("token_id"), "Earlier versions"),
    )

    def global_search(self, text: str) -> Iterable[Q]:
        yield from conditions(Token, ("token_id",), text)
        if "\0" not in text:
            # Index: token__symbol (symbol, token_id).
            yield Q(symbol__in={text, text.upper(), text.lower()})
        yield from self._tokens_by_name(text)

    def row_summary(self, row: Token) -> str:
        return f"Token {row.name} ({row.symbol})"

    def search(self, text: str) -> Iterable[Q]:
        yield from super().search(text)
        yield from self._tokens_by_name(text)

    def _tokens_by_name(self, text: str) -> Iterable[Q]:
        if len(text) >= _MIN_LETTERS and "\0" not in text:
            escaped = text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
            # Index: token__name, trigrams; it can't find fewer than three letters.
            yield Q(RawSQL("token.name ilike %s", (f"%{escaped}%",), output_field=BooleanField()))


register_tables(
    "tokens",
    {
        TokenAccount: Table(
            "account_id token_id balance associated automatic_association created_timestamp",
            "Token holdings",
            "Token holding",
            history="Earlier versions",
        ),
        TokenAccountHistory: Table("account_id token_id timestamp_range balance associated"),
        Nft: Table(
            "token_id serial_number account_id metadata created_timestamp deleted spender",
            "NFTs",
            "NFT",
            history="Earlier versions",
        ),
        NftHistory: Table("token_id serial_number timestamp_range account_id spender deleted"),
        TokenTransfer: Table("consensus_timestamp token_id account_id amount payer_account_id is_approval"),
        NftAllowance: Table(label="NFT allowances", singular="NFT allowance", history="Earlier grants"),
        TokenAllowance: Table(history="Earlier grants"),
        TokenBalance: Table(label="Token balances at snapshots", singular="Token balance"),
        TokenHistory: Table("token_id timestamp_range name symbol type total_supply treasury_account_id"),
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
    Related(TokenAccount, this_entity("token_id", "TOKEN"), "Holders"),
)
add_related(
    Entity,
    Related(TokenAccount, this_entity("account_id", *HOLDERS), "Tokens it holds"),
    Related(TokenTransfer, this_entity("account_id", *HOLDERS), "Token transfers"),
    Related(Nft, this_entity("account_id", *HOLDERS), "NFTs it holds"),
    Related(TokenAirdrop, this_entity("receiver_account_id", *HOLDERS), "Airdrops waiting for it"),
    Related(TokenAirdrop, this_entity("sender_account_id", *HOLDERS), "Airdrops it sent"),
    after=StakingRewardTransfer,
)
add_related(
    Entity,
    Related(TokenAllowance, this_entity("owner", *HOLDERS), "Token allowances it gave"),
    Related(NftAllowance, this_entity("owner", *HOLDERS), "NFT allowances it gave"),
    after=CryptoAllowance,
)
