"""Every request gets the same answer by the second forms of statements, those for distributed tables."""

import pytest

from tests import cluster
from tests.contract.filled import fill
from tests.contract.test_plans import urls


@pytest.mark.skipif(bool(cluster.URL), reason="a distributed database has the second forms only")
def test_both_forms_of_statements_give_the_same_answers(api, settings_of):
    fill()
    first = {url: api.get(url) for url in urls()}
    settings_of({"db.distributed": True})
    second = {url: api.get(url) for url in first}
    assert [url for url, answer in first.items() if second[url].body != answer.body] == []
    assert {url: answer.status for url, answer in second.items()} == {
        url: answer.status for url, answer in first.items()
    }
