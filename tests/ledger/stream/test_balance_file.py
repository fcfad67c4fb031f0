"""Balance files of all versions: what they state, their signatures, and what is wrong with damaged ones."""

from base64 import b64encode
from fractions import Fraction
from typing import Any

import pytest

from ledger.stream import balance_names
from ledger.stream.balance_file import TOTAL_TINYBARS, read_balance_file
from ledger.stream.errors import StreamFileError
from ledger.stream.record_names import shortest_time
from ledger.stream.signature.address_book import read_address_book
from ledger.stream.signature.quorum import ConsensusMode, NoQuorum, Quorum
from ledger.stream.source.balance_files import find_balance_files
from mirror.core.values.hapi.messages import TokenBalances
from mirror.demo.streams.balance_files import compose_balances
from tests.ledger.stream.fixtures import ROOT, facts, needs_fixtures
from tests.signing import signing_nodes

AT = 1_600_748_700_083_212_003
HOLDINGS = [(2, 5_000, {}), (1001, 7, {2001: 3, 2002: 0}), (1002, 0, {2001: (1 << 63) - 1})]
THIRD = Fraction(1, 3)


def quorum_of(book: Any) -> Quorum:
    return Quorum.from_address_book(book, {}, ConsensusMode.STAKE_IN_ADDRESS_BOOK, THIRD)


@needs_fixtures
@pytest.mark.parametrize("fact", facts("balances"))
def test_recorded_files_have_their_known_hashes_counts_and_sums(fact):
    path = next(path for path in (ROOT / fact["group"]).rglob(fact["name"]) if path.stat().st_size)

    file = read_balance_file(fact["name"], path.read_bytes())
    holdings = list(file.holdings())

    assert file.file_hash == fact["file_hash"]
    assert (
        file.consensus_timestamp == fact["consensus_timestamp"] == balance_names.parse(fact["name"]).instant
    )
    assert len(holdings) == fact["accounts"]
    assert sum(len(each.tokens) for each in holdings) == fact["token_balances"]
    assert sum(each.balance for each in holdings) == fact["sum_tinybars"]
    assert fact["group"] == "balances/proto" or fact["sum_tinybars"] == TOTAL_TINYBARS


@needs_fixtures
@pytest.mark.parametrize("fact", [fact for fact in facts("balances") if fact.values[0]["signature_nodes"]])
def test_recorded_files_are_signed_by_their_nodes(fact):
    (found,) = find_balance_files([ROOT / fact["group"]])
    book = read_address_book("book", (ROOT / fact["address_book"][0]).read_bytes())

    file, signers = found.read(quorum_of(book))

    assert (found.name, signers) == (fact["name"], tuple(fact["signature_nodes"]))
    assert file.file_hash == fact["file_hash"]


def text_file(version: int) -> tuple[str, bytes]:
    """A balance file of one of the versions before protobuf, with its name."""
    time = shortest_time(AT).replace("_", ":")
    head = f"timeStamp:{time}" if version == 1 else f"# version:2\n# TimeStamp:{time}"
    lines = [head, "shardNum,realmNum,accountNum,balance" + (",tokenBalances" if version == 2 else "")]
    for number, balance, tokens in HOLDINGS:
        held = TokenBalances(
            tokenBalances=[
                {"tokenId": {"tokenNum": token}, "balance": units} for token, units in tokens.items()
            ]
        )
        column = f",{b64encode(held.SerializeToString()).decode()}" if version == 2 else ""
        lines.append(f"0,0,{number},{balance}{column}")
    return balance_names.balance_name(AT, balance_names.CSV), "\n".join(lines).encode() + b"\n"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_is_composed_is_read_again(version):
    composed = compose_balances(AT, HOLDINGS)
    name, data = (composed.name, composed.data) if version == 3 else text_file(version)

    file = read_balance_file(name, data)

    assert (file.version, file.consensus_timestamp) == (version, AT)
    expected = [(account, balance, {} if version == 1 else tokens) for account, balance, tokens in HOLDINGS]
    assert [(each.account_id, each.balance, dict(each.tokens)) for each in file.holdings()] == expected


def test_a_file_signed_by_a_quorum_is_read_from_a_node_that_has_it_intact(tmp_path):
    nodes = signing_nodes(3)
    composed = compose_balances(AT, HOLDINGS, nodes=nodes)
    composed.write(tmp_path)
    damaged = tmp_path / "accountBalances" / "balance0.0.3" / composed.name
    damaged.write_bytes(composed.data[:-20])

    (found,) = find_balance_files([tmp_path])
    file, signers = found.read(quorum_of([node.address_book_node for node in nodes]))

    assert (file.consensus_timestamp, signers) == (AT, (0, 1, 2))


def test_a_file_that_too_few_nodes_have_signed_is_refused(tmp_path):
    nodes = signing_nodes(3)
    compose_balances(AT, HOLDINGS, nodes=nodes[:1]).write(tmp_path)
    (found,) = find_balance_files([tmp_path])

    with pytest.raises(NoQuorum, match="signed by 1 of 3 nodes"):
        found.read(quorum_of([node.address_book_node for node in nodes]))


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"hello\n", "byte 6: it does not begin with a time and the names of its columns"),
        (b"timestamp:yesterday\nshardNum\n", 'byte 0: "yesterday" is not a time'),
        (b"timestamp:2020-01-01T00:00:00Z\nshardNum\n0,0,5\n", "byte 40: the line has 3 values"),
        (b"timestamp:2020-01-01T00:00:00Z\nshardNum\n0,0,5,-1\n", "byte 40: .* whole numbers"),
        (b"timestamp:2020-01-01T00:00:00Z\nshardNum\n0,0,5,1,xx\n", "byte 40: the line has 5 values"),
        (b"timestamp:2020-01-01T00:00:00Z\nshardNum\n0,0,5,9223372036854775808\n", "more than 63 bits"),
        (b"timestamp:2020-01-01T00:00:00Z\nshardNum\n0,99999,5,1\n", "byte 40: an impossible id"),
        (b"# version:2\n# TimeStamp:2020-01-01T00:00:00Z\nshardNum\n0,0,5,1,!\n", "tokens can't be read"),
    ],
)
def test_a_text_that_can_not_be_read_says_where_and_what_to_do(content, cause):
    with pytest.raises(StreamFileError, match=f"(?s){cause}.*Fetch it again"):
        list(read_balance_file("2020-01-01T00_00_00Z_Balances.csv", content).holdings())


def test_a_message_that_is_cut_off_or_states_no_time_is_refused():
    composed = compose_balances(AT, HOLDINGS)
    name = "2020-01-01T00_00_00Z_Balances.pb"

    for content, cause in [
        (composed.content[:-1], "can't be parsed"),
        (b"", "empty"),
        (b"\x12\x00", "state its time"),
    ]:
        with pytest.raises(StreamFileError, match=cause):
            list(read_balance_file(name, content).holdings())


@pytest.mark.parametrize(
    ("data", "signature"),
    [
        ("2021-03-10T22_12_56.075092Z_Balances.pb.gz", "2021-03-10T22_12_56.075092Z_Balances.pb_sig.gz"),
        ("2019-08-30T18_15_00.016002001Z_Balances.csv", "2019-08-30T18_15_00.016002001Z_Balances.csv_sig"),
    ],
)
def test_a_file_and_its_signature_name_each_other(data, signature):
    assert (balance_names.signature_name(data), balance_names.data_name(signature)) == (signature, data)
    assert balance_names.is_data(data) and balance_names.is_signature(signature)
    assert not balance_names.is_balance(
        "2021-03-10T22_12_56.075092Z.rcd.gz"
    ) and not balance_names.is_balance("x_Balances.csv")
