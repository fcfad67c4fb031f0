"""Lists ordered by a pair, over random rows: their pages together have each of the range once, in order."""

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NFTS = ("nfts", "nfts", "token.id", "serialnumber", ("token_id", "serial_number"))
TOKENS = ("allowances/tokens", "allowances", "spender.id", "token.id", ("spender", "token_id"))

few = st.integers(1, 5)
pairs = st.sets(st.tuples(few, few), max_size=15)


@st.composite
def ranges(draw, first, second):
    """Query pieces that classic endpoints accept, and the pairs they let through."""
    lower, upper = draw(st.none() | few), draw(st.none() | few)
    second_lower = draw(st.none() | few) if lower else None
    second_upper = draw(st.none() | few) if upper else None
    pieces = [
        f"{name}={operator}:{value}"
        for name, operator, value in (
            (first, "gte", lower),
            (first, "lte", upper),
            (second, "gte", second_lower),
            (second, "lte", second_upper),
        )
        if value is not None
    ]
    lowest, highest = (lower or 0, second_lower or 0), (upper or 9, second_upper or 9)
    return draw(st.permutations(pieces)), lowest, highest


def number(value):
    return int(str(value).removeprefix("0.0."))


@pytest.mark.parametrize("endpoint", [NFTS, TOKENS], ids=["nfts", "token_allowances"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), rows=pairs, descending=st.booleans(), limit=st.integers(1, 4))
def test_every_pair_is_on_one_page(api, build, endpoint, data, rows, descending, limit):
    path, name, first, second, members = endpoint
    pieces, lowest, highest = data.draw(ranges(first, second))
    with connection.cursor() as cursor:
        cursor.execute("delete from nft; delete from token_allowance")
    for a, b in rows:
        build.nft(a, b, account=1001)
        build.allowance("token", owner=1001, spender=a, token_id=b)

    query = "&".join([f"limit={limit}", f"order={'desc' if descending else 'asc'}", *pieces])
    found = api.pages(f"/api/v1/accounts/1001/{path}?{query}", name)

    expected = sorted((pair for pair in rows if lowest <= pair <= highest), reverse=descending)
    assert [tuple(number(row[member]) for member in members) for row in found] == expected
