"""The page about state proofs says how to check one, with a program."""

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from django.conf import settings

from ledger.state_proofs.record_file_proofs import compact
from mirror.core.rest.schema import paths
from tests.ledger.state_proofs.files import Published, published

PAGE = Path(settings.BASE_DIR, "mirror", "docs", "state-proofs.md").read_text()


def program() -> dict[str, Any]:
    (text,) = re.findall(r"^( +from base64 import.*?)^   For format 2", PAGE, re.M | re.S)
    names: dict[str, Any] = {}
    exec(dedent(text), names)
    return names


def shown(file: Published) -> dict[str, Any]:
    return {**compact(file.record, file.content, file.proved.consensus_timestamp)}


@pytest.mark.parametrize("version", [5, 6])
def test_its_program_works_out_the_hash_that_nodes_have_signed(version: int) -> None:
    file = published(version)
    assert program()["signed_hash"](shown(file)).hex() == file.record.metadata_hash


def test_its_program_refuses_another_transaction() -> None:
    file, other = published(), published(start=10**18)
    with pytest.raises(ValueError, match="is not in the file"):
        program()["signed_hash"](shown(file) | {"record_stream_object": shown(other)["record_stream_object"]})


def test_its_request_is_one_that_the_demo_network_answers() -> None:
    path = "/api/v1/transactions/{transactionId}/stateproof"
    (shown,) = re.findall(r"curl -s 'http://127\.0\.0\.1:8000(\S+)'", PAGE)
    # The examples of the description are asked of the demo network.
    assert shown == path.format(transactionId=paths.parameter(path, "transactionId")["example"])
