"""A flipped bit anywhere in a block, or in what proves it, is refused or changes nothing.

`MIRROR_TEST_FLIPS=1000` flips so many of each kind.
"""

import os
import random

import pytest

from tests.ledger.stream.block.faults import Outcome, Subject, subjects

FLIPS = int(os.environ.get("MIRROR_TEST_FLIPS", "12"))
# Signatures of a record file do not cover the block around it, and keys have parts that are not used.
MAY_BE_MOOT = ("wrapped record file of format", "publication of", "published key")


@pytest.fixture(scope="module")
def found() -> dict[str, Subject]:
    return {each.kind: each for each in subjects()}


@pytest.mark.parametrize(
    "kind",
    [
        "native block, threshold signature",
        "native block, as it is stored",
        "native block, signature of a later one",
        "first block with the publication",
        "wrapped record file of format 2",
        "wrapped record file of format 5",
        "wrapped record file of format 6",
        "wrapped record file, threshold signature",
        "Schnorr signature of simulated nodes",
        "published schnorr signature",
        "published wraps signature",
        "published key of WRAPS proofs",
        "publication of a ledger id",
        "verification key",
    ],
)
def test_a_flipped_bit_is_refused_or_changes_nothing(found: dict[str, Subject], kind: str):
    if kind.startswith("published") and kind not in found:
        pytest.skip("the published signatures are not there")
    subject, choose = found[kind], random.Random(kind)

    outcomes = {subject.flipped(choose.randrange(8 * len(subject.data))) for _ in range(FLIPS)}

    assert Outcome.REFUSED in outcomes
    if not kind.startswith(MAY_BE_MOOT):
        assert outcomes == {Outcome.REFUSED}
