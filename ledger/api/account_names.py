"""The account in the path: `accounts/{idOrAliasOrEvmAddress}` and what is below it.

A number stands for itself, whether or not there is such an account. An alias or an EVM address stands for
the one entity that bears it now.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from ledger.api import not_loaded
from ledger.queries import entities
from mirror.core.db.reading.sql import Comparison
from mirror.core.rest.answers.errors import NOT_FOUND, BadRequest, InternalError, NotFound
from mirror.core.rest.parameters import classic, spring
from mirror.core.rest.parameters.entity_ids import (
    AccountName,
    Alias,
    EvmAddress,
    read_account,
    read_in_path,
    read_spring_account,
)
from mirror.core.rest.routes import snake_case
from mirror.core.rest.views import JsonObject, ReadView, SpringReadView

_NO_ALIAS = "No account with a matching alias found"
_NO_ACCOUNT = "No account found for the given ID"

#: The paths of Spring endpoints, for `route`: others are unknown routes.
SPRING_ACCOUNT = (
    r"(?:[0-9]+\.){0,2}"
    r"(?:[0-9]+|(?:0x)?[0-9a-fA-F]{40}|(?:[A-Z2-7]{8})*(?:[A-Z2-7]{2}|[A-Z2-7]{4,5}|[A-Z2-7]{7,8}))"
)


def account_id(text: str) -> int:
    """Return the id of the account that a path names. Errors: InvalidParameter; NotFound."""
    name = read_in_path(read_account, text, "idOrAliasOrEvmAddress")
    account_id = find_account(name)
    if account_id is None:
        message = _NO_ALIAS if isinstance(name, Alias) else NOT_FOUND
        raise NotFound(message, detail=not_loaded.entity())
    return account_id


def find_account(name: AccountName) -> int | None:
    """Return the id of the account of that name; None if unknown. Errors: InternalError for several."""
    if isinstance(name, Alias):
        return only(entities.ids_of_alias(name))
    return only(entities.ids_of_evm_address(name)) if isinstance(name, EvmAddress) else name


def spring_account_id(name: AccountName) -> int:
    """Return the same for Spring endpoints. Errors: NotFound."""
    if isinstance(name, int):
        return name
    is_alias = isinstance(name, Alias)
    ids = entities.ids_of_live_alias(name) if is_alias else entities.ids_of_evm_address(name)
    return not_loaded.found(only(ids), _NO_ACCOUNT)


def only(ids: Sequence[int]) -> int | None:
    """Return the only id; None if there is none. Errors: InternalError if there are several."""
    if len(ids) > 1:
        raise InternalError("several entities have this alias or EVM address")
    return ids[0] if ids else None


class NamedAccount(classic.EntityId):
    """An account in a query, by what a path may call it; `found_accounts` looks names up."""

    schema = {"type": "string"}

    def value_of(self, text: str) -> AccountName:
        return read_account(text)


def found_accounts(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with ids; None for an unknown name. Errors: InternalError for several."""
    return [
        Comparison(operator, find_account(name) if operator == "eq" or type(name) is int else None)
        for operator, name in comparisons
    ]


class AccountView(ReadView):
    """A classic endpoint below an account, looked up before the query; `read` gets `account_id`."""

    path_first = True
    #: Whether a number that is no entity's id is not found. Then a page with rows must prove that the entity
    #: exists (`entities.exists_sql`); where there are none, a statement of its own asks.
    must_exist: ClassVar[bool] = False

    _account_id: int | None = None

    def resolve(self, **path: str) -> dict[str, Any]:
        text = path.pop("id_or_alias_or_evm_address")
        self._account_id = account_id(text)
        return {"account_id": self._account_id, **path}

    def answer(self, request: Request, **path: str) -> Response:
        try:
            return super().answer(request, **path)
        except BadRequest:
            self._check_existence()
            raise

    def page(self, name: str, rows: Sequence[JsonObject], **options: Any) -> Response:
        if not rows:
            self._check_existence()
        return super().page(name, rows, **options)

    def _check_existence(self) -> None:
        if self.must_exist and self._account_id is not None and not entities.exists(self._account_id):
            raise NotFound(detail=not_loaded.entity())


class SpringOfAccount(SpringReadView):
    """A Spring endpoint below an account.

    `read` gets the account's name as `account`, and turns it into an id by spring_account_id once everything
    else in the request has proved right.
    """

    #: The path part as errors call it.
    account_part: ClassVar[str] = "id"

    def resolve(self, **path: str) -> dict[str, Any]:
        key = snake_case(self.account_part)
        account = spring.read_in_path(read_spring_account, path.pop(key), self.account_part)
        return {"account": account, **path}
