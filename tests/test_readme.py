"""The README says what is true."""

import json
import re
from pathlib import Path

import pytest
from django.test import Client

from ledger.ingest.pipeline import Pipeline
from ledger.stream.source import find_record_files
from mirror import demo

pytestmark = pytest.mark.django_db(transaction=True)

README = Path(__file__).resolve().parents[1] / "README.md"
ANSWERS = re.findall(
    r"^    \$ curl -s 'http://127\.0\.0\.1:8000(\S+)'\n((?:    .+\n)+)", README.read_text(), re.M
)


@pytest.fixture
def demo_network(ledger_tables, tmp_path):
    demo.write(tmp_path / "demo-stream")
    Pipeline().run(find_record_files([tmp_path / "demo-stream"]))


def test_the_answers_shown_are_those_of_the_demo_network(demo_network, client: Client):
    assert len(ANSWERS) == 3
    for path, answer in ANSWERS:
        assert client.get(path).json() == json.loads(answer), path


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(([^)]+)\)", README.read_text()):
        assert (README.parent / target).is_file(), target
