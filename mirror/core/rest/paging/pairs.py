"""The two paging parameters of a list ordered by a pair, such as a token and a serial number.

The second parameter counts only at the ends of the first one's range. So its bounds need the matching
inclusive bound of the first parameter, or one value of it.
"""

from collections.abc import Collection, Iterable, Sequence

from mirror.core.db.reading.query import NO_PAIRS, Bounds, Ends, PairBounds
from mirror.core.db.reading.sql import Comparison
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.parameters.parameter_set import ParameterSet

_LOWER, _UPPER = ("gt", "gte"), ("lt", "lte")


def classic_pair(
    parameters: ParameterSet,
    first_key: str,
    second_key: str,
    *,
    equal_within_equal: bool = False,
    sent_once: Collection[str] = (),
) -> PairBounds:
    """Return the range of pairs of a classic request; the keys are attributes of `parameters`.

    `equal_within_equal`: one value of the second parameter needs one value of the first.
    `sent_once`: names of other parameters that the request may not repeat.
    Errors: BadRequest, one message.
    """
    keys = {parameters.declared[key].name: key for key in (first_key, second_key)}
    for name, texts in parameters.texts.items():
        if name in keys:
            _check_classic(name, getattr(parameters, keys[name]))
        elif name in sent_once and len(texts) > 1:
            raise BadRequest(f"Only one {name} filter is allowed")
    first_name, second_name = keys
    first: list[Comparison] = getattr(parameters, first_key)
    second: list[Comparison] = getattr(parameters, second_key)
    if equal_within_equal and _has(second, ("eq",)) and not _has(first, ("eq",)):
        raise BadRequest(f"{first_name} must have eq operator")
    for name, comparisons in ((first_name, first), (second_name, second)):
        if _mixes(comparisons):
            raise BadRequest(f"Can't support both range and equal for {name}")
    if second and not first:
        raise BadRequest(f"{second_name} without a {first_name} parameter filter")
    for side, needed in ((_LOWER, "gte"), (_UPPER, "lte")):
        if _has(second, side) and not _has(first, ("eq", needed)):
            raise BadRequest(f"{first_name} must have {needed} or eq operator")
    return _range(first, second)


def _check_classic(name: str, comparisons: Iterable[Comparison]) -> None:
    seen = set()
    for operator, _ in comparisons:
        if operator == "ne":
            raise BadRequest(f"Not equal (ne) operator is not supported for {name}")
        kind = "gt/gte" if operator in _LOWER else "lt/lte" if operator in _UPPER else "equal (eq)"
        if kind in seen:
            raise BadRequest(f"Only one {kind} operator is allowed for {name}")
        seen.add(kind)


def spring_pair(parameters: ParameterSet, first_key: str, second_key: str) -> PairBounds:
    """Return the range of pairs in a request to a Spring endpoint. Errors: BadRequest, one message."""
    first_name, second_name = parameters.declared[first_key].name, parameters.declared[second_key].name
    first: list[Comparison] = getattr(parameters, first_key)
    second: list[Comparison] = getattr(parameters, second_key)
    usable = [comparison for comparison in first if comparison.operator != "ne"]
    check_spring_range(first_name, first)
    if _has(second, ("eq", *_LOWER, *_UPPER)) and not usable:
        raise BadRequest(f"{second_name} parameter must have {first_name} present")
    check_spring_bound(first_name, first)
    check_spring_bound(second_name, second)
    if Bounds.combine(second).empty and not (_has(first, _LOWER) and _has(first, _UPPER)):
        raise BadRequest(f"Invalid range provided for {second_name}")
    for side, needed in ((_UPPER, "lte"), (_LOWER, "gte")):
        if _has(second, side) and not _has(first, ("eq", needed)):
            raise BadRequest(f"Requires the presence of an {needed} or eq {first_name} parameter")
    return _range(first, second)


def check_spring_range(name: str, comparisons: Sequence[Comparison]) -> None:
    """Refuse a lower end above the upper end. An equality is a lower end, and 0 is the default.

    Errors: BadRequest.
    """
    ends = Ends.combine(comparisons).bounds
    if ends.upper is not None and ends.upper < (ends.lower or 0):
        raise BadRequest(f"Invalid range provided for {name}")


def check_spring_bound(name: str, comparisons: Sequence[Comparison]) -> None:
    """Refuse anything but one equality or at most one bound on each side. Errors: BadRequest."""
    if _has(comparisons, ("ne",)):
        raise BadRequest(f"Unsupported range operator ne for {name}")
    for side in (("eq",), _LOWER, _UPPER):
        if sum(operator in side for operator, _ in comparisons) > 1:
            raise BadRequest(
                f"Only one range operator from [{', '.join(side)}] is allowed for the given parameter "
                f"for {name}"
            )
    if _mixes(comparisons):
        raise BadRequest(f"Can't support both range and equal for {name}")


def _has(comparisons: Iterable[Comparison], operators: Sequence[str]) -> bool:
    return any(comparison.operator in operators for comparison in comparisons)


def _mixes(comparisons: Sequence[Comparison]) -> bool:
    return _has(comparisons, ("eq",)) and _has(comparisons, (*_LOWER, *_UPPER))


def _range(first: Sequence[Comparison], second: Sequence[Comparison]) -> PairBounds:
    if any(comparison.value is None for comparison in (*first, *second)):
        return NO_PAIRS
    return PairBounds(Bounds.combine(first), Bounds.combine(second))
