"""Unknown query parameters of the newer endpoints: named in a header, or refused."""

import pytest

from mirror.core.rest.views import SpringReadView
from mirror.urls import VIEWS
from tests.api import Api

PENDING = "/api/v1/accounts/1001/airdrops/pending"
WARNING = '199 - "Unknown query parameter: tokenid"'
#: The newer endpoints; contracts/call takes no query.
NEWER = [path for path, view in VIEWS.items() if issubclass(view, SpringReadView) and "get" in view.actions]
VALUES = {
    "{id}": "1001",
    "{ownerId}": "1001",
    "{hookId}": "1",
    "{topicId}": "1001",
    "{transactionIdOrHash}": "ab" * 32,
}


def url_of(path: str) -> str:
    for part, value in VALUES.items():
        path = path.replace(part, value)
    assert "{" not in path
    return f"/api/v1/{path}"


@pytest.mark.parametrize("path", NEWER)
def test_a_newer_endpoint_names_unknown_parameters_in_a_header(api, build, path):
    build.entity(1001)
    known, unknown = (api.get(f"{url_of(path)}{query}") for query in ("", "?tokenid=0.0.1"))
    assert (unknown.status, unknown.body) == (known.status, known.body)
    assert ("warning" in known.headers, unknown.headers["warning"]) == (False, WARNING)
    assert "Warning" in unknown.headers["access-control-expose-headers"]


@pytest.mark.parametrize("path", NEWER)
def test_a_strict_node_refuses_unknown_parameters(api, build, settings_of, path):
    build.entity(1001)
    settings_of({"rest.strictParameters": True})
    answer = api.get(f"{url_of(path)}?xyz=0.0.1")
    assert answer.status == 400
    (problem,) = answer.json()["_status"]["messages"]
    assert problem["detail"] == "Unknown query parameter: xyz"
    assert api.get(url_of(path)).status != 400


@pytest.mark.parametrize(
    ("query", "details"),
    [
        ("tokenid=0.0.1", ["Unknown query parameter: tokenid. The nearest one is token.id"]),
        ("Token.ID=0.0.1", ["Unknown query parameter: Token.ID. The nearest one is token.id"]),
        ("serial=1&limit=x&foo=1", [
            "Unknown query parameter: serial. The nearest one is serialnumber",
            "Unknown query parameter: foo",
        ]),
        ("limti=1", ["Unknown query parameter: limti. The nearest one is limit"]),
    ],
)  # fmt: skip
def test_a_refusal_has_the_nearest_name(api, build, settings_of, query, details):
    build.entity(1001)
    settings_of({"rest.strictParameters": True})
    answer = api.get(f"{PENDING}?{query}")
    assert [problem["detail"] for problem in answer.json()["_status"]["messages"]] == details


@pytest.mark.parametrize(
    ("query", "warning"),
    [
        ("a=1&a=2&b=", '199 - "Unknown query parameter: a", 199 - "Unknown query parameter: b"'),
        ("limit=5&order=asc", None),
        ("%22%5C%0D%0A%25=1", '199 - "Unknown query parameter: %22%5C%0D%0A%25"'),
        ("%C3%A9=1", '199 - "Unknown query parameter: %C3%A9"'),
        ("a" * 500, f'199 - "Unknown query parameter: {"a" * 100}"'),
        (
            "&".join(f"p{number}" for number in range(50)),
            ", ".join(f'199 - "Unknown query parameter: p{number}"' for number in range(10)),
        ),
    ],
    ids=["two", "none", "quotes", "other letters", "long", "many"],
)
def test_a_header_names_parameters_whatever_they_are_called(api, build, query, warning):
    build.entity(1001)
    answer = api.get(f"{PENDING}?{query}")
    assert (answer.status, answer.headers.get("warning")) == (200, warning)


def test_a_cached_answer_has_the_header(build):
    build.entity(1001)
    cached = Api(cached=True, budgeted=False)
    first, second = (cached.get(f"{PENDING}?tokenid=0.0.1") for _ in range(2))
    assert first.headers["warning"] == second.headers["warning"] == WARNING
    unchanged = cached.get(f"{PENDING}?tokenid=0.0.1", if_none_match=first.headers["etag"])
    assert (unchanged.status, unchanged.headers["warning"]) == (304, WARNING)
    assert "warning" not in cached.get(PENDING).headers


def test_an_estimate_names_them_too(api, build, settings_of):
    transaction = b'*4\n22\nAn accountZ$\n"\x12 0123456789abcdef0123456789abcdef'
    url = "/api/v1/network/fees?mod=state"
    answer = api.request("POST", url, transaction, content_type="application/protobuf")
    assert (answer.status, answer.headers["warning"]) == (200, '199 - "Unknown query parameter: mod"')
    settings_of({"rest.strictParameters": True})
    refused = api.request("POST", url, transaction, content_type="application/protobuf")
    assert refused.status == 400
    assert refused.json()["_status"]["messages"][0]["detail"] == (
        "Unknown query parameter: mod. The nearest one is mode"
    )
