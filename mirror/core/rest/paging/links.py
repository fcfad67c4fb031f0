"""`links.next`: the request for the rows after this page.

It repeats the request with its paging parameters set to the last row. Links of classic endpoints are not
percent-encoded: clients send them unchanged.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest

from mirror.core import config
from mirror.core.config import reverse_proxies
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import Comparison
from mirror.core.rest.parameters import spring
from mirror.core.rest.parameters.parameter_set import Parameter, ParameterSet, split_last
from mirror.core.rest.parameters.query_string import Texts

_PORT = re.compile(r":[0-9]*\Z")
_RANGE_OPERATORS = ("gt:", "gte:", "lt:", "lte:")


def is_equality(text: str) -> bool:
    """Return whether a parameter's text names one value: it has no operator, or eq."""
    operator, _ = split_last(text)
    return operator == "eq"


def classic_link(parameters: ParameterSet, values: Mapping[str, Any], *, by_value: bool = True) -> str | None:
    """Link to the rows after `values` (parameter name -> value of the last row), for a classic endpoint.

    There is no link when no parameter can move on, nor when the bounds of the request leave nothing; the
    latter only if rows are in the order of their values (`by_value`). A request for one value of a paging
    parameter has it, so its link repeats the request; that for several has the bound if the parameter
    `pages_equal`.
    """
    query: Texts = {name: list(texts) for name, texts in parameters.texts.items()}
    direction = "lt" if parameters.descending else "gt"
    same_direction = (f"{direction}:", f"{direction}e:")
    names = list(values)
    fixed = [any(is_equality(text) for text in parameters.texts.get(name, ())) for name in names]
    if not names or (len(names) > 1 and all(fixed)):
        return None
    for position, name in enumerate(names):
        inclusive = position + 1 < len(names) and not fixed[position + 1]
        bound = f"{direction}{'e' if inclusive else ''}:{values[name]}"
        before = parameters.texts.get(name)
        if before is None:
            query[name] = [bound]
            continue
        cached = [text for text in before if not any(operator in text for operator in same_direction)]
        if len(before) == 1 and not cached:
            del query[name]
            cached.append(bound)
        elif before[0].startswith(_RANGE_OPERATORS) or (
            len(before) > 1 and parameters.by_name[name][1].pages_equal
        ):
            cached.append(bound)
        query[name] = cached
    if by_value and _is_empty(parameters, names[0], query[names[0]]):
        return None
    pairs = "&".join(f"{name}={text}" for name, texts in query.items() for text in texts)
    path = parameters.path.removesuffix("/")
    return f"{path}?{pairs}"


def _is_empty(parameters: ParameterSet, name: str, texts: Sequence[str]) -> bool:
    if len(texts) == 1:
        # One end excludes no other.
        return False
    _, parameter = parameters.by_name[name]
    comparisons = [parameter.comparison(text, split_last) for text in texts]
    return Bounds.combine(found for found in comparisons if found.value is not None).empty


def spring_link(parameters: ParameterSet, values: Mapping[str, Any]) -> str | None:
    """Link to the rows after `values`, for a Spring endpoint: percent-encoded.

    There is no link when the bounds or the values of the request leave nothing. A parameter whose value is
    None only loses its bounds in the direction of the page.
    """
    direction = "lt" if parameters.descending else "gt"
    same_direction = (f"{direction}:", f"{direction}e:")
    query: Texts = {}
    for name, texts in parameters.texts.items():
        cached = texts
        if name in values:
            listed = texts[0].split(",") if len(texts) == 1 else texts
            cached = [text for text in listed if not text.lower().startswith(same_direction)]
        if cached:
            query[name] = cached
    names = [name for name, value in values.items() if value is not None]
    for name, following in zip(names, [*names[1:], None], strict=True):
        _, parameter = parameters.by_name[name]
        if parameter.pages_equal:
            if (
                remaining := _remaining(parameter, query.get(name, ()), values[name], parameters.descending)
            ) is not None:
                if not remaining:
                    return None
                query[name] = remaining
                continue
        elif _has_equality(query.get(name, ())):
            continue
        fixed = following is not None and _has_equality(query.get(following, ()))
        operator = direction if following is None or fixed else f"{direction}e"
        query[name] = [*query.get(name, ()), f"{operator}:{values[name]}"]
    if _is_last_page(parameters, {name: query.get(name, ()) for name in names}):
        return None
    pairs = "&".join(f"{_encoded(name)}={_encoded(text)}" for name, texts in query.items() for text in texts)
    return f"{parameters.path}?{pairs}"


def _remaining(
    parameter: Parameter[Any], texts: Iterable[str], last: int, descending: bool
) -> list[str] | None:
    """Return the texts without values named by eq that are not after the last row; None if eq names none.

    They are empty if no value is left.
    """
    comparisons = {text: parameter.comparison(text, spring.split_first) for text in texts if text.strip()}
    bounds = Bounds.combine(comparisons.values())
    if not bounds.equal:
        return None
    after = {value for value in bounds.equal_within if (value < last if descending else value > last)}
    if not after - bounds.unequal:
        return []
    return [text for text, (operator, value) in comparisons.items() if operator != "eq" or value in after]


def _is_last_page(parameters: ParameterSet, query: Mapping[str, Sequence[str]]) -> bool:
    """Return whether no row can match: bounds exclude each other, and every column before has one value."""
    for name, texts in query.items():
        _, parameter = parameters.by_name[name]
        comparisons = [parameter.comparison(text, spring.split_first) for text in texts if text.strip()]
        if parameter.minimum is not None:
            comparisons.append(Comparison("gte", parameter.minimum))
        bounds = Bounds.combine(comparisons)
        if bounds.equal:
            if len(bounds.equal) > 1:
                return False
        elif bounds.empty:
            return True
        elif bounds.lower is None or bounds.lower != bounds.upper:
            return False
    return False


def _has_equality(texts: Sequence[str]) -> bool:
    """Return whether one of the values is not a bound. A value with ne is not a bound here."""
    return any(text.strip() and not text.lower().startswith(_RANGE_OPERATORS) for text in texts)


def _encoded(text: str) -> str:
    return quote(text, safe="!$'()*,;:@/?~-._")


def base(request: HttpRequest) -> str:
    """Return what stands before the path of a link of a classic endpoint: `https://host:port` if the settings
    say so, and the prefix of a trusted proxy.

    X-Forwarded-Proto and X-Forwarded-Host are trusted from configured proxies. If none is configured, they
    are trusted from any client except in production, as a client could mislead only itself. The port is the
    configured one.
    """
    if not config.value("rest.response.includeHostInLink"):
        return reverse_proxies.prefix(request.META)
    sent = request.META
    if config.value(reverse_proxies.SETTING) or config.value("profile") == "production":
        scheme, host = reverse_proxies.scheme(sent), reverse_proxies.host(sent)
    else:
        scheme = _first(sent.get(reverse_proxies.FORWARDED_PROTO, ""))
        host = _first(sent.get(reverse_proxies.FORWARDED_HOST, ""))
    host = host or sent.get("HTTP_HOST") or sent["SERVER_NAME"]
    prefix = reverse_proxies.prefix(sent)
    return f"{scheme or request.scheme}://{_PORT.sub('', host)}:{config.value('web.port')}{prefix}"


def _first(text: str) -> str:
    return text.partition(",")[0].strip()
