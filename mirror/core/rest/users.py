"""Users of the API: clients that sign in by HTTP basic authentication, and get pages of a size of their own.

Users come from the setting `rest.users`. They concern classic endpoints alone: Spring endpoints and
simulations ignore credentials. A request without credentials is anonymous.
"""

import base64
import binascii
import hashlib
import hmac
import json
from functools import lru_cache
from typing import Any, NamedTuple

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from mirror.core import config
from mirror.core.config.setting import InvalidSetting

SETTING = "rest.users"

_MEMBERS = {"limit", "password", "username"}


class User(NamedTuple):
    """A user; `password` is a digest, `limit` the most rows of a page."""

    password: bytes
    limit: int
    is_authenticated: bool = True


# A password to compare with if no user has the name, so that this takes as long.
_NOBODY = User(hashlib.sha256(b"").digest(), 0)


class Users:
    def __init__(self, by_name: dict[bytes, User]) -> None:
        self._by_name = by_name

    def find(self, authorization: str) -> User | None:
        """Return the user of an Authorization header; None for another scheme than basic authentication.

        Neither a wrong name nor a wrong password is refused faster than another.
        Errors: AuthenticationFailed.
        """
        scheme, _, credentials = authorization.strip().partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            name, colon, password = base64.b64decode(credentials.strip(), validate=True).partition(b":")
        except (binascii.Error, ValueError):
            raise AuthenticationFailed from None
        user = self._by_name.get(name, _NOBODY)
        is_right = hmac.compare_digest(user.password, hashlib.sha256(password).digest())
        if not is_right or user is _NOBODY or not colon:
            raise AuthenticationFailed
        return user


class UserAuthentication(BaseAuthentication):
    """Authenticates the users of the setting. A request without credentials is anonymous."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        authorization = request.META.get("HTTP_AUTHORIZATION")
        if authorization is None or (users := configured()) is None:
            return None
        user = users.find(authorization)
        return None if user is None else (user, None)

    def authenticate_header(self, request: Request) -> str:
        return 'Basic realm="REST API", charset="UTF-8"'


def most_rows(request: Request) -> int | None:
    """Return the most rows of a page for the user of a request; None for an anonymous one."""
    user: Any = request.user
    return None if user is None else user.limit


def configured() -> Users | None:
    """Return the users of the setting; None if it names none. Errors: InvalidSetting."""
    return _parsed(config.value(SETTING))


@lru_cache(maxsize=1)
def _parsed(text: str) -> Users | None:
    try:
        listed = json.loads(text)
    except ValueError:
        raise _invalid("it is no JSON list") from None
    if not isinstance(listed, list):
        raise _invalid("it is no JSON list")
    users: dict[bytes, User] = {}
    for position, entry in enumerate(listed, 1):
        name, user = _user(entry, position)
        if name in users:
            raise _invalid(f"two users are called {name.decode()}")
        users[name] = user
    return Users(users) if users else None


def _user(entry: Any, position: int) -> tuple[bytes, User]:
    if not isinstance(entry, dict) or entry.keys() != _MEMBERS:
        raise _invalid(f"entry {position} needs username, password and limit, and nothing else")
    name, password, limit = entry["username"], entry["password"], entry["limit"]
    if not isinstance(name, str) or not name or ":" in name:
        raise _invalid(f"the username of entry {position} must be text, without a colon")
    if not isinstance(password, str) or not password:
        raise _invalid(f"the password of the user {name} must be text")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise _invalid(f"the limit of the user {name} must be a whole number of at least 1")
    return name.encode(), User(hashlib.sha256(password.encode()).digest(), limit)


def _invalid(problem: str) -> InvalidSetting:
    return InvalidSetting(f"{config.lookup(SETTING).variable} can't be used: {problem}.")
