"""Users who sign in by HTTP basic authentication and get pages of a size of their own."""

import base64
import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import caches
from django.core.wsgi import get_wsgi_application

from mirror.core import config
from mirror.core.config.setting import InvalidSetting
from mirror.core.rest import users
from tests.api import Api
from tests.node import Node, manage

BLOCKS = "/api/v1/blocks"
REFUSED = {"_status": {"messages": [{"message": "Invalid credentials"}]}}
ADA = {"username": "ada", "password": "ge:heim", "limit": 3}
BOB = {"username": "bób", "password": "pässword", "limit": 1}


def basic(name, password, scheme="Basic"):
    return f"{scheme} {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


ADAS, BOBS = basic("ada", "ge:heim"), basic("bób", "pässword")


@pytest.fixture(params=[False, True], ids=["not cached", "cached"])
def served(request, settings_of, build):
    """The API with two users, and pages of at most two rows for others."""
    settings_of(
        {
            "rest.users": json.dumps([ADA, BOB]),
            "rest.response.limit.default": 2,
            "rest.response.limit.max": 2,
        }
    )
    for number in range(1, 6):
        build.block(number)
    caches["responses"].clear()
    return Api(cached=request.param)


def rows(answer):
    assert answer.status == 200, answer
    return len(answer.json()["blocks"])


def test_a_user_gets_pages_of_a_size_of_their_own_and_others_the_usual_ones(served):
    for _ in range(2):
        for query, ada, bob, others in (
            ("?limit=5", 3, 1, 2),
            ("?limit=3", 3, 1, 2),
            ("?limit=1", 1, 1, 1),
            ("?limit=5&limit=eq:4", 3, 1, 2),
            ("", 2, 1, 2),
        ):
            assert rows(served.get(BLOCKS + query, authorization=ADAS)) == ada
            assert rows(served.get(BLOCKS + query)) == others
            assert rows(served.get(BLOCKS + query, authorization=BOBS)) == bob


def test_the_pages_of_a_user_follow_each_other(served):
    first = served.get(f"{BLOCKS}?limit=100", authorization=ADAS).json()
    assert first["links"]["next"] == f"{BLOCKS}?limit=100&block.number=lt:3"
    assert rows(served.get(first["links"]["next"], authorization=ADAS)) == 2


@pytest.mark.parametrize(
    "sent",
    [
        basic("ada", "geheim"),
        basic("ada", ""),
        basic("eve", "ge:heim"),
        basic("", ""),
        basic("Ada", "ge:heim"),
        "Basic",
        "basic !",
        f"Basic {base64.b64encode(b'ada').decode()}",
        "Basic YWRh\xff",
    ],
)
@pytest.mark.parametrize("path", [BLOCKS, "/api/v1/nothing", "/api/v1/accounts/zz/nfts?x"])
def test_wrong_credentials_are_refused_even_if_the_answer_is_cached(served, sent, path):
    served.get(path)
    for method in ("GET", "HEAD", "POST"):
        answer = served.request(method, path, authorization=sent)
        assert answer.status == 401
        assert answer.headers["www-authenticate"].startswith("Basic realm=")
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "cache-control" not in answer.headers
    assert served.get(path, authorization=sent).json() == REFUSED
    assert served.get(path, authorization=sent).statements == []


@pytest.mark.parametrize("sent", ["Bearer abc", "Digest username=ada", ""])
def test_another_scheme_names_no_user(served, sent):
    assert rows(served.get(f"{BLOCKS}?limit=5", authorization=sent)) == 2


def test_the_name_of_the_scheme_may_be_in_any_case(served):
    assert rows(served.get(f"{BLOCKS}?limit=5", authorization=basic("ada", "ge:heim", "bAsIc"))) == 3


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/network/stake"),
        ("GET", "/api/v1/accounts/5/hooks?limit=3"),
        ("POST", "/api/v1/contracts/call"),
        ("GET", "/health/liveness"),
        ("OPTIONS", BLOCKS),
    ],
)
def test_spring_endpoints_and_simulations_know_no_users(served, method, path):
    plain = served.request(method, path)
    for sent in (ADAS, basic("eve", "x")):
        answer = served.request(method, path, authorization=sent)
        assert (answer.status, answer.body) == (plain.status, plain.body)


def test_shared_caches_keep_the_answers_of_users_apart(served):
    for sent in ({}, {"authorization": ADAS}):
        assert served.get(BLOCKS, **sent).headers["vary"] == "Accept-Encoding, Authorization"


def test_without_users_credentials_mean_nothing(api, build):
    build.block(1)
    answer = api.get(BLOCKS, authorization=ADAS)
    assert (rows(answer), answer.headers["vary"]) == (1, "Accept-Encoding")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x", "no JSON list"),
        ("{}", "no JSON list"),
        ("[1]", "entry 1 needs username, password and limit"),
        (json.dumps([ADA, {"username": "x", "password": "y"}]), "entry 2 needs"),
        (json.dumps([ADA | {"role": 1}]), "entry 1 needs"),
        (json.dumps([ADA, BOB, ADA | {"limit": 5}]), "two users are called ada"),
        (json.dumps([ADA | {"limit": 0}]), "limit of the user ada must be a whole number of at least 1"),
        (json.dumps([ADA | {"limit": -5}]), "limit of the user ada"),
        (json.dumps([ADA | {"limit": True}]), "limit of the user ada"),
        (json.dumps([ADA | {"limit": "9"}]), "limit of the user ada"),
        (json.dumps([ADA | {"username": ""}]), "username of entry 1"),
        (json.dumps([ADA | {"username": "a:b"}]), "username of entry 1"),
        (json.dumps([ADA | {"password": 5}]), "password of the user ada"),
        (json.dumps([ADA | {"password": ""}]), "password of the user ada"),
    ],
)
def test_users_that_make_no_sense_stop_the_start_with_a_sentence(settings_of, text, problem):
    settings_of({"rest.users": text})
    with pytest.raises(InvalidSetting, match=problem) as raised:
        users.configured()
    assert str(raised.value).startswith("SVC_MIRROR_REST_USERS can't be used: ")
    assert "heim" not in str(raised.value)
    with pytest.raises(InvalidSetting):
        get_wsgi_application()


def test_users_that_make_no_sense_stop_the_web_server(data_folder):
    done = manage(
        "serve",
        PORT=str(Node(data_folder).port),
        SVC_MIRROR_DATA=str(data_folder),
        SVC_MIRROR_REST_USERS=json.dumps([ADA, ADA]),
    )
    sentence = "SVC_MIRROR_REST_USERS can't be used: two users are called ada."
    assert (done.returncode, done.stderr.strip()) == (2, sentence)


def test_the_user_of_the_guide_signs_in(settings_of):
    guide = Path(settings.BASE_DIR, "mirror", "docs", "operate.md").read_text()
    (shown,) = re.findall(r"SVC_MIRROR_REST_USERS='(.*?)'", guide)
    settings_of({"rest.users": shown})
    found = users.configured()
    assert found is not None
    user = found.find(basic("explorer", "a long one"))
    assert user is not None and user.limit == 1000


def test_the_users_are_secret_where_settings_are_printed():
    assert config.lookup("rest.users").secret
