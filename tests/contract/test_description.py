import json
import re
from typing import Any, NotRequired, TypedDict

import jsonschema_rs
import pytest
import yaml
from django.contrib.staticfiles import finders

from mirror.core.rest.schema.description import Generator, switches, to_schema
from mirror.core.rest.schema.description import document as made_document
from mirror.urls import VIEWS
from tests.api import Answer
from tests.contract import description

DOCS = "/api/v1/docs/"


@pytest.fixture
def document(api):
    return api.get(f"{DOCS}openapi.json").json()


def test_every_endpoint_is_described(document):
    endpoints = [f"/api/v1/{path}" for path in VIEWS]
    assert list(document["paths"]) == [path for path in endpoints if path not in switches()]
    assert document["openapi"].startswith("3.")


def test_an_endpoint_that_is_off_by_default_is_described_once_it_is_on(all_endpoints):
    described = made_document()["paths"]["/api/v1/transactions/{transactionId}/stateproof"]["get"]
    assert described["summary"] == "Get a proof that the network has agreed on a transaction"
    assert [parameter["name"] for parameter in described["parameters"]] == [
        "transactionId",
        "nonce",
        "scheduled",
    ]
    assert [*described["responses"]] == ["200", "304", "400", "401", "404", "502", "503"]


def test_requests_before_it_change_nothing_of_the_description(api, build):
    api.get("/api/v1/blocks")
    made = Generator().get_schema(public=True)
    assert [list(operations) for operations in made["paths"].values() if "head" in operations] == []


@pytest.mark.parametrize("path", VIEWS)
def test_every_endpoint_declares_its_answers(path):
    assert VIEWS[path].answers is not None


class Written(TypedDict):
    """Its annotations are strings, as in a compiled module."""

    always: "int"
    sometimes: "NotRequired[int]"


def test_what_may_be_missing_is_not_required_where_annotations_are_strings():
    components: dict[str, Any] = {}
    to_schema(Written, components)
    (schema,) = components.values()
    assert schema["required"] == ["always"]


def test_every_parameter_is_described(document):
    described = {
        path: [parameter["name"] for parameter in operations["get"].get("parameters", ())]
        for path, operations in document["paths"].items()
        if "get" in operations
    }
    assert described["/api/v1/blocks"] == ["block.number", "limit", "order", "timestamp"]
    assert described["/api/v1/blocks/{hashOrNumber}"] == ["hashOrNumber"]
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                assert parameter["description"].endswith("."), parameter
                assert parameter["schema"]["type"]


def test_a_default_is_a_value_that_a_request_may_have(document):
    parameters = [
        parameter
        for operations in document["paths"].values()
        for operation in operations.values()
        for parameter in operation.get("parameters", ())
        if "default" in parameter["schema"]
    ]
    for parameter in parameters:
        jsonschema_rs.validate(parameter["schema"], parameter["schema"]["default"])
    defaults = {parameter["name"]: parameter["schema"]["default"] for parameter in parameters}
    assert (defaults["nonce"], defaults["file.id"]) == (0, "0.0.102")
    assert "q" not in defaults


def test_a_nonce_is_an_int32_from_0_on(all_endpoints):
    described = made_document()["paths"]
    for path in (
        "/api/v1/contracts/results/{transactionIdOrHash}",
        "/api/v1/transactions/{transactionId}/stateproof",
    ):
        parameters = {one["name"]: one["schema"] for one in described[path]["get"]["parameters"]}
        assert parameters["nonce"] == {"type": "integer", "format": "int32", "minimum": 0, "default": 0}


def test_operations_have_ids_and_descriptions(document):
    operations = [one for operations in document["paths"].values() for one in operations.values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    assert all(one["description"].endswith(".") for one in operations)


def test_every_request_has_a_short_summary_that_says_what_it_is_for(document):
    operations = [one for operations in document["paths"].values() for one in operations.values()]
    summaries = {one["summary"] for one in operations}
    assert {"Get a block by its number or hash", "List accounts"} <= summaries
    assert all(8 < len(summary) < 80 and "." not in summary for summary in summaries)
    verbs = {summary.split()[0] for summary in summaries}
    assert verbs == {"List", "Get", "Simulate", "Estimate", "Trace"}


def test_the_tags_are_those_of_the_requests_in_an_order_of_their_own(document):
    used = [one["tags"] for operations in document["paths"].values() for one in operations.values()]
    tags = [tag["name"] for tag in document["tags"]]
    assert {name for names in used for name in names} == set(tags)
    assert (tags[0], tags[-1]) == ("accounts", "network")
    assert all(tag["description"] for tag in document["tags"])


def test_all_forms_of_the_document_say_the_same(api, document):
    for name in ("openapi.yml", "openapi.yaml"):
        answer = api.get(f"{DOCS}{name}")
        assert answer.headers["content-type"] == "text/yaml; charset=utf-8"
        assert yaml.safe_load(answer.body) == document


def test_the_document_is_made_once_and_may_be_kept(api):
    first = api.get(f"{DOCS}openapi.json")
    assert first.headers["content-type"] == "application/json; charset=utf-8"
    assert first.headers["cache-control"] == "public, max-age=60"
    assert first.statements == []
    assert api.get(f"{DOCS}openapi.json", if_none_match=first.headers["etag"]).status == 304


@pytest.mark.parametrize("name", ["openapi.json", "openapi.yml", "openapi.yaml"])
def test_the_document_takes_no_parameters_and_no_other_method(api, name):
    answer = api.get(f"{DOCS}{name}?x=1")
    assert (answer.status, answer.messages) == (400, ["Unknown query parameter: x"])
    answer = api.request("POST", f"{DOCS}{name}")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert answer.headers["content-type"] == "application/json; charset=utf-8"


def test_the_page_loads_nothing_from_elsewhere(api):
    answer = api.get(DOCS)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "unsafe" not in answer.headers["content-security-policy"]
    page = answer.body.decode()
    assert "//" not in page
    loaded = [re.split(r'[?"]', part)[0] for part in page.split('="/static/')[1:]]
    assert loaded == ["mirror/pages.css", "mirror/api.js", "mirror/docs.js"]
    assert all(finders.find(path) for path in loaded)


def test_the_page_shows_every_request_with_its_parameters(api, document):
    page = api.get(DOCS).body.decode()
    for operations in document["paths"].values():
        for operation in operations.values():
            _, _, after = page.partition(f'id="{operation["operationId"]}"')
            shown = after.partition("</details>")[0]
            assert operation["summary"] in shown
            names = {parameter["name"] for parameter in operation.get("parameters", ())}
            assert set(re.findall(r' name="([^"]+)"', shown)) == names
            assert all(f"<b>{status}</b>" in shown for status in operation["responses"])


def test_the_page_without_slash_leads_to_it(api):
    answer = api.get(DOCS.removesuffix("/"))
    assert (answer.status, answer.headers["location"]) == (301, DOCS)


@pytest.mark.parametrize(
    ("route", "path"),
    [
        ("topics/{id}", "topics/%C2%84"),
        ("accounts/{ownerId}/hooks", "accounts/%C2%84/hooks"),
        ("accounts/{ownerId}/hooks/{hookId}/storage", "accounts/%C2%84/hooks/1/storage"),
        ("accounts/{id}/allowances/nfts", "accounts/0.0.0.1/allowances/nfts"),
        ("accounts/{id}/airdrops/pending", "accounts/x/airdrops/pending"),
        ("topics/{id}", "topics/7"),
        ("contracts/results/{transactionIdOrHash}/opcodes", "contracts/results/1%2F2/opcodes"),
        ("contracts/results/{transactionIdOrHash}/opcodes", f"contracts/results/{'0' * 64}/opcodes"),
    ],
)
def test_the_404_of_a_path_that_is_none_is_described_too(api, route, path):
    answer = api.get(f"/api/v1/{path}")
    assert answer.status == 404
    description.check(route, "GET", path, answer)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"number": "7"}, "number: "),
        ({"hash": None}, "hash: "),
        ({"unknown": 1}, "unknown"),
        ({"size": ...}, "size"),
    ],
    ids=str,
)
def test_an_answer_that_is_not_as_described_is_found(api, build, changes, problem):
    build.block(7)
    block = api.get("/api/v1/blocks/7").json() | changes
    block = {name: value for name, value in block.items() if value is not ...}
    answer = Answer(200, {"content-type": "application/json"}, json.dumps(block).encode(), [])
    with pytest.raises(AssertionError, match=problem):
        description.check("blocks/{hashOrNumber}", "GET", "blocks/7", answer)


def test_numbers_in_paths_are_integers(document):
    described = {
        each["name"]: (each["schema"], each["example"])
        for operations in document["paths"].values()
        for operation in operations.values()
        for each in operation.get("parameters", ())
        if each["in"] == "path" and each["schema"]["type"] == "integer"
    }
    number = {"type": "integer", "format": "int64"}
    assert described == {
        "hookId": (number | {"minimum": 0}, 1),
        "sequenceNumber": (number | {"minimum": 1}, 1),
        "serialNumber": (number | {"minimum": 1}, 1),
    }


_HEX_ADDRESS = "ab" * 20


@pytest.mark.parametrize(
    ("path", "name", "values"),
    [
        ("transactions/{transactionIdOrHash}", "transactionIdOrHash", ["+/" * 32, "-_" * 32, "ab" * 48]),
        (
            "accounts/{idOrAliasOrEvmAddress}",
            "idOrAliasOrEvmAddress",
            ["GEYTAMI", "0.GEYTAMI", "0.0.GEYTAMI", f"0.0.{_HEX_ADDRESS}", f"0x{_HEX_ADDRESS}", _HEX_ADDRESS],
        ),
        ("contracts/{contractIdOrAddress}", "contractIdOrAddress", [f"0.0.{_HEX_ADDRESS}", "0.0.7", "7"]),
        ("tokens/{tokenId}", "tokenId", [f"0.0.{_HEX_ADDRESS}", f"0x{_HEX_ADDRESS}"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_patterns_of_paths_allow_all_that_is_accepted(api, document, path, name, values):
    (schema,) = (
        each["schema"]
        for each in document["paths"][f"/api/v1/{path}"]["get"]["parameters"]
        if each["name"] == name
    )
    for value in values:
        jsonschema_rs.validate(schema, value)
        answer = api.get(f"/api/v1/{path.replace(f'{{{name}}}', value)}")
        # Unknown, but of the right form; a token's address that nothing bears is no token id.
        assert answer.status in ((400,) if name == "tokenId" else (200, 404)), (value, answer)


def test_a_pattern_allows_nothing_around_what_it_describes(document):
    schemas = [
        schema
        for operations in document["paths"].values()
        for operation in operations.values()
        for each in operation.get("parameters", ())
        for schema in (each["schema"], each["schema"].get("items", {}))
    ]
    # A parameter of any text has a pattern for its operators only.
    patterns = {schema.get("pattern", "^$") for schema in schemas if ".+" not in schema.get("pattern", "")}
    for pattern in patterns:
        for example in ("7", "0.0.7", "0x" + "ab" * 20, "ab" * 32, "ab" * 48, "1.5", "TQ"):
            assert not re.search(pattern, f" {example}!"), pattern
