"""Filters of contract calls, from the setting and from the admin."""

import json

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from mirror.core.config.setting import InvalidSetting
from mirror.core.rest.limits.buckets import SharedBuckets
from tests.logs import events
from web3sim.api import filters as request_filters
from web3sim.api.filters import Filters, RequestFilter, apply
from web3sim.api.throttle import Throttled
from web3sim.calls.body import CallBody
from web3sim.models import FIELDS, ContractCallFilter, InvalidCondition, condition, parse_conditions

TO = "0x00000000000000000000000000000000000003E9"
BODY = CallBody(block="Latest", data="0xABcd", sender=TO, gas=30_000, to=TO, value=7)


@pytest.fixture
def still() -> SharedBuckets:
    """Buckets for which no time passes."""
    return SharedBuckets(None, lambda: 1.0)


def configured(settings_of, *filters: dict) -> tuple[RequestFilter, ...]:
    settings_of({"web3.throttle.request": json.dumps(filters)})
    return request_filters.configured()


def refusal(filters, buckets, body: CallBody = BODY) -> str | None:
    try:
        apply(filters, body, buckets)
    except Throttled as refused:
        return str(refused)
    return None


# CONDITIONS


@pytest.mark.parametrize(
    ("field", "kind", "expression", "expected"),
    [
        ("BLOCK", "EQUALS", "LATEST", True),
        ("DATA", "CONTAINS", "bC", True),
        ("DATA", "CONTAINS", "bb", False),
        ("data", "equals", "0xabcd", True),
        ("DATA", "EQUALS", "abcd", False),
        ("ESTIMATE", "EQUALS", "false", True),
        ("FROM", "EQUALS", TO, True),
        ("GAS", "EQUALS", "30000", True),
        ("GAS", "CONTAINS", "00", True),
        ("TO", "EQUALS", TO.lower(), True),
        ("VALUE", "EQUALS", "7", True),
    ],
)
def test_a_condition_looks_at_the_text_of_a_field(field, kind, expression, expected):
    assert condition(field, kind, expression).matches(BODY) is expected


@pytest.mark.parametrize("field", ["DATA", "FROM", "TO"])
def test_a_missing_field_is_null(field):
    assert condition(field, "EQUALS", "null").matches(CallBody())


def test_defaults_are_seen_as_they_count():
    texts = {name: text(CallBody()) for name, text in FIELDS.items()}
    assert (texts["BLOCK"], texts["GAS"], texts["VALUE"], texts["ESTIMATE"]) == (
        *("latest", "15000000", "0", "False"),
    )


def test_conditions_are_written_one_per_line():
    assert parse_conditions(f"TO EQUALS {TO}\n\n  data contains AB cd \n") == (
        condition("TO", "EQUALS", TO),
        condition("DATA", "CONTAINS", "ab cd"),
    )
    assert parse_conditions("") == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("NAME EQUALS x", "“NAME” is no field"),
        ("TO LIKE x", "“LIKE” is no way to compare"),
        ("TO EQUALS", "text to look for is missing"),
        ("TO", "no way to compare"),
    ],
)
def test_a_condition_that_is_none_is_named(text, problem):
    with pytest.raises(InvalidCondition, match=problem):
        parse_conditions(text)


# ACTIONS


def test_no_filter_lets_everything_pass(still, settings_of):
    assert apply(configured(settings_of), BODY, still) is None


def test_a_filter_logs_what_it_matches(still, settings_of, caplog):
    settings_of({"web3.maxPayloadLogSize": 40})
    filters = configured(
        settings_of, {"filters": [{"expression": "abcd"}]}, {"filters": [{"expression": "1234"}]}
    )
    assert apply(filters, BODY, still) is None
    (event,) = events(caplog)
    assert event["filter"] == "setting:0"
    assert event["request"].startswith("block=Latest data=0xABcd") and event["request"].endswith("…")


def test_a_filter_refuses(still, settings_of):
    filters = configured(
        settings_of, {"action": "REJECT", "filters": [{"field": "TO", "type": "EQUALS", "expression": TO}]}
    )
    assert refusal(filters, still) == "Invalid request"
    assert refusal(filters, still, BODY._replace(to=None)) is None


def test_a_filter_without_conditions_matches_everything_and_of_several_one_is_enough(still, settings_of):
    assert refusal(configured(settings_of, {"action": "reject"}), still) == "Invalid request"
    either = [{"expression": "no"}, {"field": "GAS", "expression": "30000"}]
    filters = configured(settings_of, {"action": "REJECT", "filters": either})
    assert refusal(filters, still) == "Invalid request"


def test_a_filter_has_a_bucket_of_its_own(still, settings_of):
    filters = configured(
        settings_of,
        {"action": "THROTTLE", "rate": 2, "filters": [{"field": "TO", "expression": "3e9"}]},
        {"action": "THROTTLE", "rate": 3},
    )
    assert [refusal(filters, still) for _ in range(3)] == [
        *(None, None, "Requests per second rate limit exceeded")
    ]
    # The first refused before the second was asked.
    assert refusal(filters, still, BODY._replace(to=None)) is None
    assert refusal(filters, still, BODY._replace(to=None)) == "Requests per second rate limit exceeded"


def test_a_request_that_a_later_filter_refuses_takes_nothing_of_an_earlier_one(still, settings_of):
    filters = configured(
        settings_of,
        {"action": "THROTTLE", "rate": 3},
        {"action": "THROTTLE", "rate": 1, "filters": [{"field": "TO", "expression": "3e9"}]},
        {"action": "REJECT", "filters": [{"field": "GAS", "expression": "77777"}]},
    )
    assert refusal(filters, still) is None
    assert refusal(filters, still) == "Requests per second rate limit exceeded"
    assert refusal(filters, still, BODY._replace(to=None, gas=77_777)) == "Invalid request"
    assert [refusal(filters, still, BODY._replace(to=None)) for _ in range(3)] == [
        *(None, None, "Requests per second rate limit exceeded")
    ]


@pytest.mark.parametrize(("action", "engine"), [("MODULARIZED", "pyevm-blocks"), ("MONOLITHIC", "pyevm")])
def test_a_filter_chooses_the_engine(still, settings_of, action, engine):
    assert apply(configured(settings_of, {"action": action}), BODY, still) == engine


def test_every_filter_that_matches_acts(still, settings_of, caplog):
    filters = configured(settings_of, {"action": "MONOLITHIC"}, {"action": "LOG"}, {"action": "REJECT"})
    assert refusal(filters, still) == "Invalid request"
    assert [event["event"] for event in events(caplog)] == ["contract_call"]


def test_a_filter_looks_at_so_many_requests_whether_they_match_or_not(still, settings_of):
    filters = configured(
        settings_of, {"action": "REJECT", "limit": 2, "filters": [{"field": "TO", "expression": "3e9"}]}
    )
    assert refusal(filters, still, BODY._replace(to=None)) is None
    assert refusal(filters, still) == "Invalid request"
    assert refusal(filters, still) is None


def test_a_filter_looks_at_a_share_of_the_requests(still, settings_of):
    half = configured(settings_of, {"action": "REJECT", "rate": 50})
    refused = sum(refusal(half, still) is not None for _ in range(1000))
    assert 350 < refused < 650
    assert refusal(configured(settings_of, {"action": "REJECT", "rate": 0}), still) is None
    assert refusal(configured(settings_of, {"action": "THROTTLE", "rate": 0}), still) is None


# SETTING


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "can't be used"),
        ("{}", "must be a JSON list"),
        ("[1]", "must be an object"),
        ('[{"act": 1}]', "“act” is none of"),
        ('[{"action": "DROP"}]', "“DROP” is no action"),
        ('[{"filters": 1}]', "“filters” must be a list"),
        ('[{"filters": [{"field": "X", "expression": "a"}]}]', "“X” is no field"),
        ('[{"filters": [{"type": "X", "expression": "a"}]}]', "“X” is no way"),
        ('[{"filters": [{"expression": " "}]}]', "missing after DATA CONTAINS"),
        ('[{"filters": [{"expressions": "a"}]}]', "“expressions” is none of"),
        ('[{"limit": -1}]', "“limit” must be"),
        ('[{"limit": true}]', "“limit” must be"),
        ('[{"rate": 101}]', "“rate” must be"),
        ('[{"rate": "5"}]', "“rate” must be"),
    ],
)
def test_a_setting_that_is_no_list_of_filters_is_refused(settings_of, text, problem):
    settings_of({"web3.throttle.request": text})
    with pytest.raises(InvalidSetting, match=f"SVC_MIRROR_WEB3_THROTTLE_REQUEST.*{problem}"):
        request_filters.configured()


# ADMIN


@pytest.fixture
def pages(db: None) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client


PAGE = "/admin/web3sim/contractcallfilter/"


def test_a_filter_is_made_changed_and_removed_in_the_admin(pages, still):
    form = {"name": "no loops", "enabled": "on", "action": "REJECT", "conditions": f"TO EQUALS {TO}"}
    made = pages.post(f"{PAGE}add/", form | {"rate": "100", "limit": ""})
    assert made.status_code == 302, made.content.decode()
    assert refusal(Filters().current(), still) == "Invalid request"

    changed = pages.post(f"{PAGE}no loops/change/", form | {"action": "LOG", "rate": "50", "limit": "9"})
    assert changed.status_code == 302
    (found,) = Filters().current()
    assert (found.action, found.rate, found.limit) == ("LOG", 50, 9)

    assert pages.get(PAGE).status_code == 200
    assert pages.post(f"{PAGE}no loops/delete/", {"post": "yes"}).status_code == 302
    assert Filters().current() == ()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"conditions": "NAME EQUALS x"}, "is no field of a request"),
        ({"rate": "101"}, "Choose a number from 0 to 100."),
        ({"limit": "-1"}, "Choose a number from 0 on"),
    ],
    ids=str,
)
def test_invalid_filter_is_not_stored(pages, change, problem):
    form = {"name": "a", "enabled": "on", "action": "REJECT", "conditions": "", "rate": "100", "limit": ""}
    answer = pages.post(f"{PAGE}add/", form | change)
    assert answer.status_code == 200 and problem in answer.content.decode()
    assert not ContractCallFilter.objects.exists()


def test_filters_of_the_setting_come_first_and_disabled_ones_do_not_count(db, settings_of):
    settings_of({"web3.throttle.request": '[{"action": "LOG"}]'})
    ContractCallFilter.objects.create(name="b", action="THROTTLE", rate=5000)
    ContractCallFilter.objects.create(name="a", action="REJECT", conditions="GAS EQUALS 1")
    ContractCallFilter.objects.create(name="c", enabled=False)
    assert [each.action for each in Filters().current()] == ["LOG", "REJECT", "THROTTLE"]


def test_filters_are_reloaded_within_seconds(db, monkeypatch, django_assert_num_queries):
    filters = Filters()
    monkeypatch.setattr(request_filters, "_RELOAD_SECONDS", 1e9)
    with django_assert_num_queries(1):
        assert filters.current() == filters.current() == ()
    ContractCallFilter.objects.create(name="a", action="REJECT")
    assert filters.current() == ()
    monkeypatch.setattr(request_filters, "_RELOAD_SECONDS", 0.0)
    assert len(filters.current()) == 1
