"""The README and the tour are true."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client, override_settings

from mirror.core.rest.schema.description import document
from mirror.demo.publish import run
from tests.conftest import empty_tables
from tests.tour import Stop, content_type, part, stops
from web3sim.processes import pool

ROOT = Path(__file__).resolve().parents[1]
README, TOUR = ROOT / "README.md", ROOT / "mirror/docs/tour.md"


@pytest.fixture(scope="module")
def demo_network(_test_database, django_db_blocker, tmp_path_factory) -> Iterator[None]:
    """The demo as `up` loads it; nothing of it is changed."""
    with django_db_blocker.unblock(), override_settings(DATA_DIR=tmp_path_factory.mktemp("node")):
        run.load(print)
        yield
        # The processes that simulate calls are connected to the database that is dropped next.
        pool.stop()
        empty_tables()


def ask(stop: Stop) -> Any:
    client = Client()
    if stop.body:
        answer = client.post(stop.path, stop.body, content_type=content_type(stop.body))
    else:
        answer = client.get(stop.path)
    assert answer.status_code == 200, (stop.path, answer.content)
    return answer.json()


@pytest.mark.parametrize("stop", stops(TOUR.read_text()), ids=lambda stop: stop.path)
def test_the_answers_of_the_tour_are_those_of_the_demo_network(demo_network, stop):
    assert stop.shown
    assert part(ask(stop), stop.shown) == stop.shown


@pytest.mark.parametrize("stop", stops(README.read_text()), ids=lambda stop: stop.path)
def test_the_requests_of_the_readme_find_something_in_the_demo_network(demo_network, stop):
    answer = ask(stop)
    assert all(answer[name] != [] for name in answer if f"{name}=false" not in stop.path), answer


def described() -> Iterator[tuple[str, str, Any]]:
    """Yield method, path and body of each request of the API description, with its examples."""
    for path, operations in document()["paths"].items():
        for method, operation in operations.items():
            parts = [each for each in operation.get("parameters", ()) if each["in"] == "path"]
            filled = path.format_map({part["name"]: part["example"] for part in parts})
            contents = operation.get("requestBody", {"content": {"": {}}})["content"]
            for media_type, content in contents.items():
                for example in content.get("examples", {"": {"value": None}}).values():
                    yield method, filled, (media_type, example["value"])


# Nobody is paid a reward in the demo network.
EMPTY = {"/api/v1/accounts/0.0.1001/rewards"}


def test_the_examples_of_the_description_find_something_in_the_demo_network(demo_network, all_endpoints):
    for method, path, (media_type, value) in described():
        content = value if isinstance(value, str) else json.dumps(value)
        answer = Client().generic(method.upper(), path, content, content_type=media_type)
        assert answer.status_code == 200, (path, answer.content)
        body = json.loads(b"".join(answer) if answer.streaming else answer.content)
        lists = [value for value in body.values() if isinstance(value, list)]
        assert path in EMPTY or not lists or any(lists), path


def test_the_readme_has_the_requests_of_the_tour():
    assert [stop.path for stop in stops(README.read_text())] == [
        stop.path for stop in stops(TOUR.read_text())
    ]


@pytest.mark.parametrize("page", [README, *TOUR.parent.glob("*.md")], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).is_file(), target
