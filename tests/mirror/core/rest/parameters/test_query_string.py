import pytest

from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.parameters.query_string import UNUSABLE, classic_query, spring_query


@pytest.mark.parametrize(
    ("raw", "query"),
    [
        ("", {}),
        ("limit=5", {"limit": ["5"]}),
        ("LIMIT=5&limit=6", {"limit": ["5", "6"]}),
        ("b=1&a=2&b=3", {"b": ["1", "3"], "a": ["2"]}),
        ("order=ASC&result=Fail&type=Credit", {"order": ["asc"], "result": ["fail"], "type": ["Credit"]}),
        ("limit", {"limit": [""]}),
        ("a=x=y", {"a": ["x=y"]}),
        ("&&a=1&", {"a": ["1"]}),
        ("=5", {}),
        ("a[]=1&a[]=2", {"a": ["1", "2"]}),
        ("a[0]=1&a%5B20%5D=2", {"a": ["1", "2"]}),
        ("a[21]=1&a[100]=2", {"a": ["1", "2"]}),
        ("a[101]=1", {"a": [UNUSABLE]}),
        ("a[x]=1", {"a": [UNUSABLE]}),
        ("a[][x]=1", {"a": [UNUSABLE]}),
        ("[x]=1", {"[x]": ["1"]}),
        ("n=a+b%2Bc", {"n": ["a b+c"]}),
        ("n=%C3%A9%zz", {"n": ["%C3%A9%zz"]}),
        ("n=%C3%A9", {"n": ["é"]}),
        ("n=%FF", {"n": ["%FF"]}),
        ("n=Ã©", {"n": ["é"]}),
    ],
)
def test_a_classic_query_keeps_order_and_lowers_names(raw, query):
    assert classic_query(raw) == query
    assert list(classic_query(raw)) == list(query)


def test_a_spring_query_keeps_everything_as_it_is():
    assert spring_query("Limit=5&order=ASC&a[]=1") == {"Limit": ["5"], "order": ["ASC"], "a[]": ["1"]}


def test_pairs_beyond_the_thousandth_are_dropped():
    query = classic_query("&".join(f"n{number}=1" for number in range(1100)))
    assert list(query)[-1] == "n999"


@pytest.mark.parametrize("pair", ["a=", "A=1&a=1", "a[]=1", "a[0]=1", "x.y=%20"])
@pytest.mark.parametrize(("most", "elements"), [(100, "100 elements"), (8, "8 elements"), (1, "1 element")])
def test_a_name_may_be_repeated_as_often_as_the_setting_says(settings_of, pair, most, elements):
    settings_of({"rest.query.maxRepeatedQueryParameters": most})
    pairs = "&".join([pair] * most).split("&")[:most]
    ((_, texts),) = classic_query("&".join(pairs)).items()
    assert len(texts) == most
    with pytest.raises(BadRequest) as refused:
        classic_query("&".join([*pairs, pair]))
    assert str(refused.value) == f"Array limit exceeded. Only {elements} allowed in an array."
