from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

import mirror.node.admin.urls  # noqa: F401  Registers the tables, which a node does with the first request.
from contracts.models import ContractResult, ContractTransactionHash
from ledger.models import Entity
from tests.build import SECOND, START, Build
from tests.mirror.core.admin.rows import row
from tokens.models import Nft, Token

DIGEST = bytes(range(100, 148))
ALIAS = b"\x08\x42\x10\x84\x21" * 4
AT = START + 5 * SECOND + 7


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: Any) -> None:
    """A hash of a password takes a third of a second by design."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _own_data_folder(settings: Any, tmp_path: Path) -> None:
    """Processes that share a data folder check few passwords at a time, and tests run in several."""
    settings.DATA_DIR = tmp_path


@pytest.fixture
def pages(db: None) -> Client:
    """A browser in which an administrator is signed in."""
    client = Client()
    # Without a password, whose hash takes longer than the test.
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client


@pytest.fixture
def things(build: Build) -> None:
    """One thing of each kind, and one beside it that no text here means."""
    build.transaction(AT, payer=1005, type=11, transaction_hash=DIGEST, valid_start_ns=AT - SECOND)
    build.transaction_hash(AT, DIGEST, payer=1005)
    build.transaction(START)
    build.block(777, end=START + 6 * SECOND, consensus_start=START + SECOND)
    build.block(778, end=START + 9 * SECOND)
    row(Entity, id=1234, type="TOPIC", evm_address=b"\xaa" * 20, alias=ALIAS, public_key="cc" * 33)
    row(Entity, id=1235, type="FILE", evm_address=None, alias=None, public_key=None)
    row(Entity, id=1236, type="FILE", evm_address=None, alias=None, public_key="dd" * 32)
    row(Nft, token_id=5005, serial_number=7)
    row(Token, token_id=5005, name="50% Potato", symbol="PTT")
    row(Token, token_id=5006, name="5000 Carrots", symbol="CRT")
    row(ContractResult, consensus_timestamp=AT)
    row(ContractTransactionHash, consensus_timestamp=AT, hash=b"\x0f" * 32)
