"""GET /api/v1/tokens and /api/v1/tokens/{tokenId}: tokens, and one of them now or at a time.

Source: token with its entity; of one token also its custom fees (custom_fee). At a time each of the three is
the latest version that began by then. Amounts and supplies: int64 in the token's smallest unit, as text where
it is a supply. Errors: 400 malformed parameter or id; 404 no such token, or none at the time.
"""

import operator
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from rest_framework.response import Response

from ledger.api import not_loaded
from ledger.api.token_names import OfToken
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Comparison
from mirror.core.rest.answers.errors import BadRequest, InvalidParameter
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import ONLY_EQ, InvalidValue, Parameter, ParameterSet
from mirror.core.rest.parameters.query_string import Texts
from mirror.core.rest.views import Answer, ReadView
from mirror.core.values import entity_id, timestamp
from mirror.core.values.json_types import Base64, DecimalText, EntityId, Int64, KeyJson, Timestamp, page_type
from mirror.core.values.keys import key_json
from tokens.queries import tokens as queries
from tokens.queries.tokens import ListedToken, TokenSelection

_MIN_NAME, _MAX_NAME = 3, 100  # bytes
# Characters that mean something else in a pattern for ILIKE.
_SPECIAL = re.compile(r"[\\%_]")
_NON_FUNGIBLE = "NON_FUNGIBLE_UNIQUE"
# In the order of comparisons.
_TYPES = ("FUNGIBLE_COMMON", _NON_FUNGIBLE)
_HOLDS = {"gte": operator.ge, "lte": operator.le}
_HOLDS |= {name: getattr(operator, name) for name in ("eq", "ne", "gt", "lt")}


# PARAMETERS
class NameParameter(Parameter[list[str]]):
    """A part of a name, as a pattern for ILIKE in which all its characters stand for themselves."""

    schema = {"type": "string", "minLength": _MIN_NAME, "maxLength": _MAX_NAME}

    def __init__(self) -> None:
        super().__init__(
            "name",
            operators=ONLY_EQ,
            help="A part of the name in any case. Not together with account.id or token.id; there is no "
            "next page.",
        )

    def read(self, text: str) -> str:
        if not _MIN_NAME <= len(text.encode()) <= _MAX_NAME:
            raise InvalidValue(text)
        return "%" + _SPECIAL.sub(r"\\\g<0>", text) + "%"

    def combined(self, comparisons: list[Comparison]) -> list[str]:
        return [comparison.value for comparison in comparisons]


class TypeParameter(classic.Choices):
    """Types of tokens in upper or lower case, read as the types that meet all conditions."""

    schema = {"type": "string", "pattern": "^(all|fungible_common|non_fungible_unique)$"}

    def __init__(self) -> None:
        choices = {"all": None} | {type.lower(): type for type in _TYPES}
        super().__init__("type", choices, help="Only fungible, or only non-fungible tokens.")

    def absent(self) -> list[str]:
        return list(_TYPES)

    def default_value(self) -> None:
        return None

    def combined(self, comparisons: list[Comparison]) -> list[str]:
        named = [comparison for comparison in comparisons if comparison.value is not None]
        return [type for type in _TYPES if all(_HOLDS[one](type, other) for one, other in named)]


class TokenParameters(classic.PageParameters):
    account_id = classic.EntityId("account.id", help="An account that is associated with the token.")
    name = NameParameter()
    order = classic.Order("asc")
    publickey = classic.PublicKey("publickey", help="The public key in the admin key.")
    token_id = classic.TokenId("token.id", help="Token id, or long-zero EVM address.")
    type = TypeParameter()

    def __init__(self, texts: Texts, path: str = "") -> None:
        if "name" in texts:
            if "token.id" in texts:
                raise BadRequest(
                    "token.id and name can not be used together. Use a more specific name instead."
                )
            if "account.id" in texts:
                raise BadRequest("account.id and name cannot be used together")
        super().__init__(texts, path)


class TokenAtParameters(ParameterSet):
    timestamp = classic.Timestamp(
        "timestamp",
        operators=frozenset({"eq", "lt", "lte"}),
        help="The token as it was at, before, or by then; the last value counts.",
    )


# QUERIES
def tokens_of(parameters: TokenParameters, query: Query) -> tuple[list[ListedToken], int | None]:
    """Return a page, and the id after which the next one continues if there was no time to fill this one."""
    account_id = None
    if parameters.account_id:
        account_id = _account_id(parameters)
        if account_id is None:
            return [], None
    if not parameters.type:
        return [], None
    selection = TokenSelection(
        tokens=parameters.token_id,
        type=parameters.type[0] if len(parameters.type) == 1 else None,
        names=parameters.name,
        public_keys=parameters.publickey,
        account_id=account_id,
    )
    return queries.tokens(selection, query)


def _account_id(parameters: TokenParameters) -> int | None:
    """One account without operator; None for an EVM address that is not looked up. Errors: BadRequest."""
    texts = parameters.texts["account.id"]
    if len(texts) > 1:
        raise BadRequest(f'Entity ID "{",".join(texts)}" is not a string')
    if ":" in texts[0]:
        raise InvalidParameter("account.id")
    account_id: int | None = parameters.account_id[0].value
    return account_id


# JSON
class ListedTokenJson(TypedDict):
    admin_key: KeyJson | None
    metadata: Base64 | None
    name: str
    symbol: str
    token_id: EntityId | None
    type: str
    decimals: Int64


class FixedFeeJson(TypedDict):
    all_collectors_are_exempt: bool
    amount: Int64 | None
    collector_account_id: EntityId | None
    denominating_token_id: EntityId | None


class FractionJson(TypedDict):
    numerator: Int64 | None
    denominator: Int64 | None


class FractionalFeeJson(TypedDict):
    all_collectors_are_exempt: bool
    amount: FractionJson
    collector_account_id: EntityId | None
    denominating_token_id: EntityId | None
    maximum: Int64 | None
    minimum: Int64 | None
    net_of_transfers: bool


class FallbackFeeJson(TypedDict):
    amount: Int64
    denominating_token_id: EntityId | None


class RoyaltyFeeJson(TypedDict):
    all_collectors_are_exempt: bool
    amount: FractionJson
    collector_account_id: EntityId | None
    fallback_fee: FallbackFeeJson | None


class CustomFeesJson(TypedDict):
    """Fractional fees are those of fungible tokens, royalty fees those of others."""

    created_timestamp: Timestamp | None
    fixed_fees: list[FixedFeeJson]
    fractional_fees: NotRequired[list[FractionalFeeJson]]
    royalty_fees: NotRequired[list[RoyaltyFeeJson]]


class TokenJson(TypedDict):
    """`expiry_timestamp` is a number of nanoseconds."""

    admin_key: KeyJson | None
    auto_renew_account: EntityId | None
    auto_renew_period: Int64 | None
    created_timestamp: Timestamp | None
    custom_fees: CustomFeesJson
    decimals: DecimalText
    deleted: bool | None
    expiry_timestamp: Int64 | None
    fee_schedule_key: KeyJson | None
    freeze_default: bool
    freeze_key: KeyJson | None
    initial_supply: DecimalText
    kyc_key: KeyJson | None
    max_supply: DecimalText
    memo: str
    metadata: Base64 | None
    metadata_key: KeyJson | None
    modified_timestamp: Timestamp | None
    name: str
    pause_key: KeyJson | None
    pause_status: str
    supply_key: KeyJson | None
    supply_type: str
    symbol: str
    token_id: EntityId | None
    total_supply: DecimalText
    treasury_account_id: EntityId | None
    type: str
    wipe_key: KeyJson | None


def listed_token_json(token: ListedToken) -> ListedTokenJson:
    return {
        "admin_key": key_json(token.admin_key),
        "metadata": _base64(token.metadata),
        "name": token.name,
        "symbol": token.symbol,
        "token_id": entity_id.text(token.token_id),
        "type": token.type,
        "decimals": token.decimals,
    }


def custom_fees_json(fees: Mapping[str, Any]) -> CustomFeesJson:
    answer: CustomFeesJson = {
        "created_timestamp": timestamp.text(fees["since"]),
        "fixed_fees": [_fixed_fee_json(fee) for fee in fees["fixed"] or ()],
    }
    if fees["type"] == _NON_FUNGIBLE:
        return {**answer, "royalty_fees": [_royalty_fee_json(fee) for fee in fees["royalty"] or ()]}
    fractional = [_fractional_fee_json(fee, fees["token_id"]) for fee in fees["fractional"] or ()]
    return {**answer, "fractional_fees": fractional}


def _fixed_fee_json(fee: Mapping[str, Any]) -> FixedFeeJson:
    return {
        "all_collectors_are_exempt": bool(fee.get("all_collectors_are_exempt")),
        "amount": fee.get("amount"),
        "collector_account_id": entity_id.text(fee.get("collector_account_id")),
        "denominating_token_id": entity_id.text(fee.get("denominating_token_id")),
    }


def _fractional_fee_json(fee: Mapping[str, Any], token_id: int) -> FractionalFeeJson:
    return {
        "all_collectors_are_exempt": bool(fee.get("all_collectors_are_exempt")),
        "amount": {"numerator": fee.get("numerator"), "denominator": fee.get("denominator")},
        "collector_account_id": entity_id.text(fee.get("collector_account_id")),
        "denominating_token_id": entity_id.text(token_id),
        "maximum": fee.get("maximum_amount") or None,
        "minimum": fee.get("minimum_amount"),
        "net_of_transfers": bool(fee.get("net_of_transfers")),
    }


def _royalty_fee_json(fee: Mapping[str, Any]) -> RoyaltyFeeJson:
    fallback = fee.get("fallback_fee") or {}
    return {
        "all_collectors_are_exempt": bool(fee.get("all_collectors_are_exempt")),
        "amount": {"denominator": fee.get("denominator"), "numerator": fee.get("numerator")},
        "collector_account_id": entity_id.text(fee.get("collector_account_id")),
        "fallback_fee": {
            "amount": fallback["amount"],
            "denominating_token_id": entity_id.text(fallback.get("denominating_token_id")),
        }
        if fallback.get("amount")
        else None,
    }


def _base64(metadata: bytes | None) -> str:
    return b64encode(metadata or b"").decode()


TOKEN = Record(
    TokenJson,
    of="t",
    admin_key="e.key",
    auto_renew_account="e.auto_renew_account_id",
    auto_renew_period="e.auto_renew_period",
    custom_fees="""json_build_object(
        'since', f.since, 'fixed', f.fixed_fees, 'fractional', f.fractional_fees, 'royalty', f.royalty_fees,
        'type', t.type, 'token_id', t.token_id
    )""",
    deleted="e.deleted",
    expiry_timestamp="array[e.expiration_timestamp, t.created_timestamp, e.auto_renew_period]",
    memo="e.memo",
    modified_timestamp="greatest(t.since, e.since)",
    pause_status="t.pause_status::text",
    supply_type="t.supply_type::text",
    type="t.type::text",
    written={"custom_fees": custom_fees_json, "expiry_timestamp": timestamp.expiry, "metadata": _base64},
)


TokensJson = page_type("Tokens", tokens=ListedTokenJson)


# VIEWS
class Tokens(ReadView):
    """List tokens.

    By a part of the name, by type, by a key, or those of an account.
    """

    parameters, max_age, answers = TokenParameters, 10, TokensJson
    paging = {"token.id": "token_id"}

    def read(self, parameters: TokenParameters) -> Response | Answer:
        tokens, continue_at = tokens_of(parameters, self.query)
        rows = [listed_token_json(token) for token in tokens]
        if parameters.name:
            return {"tokens": rows, "links": {"next": None}}
        return self.page("tokens", rows, after=entity_id.bound(continue_at))

    def narrowed_by(self) -> str:
        parameters: TokenParameters = self.request.parameters  # type: ignore[attr-defined]
        return "name" if parameters.name else super().narrowed_by()


class Token(OfToken):
    """Get a token with its supply, keys and custom fees.

    With `timestamp` as it was at that time. Amounts are in its smallest unit.
    """

    parameters, max_age, answers = TokenAtParameters, 5, TokenJson

    def read(self, parameters: TokenAtParameters, token_id: int) -> TokenJson:
        until = None
        if parameters.timestamp:
            operator, at = parameters.timestamp[-1]
            until = Comparison("lt" if operator == "lt" else "lte", at)
        row = not_loaded.found(queries.token(TOKEN.columns, token_id, until))
        return TOKEN.json(row)
