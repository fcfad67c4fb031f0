"""Kinds of amounts of tokens and of what has a unit: they are shown with it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from mirror.core.admin.kinds.base import Json, Kind, link_html
from mirror.core.admin.kinds.numbers import Entity, Hbar, Number, decimal

Units = Mapping[int, tuple[int, str]]
"""Id of a token -> its decimals and its symbol."""

_HBAR, _ACCOUNT, _TOKEN = Hbar(), Entity(), Entity("tokens_token")


def read_units(rows: Sequence[Any], kinds: Mapping[str, Kind]) -> None:
    """Give rows the `token_units` of their amounts: one statement for all of them. `kinds` are by column."""
    counted = {name: kind for name, kind in kinds.items() if kind.counts_tokens}
    ids = {id_ for row in rows for name, kind in counted.items() for id_ in kind.token_ids(row, name) if id_}
    if ids:
        tokens: Any = apps.get_model("tokens", "Token")._default_manager
        # Index: the primary key (token_id).
        found = tokens.filter(token_id__in=ids).values_list("token_id", "decimals", "symbol")[: len(ids)]
        units = {id_: (decimals, symbol) for id_, decimals, symbol in found}
        for row in rows:
            row.token_units = units


class TokenAmount(Number):
    """An amount of the token in the column `token_id`, or of hbar where there is none."""

    counts_tokens = True

    def __init__(self, token_id: int | None = None, units: Units | None = None) -> None:
        self._token_id, self._units = token_id, units

    def token_ids(self, row: Any, column: str) -> Iterable[int]:
        return (row.token_id,)

    def of(self, row: Any) -> Kind:
        return TokenAmount(row.token_id, getattr(row, "token_units", {}))

    def html(self, value: int, full: bool) -> str:
        if self._units is None:
            return super().html(value, full)
        return amount_html(value, self._token_id, self._units, full)


def amount_html(value: int, token_id: int | None, units: Units, full: bool = False) -> str:
    if not token_id:
        return _HBAR.html(value, full)
    smallest = f"{value:,} of the smallest unit"
    if token_id not in units:
        return format_html('<span class="amount" title="{}">{}</span>', smallest, f"{value:,}")
    decimals, symbol = units[token_id]
    small = format_html("<small>{}</small>", smallest) if full and decimals else ""
    html = '<span class="amount" title="{}">{} <bdi>{}</bdi></span>{}'
    return format_html(html, smallest, decimal(value, decimals), symbol, small)


class CustomFees(Json):
    """Custom fees: each a line that names amount, collector and conditions."""

    counts_tokens = True

    def __init__(self, entity_id: int | None = None, units: Units | None = None) -> None:
        self._entity_id, self._units = entity_id, units or {}

    def token_ids(self, row: Any, column: str) -> Iterable[int]:
        fees = getattr(row, column) or ()
        terms = (fee.get("fallback_fee") or fee for fee in fees)
        return (row.entity_id, *(each.get("denominating_token_id") or 0 for each in terms))

    def of(self, row: Any) -> Kind:
        return CustomFees(row.entity_id, getattr(row, "token_units", {}))

    def html(self, value: Any, full: bool) -> str:
        try:
            return format_html_join(SafeString("<br>"), "{}", [(self._fee(fee),) for fee in value])
        except (KeyError, TypeError, ValueError):
            return super().html(value, full)

    def _fee(self, fee: dict[str, Any]) -> str:
        parts = [self._charge(fee)]
        for name, words in (("minimum_amount", "at least"), ("maximum_amount", "at most")):
            if amount := fee.get(name):
                parts.append(format_html("{} {}", words, amount_html(amount, self._entity_id, self._units)))
        if fallback := fee.get("fallback_fee"):
            parts.append(format_html("or {} without a payment", self._charge(fallback)))
        if collector := fee.get("collector_account_id"):
            parts.append(format_html("to {}", link_html(_ACCOUNT, collector, False)))
        parts += ["net of transfers"] if fee.get("net_of_transfers") else []
        parts += ["collectors are exempt"] if fee.get("all_collectors_are_exempt") else []
        return format_html_join(", ", "{}", ((part,) for part in parts))

    def _charge(self, terms: dict[str, Any]) -> str:
        if "numerator" in terms:
            return f"{terms['numerator']:,} of {terms['denominator']:,}"
        token_id = terms.get("denominating_token_id")
        amount = amount_html(terms["amount"], token_id, self._units)
        if token_id in self._units or not token_id:
            return amount
        return format_html("{} of {}", amount, link_html(_TOKEN, token_id, False))


class Named(Kind):
    """A kind of which some values have a name, such as 0 for infinite."""

    def __init__(self, kind: Kind, names: Mapping[int, str]) -> None:
        self._kind, self._names = kind, names
        self.example, self.counts_tokens = kind.example, kind.counts_tokens
        self.text, self.json_value, self.href = kind.text, kind.json_value, kind.href  # type: ignore[method-assign]
        self.token_ids = kind.token_ids  # type: ignore[method-assign]

    def of(self, row: Any) -> Kind:
        return Named(self._kind.of(row), self._names)

    def html(self, value: int, full: bool) -> str:
        name = self._names.get(value)
        return (
            format_html('<span title="{}">{}</span>', value, name) if name else self._kind.html(value, full)
        )


class Length(Number):
    """A length of time: in its largest units, and in its own."""

    def __init__(self, unit: str, seconds: int) -> None:
        self._unit, self._seconds = unit, seconds

    def html(self, value: int, full: bool) -> str:
        rest, parts = value * self._seconds, []
        for unit, length in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
            count, rest = divmod(rest, length)
            parts += [f"{count:,} {unit}"] if count else []
        own = f"{value:,} {self._unit}"
        small = format_html("<small>{}</small>", own) if full and value > 0 else ""
        shown = " ".join(parts) if value > 0 else own
        return format_html('<span class="nowrap" title="{}">{}</span>{}', own, shown, small)
