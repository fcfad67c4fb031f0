"""The query string read as it was sent: names with all their values, in order of first appearance.

Django's QueryDict forgets the order of names and repairs what is broken; both would show in answers and
links.
"""

import re
from urllib.parse import unquote

from mirror.core import config
from mirror.core.rest.answers.errors import BadRequest

MAX_PAIRS = 1000

# A value no parameter accepts: PostgreSQL's text can't hold it either.
UNUSABLE = "\x00"

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_BRACKETS = re.compile(r"([^\[\]]+)\[([^\[\]]*)\](.*)", re.DOTALL)
_LOWER_CASE_VALUES = ("order", "result")

#: Name -> its texts, both as they were sent.
Texts = dict[str, list[str]]


def classic_query(raw: str) -> Texts:
    """Read the query string of a classic endpoint: names, and values of `order` and `result`, in lower case.

    `name[]` and `name[0]` are `name`. A name with any other brackets gets a value that no parameter accepts.
    Errors: BadRequest for a name that is repeated more often than the settings allow.
    """
    texts: Texts = {}
    max_values: int = config.value("rest.query.maxRepeatedQueryParameters")
    for pair in _pairs(raw):
        name, value = _split(pair)
        if "[" in name and (bracketed := _BRACKETS.fullmatch(name)):
            name, index, rest = bracketed.groups()
            is_list = not rest and (not index or (index.isdecimal() and int(index[:9]) <= max_values))
            if not is_list:
                value = UNUSABLE
        if not name:
            continue
        name = name.lower()
        if name in _LOWER_CASE_VALUES:
            value = value.lower()
        texts.setdefault(name, []).append(value)
    if len(raw) > max_values and any(len(values) > max_values for values in texts.values()):
        elements = "element" if max_values == 1 else "elements"
        raise BadRequest(f"Array limit exceeded. Only {max_values} {elements} allowed in an array.")
    return texts


def spring_query(raw: str) -> Texts:
    """Read the query string of a Spring endpoint: names and values as they are."""
    texts: Texts = {}
    for pair in _pairs(raw):
        name, value = _split(pair)
        if name:
            texts.setdefault(name, []).append(value)
    return texts


def _pairs(raw: str) -> list[str]:
    if not raw:
        return []
    if not raw.isascii():
        # A WSGI server hands over bytes as latin-1.
        raw = raw.encode("latin-1", "replace").decode("utf-8", "replace")
    return [pair for pair in raw.split("&", MAX_PAIRS)[:MAX_PAIRS] if pair]


def _split(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    return _decoded(name), _decoded(value)


def _decoded(text: str) -> str:
    """Decode a name or value. Plus is a space; a text with a broken escape stays as it is."""
    text = text.replace("+", " ")
    if "%" not in text or _BROKEN_ESCAPE.search(text):
        return text
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return text
