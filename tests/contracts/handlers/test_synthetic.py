"""Logs of token transfers and approvals that no contract made."""

from typing import Any

import pytest
from django.db import connection

from contracts.handlers.synthetic import APPROVAL, APPROVAL_FOR_ALL, TRANSFER
from ledger.ingest.rows.lookups import EvmAddresses
from mirror.core.values import entity_id, log_bloom
from mirror.core.values.hapi.messages import CryptoCreateTransactionBody
from mirror.demo.streams.record_files import TREASURY, account
from tests.contracts.compose import ContractStream, function_result, log
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored
from tests.ledger.ingest.tables import empty_tables
from tests.tokens.compose import ALL_SERIALS, TokenStream, serials, token, units

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN, NFT = 5000, 5001
LOG = "index, contract_id, topic0, topic1, topic2, topic3, data"
ALICE, BOB, CAROL, DAVE = 1001, 1002, 1003, 1004
A, B, T = b"\3\xe9", b"\3\xea", b"\2"  # Alice, Bob and the treasury in topics
ADDRESS = b"\0\xab" + b"\1" * 18
FAILED, FAIL_INVALID = 15, 23


def logs(columns: str = LOG) -> list[Any]:
    return stored("contract_log", columns)


@pytest.mark.checklist("SYN-02")
@pytest.mark.parametrize(
    ("kind", "amount", "topics"),
    [
        ("tokenCreation", 300, (b"", T)),
        ("tokenMint", 300, (b"", T)),
        ("tokenBurn", -300, (T, b"")),
        ("tokenWipe", -300, (T, b"")),
    ],
)
def test_minted_or_burnt_units_have_one_side(kind: str, amount: int, topics: Any) -> None:
    stream = TokenStream()
    stream.happen(kind, {}, units(TOKEN, {TREASURY: amount}), receipt={"newTotalSupply": 300})
    load(stream.block())

    assert logs() == [(0, TOKEN, TRANSFER, *topics, None, b"\1\x2c")]


@pytest.mark.checklist("SYN-03")
def test_units_moved_from_one_account_to_another() -> None:
    stream = TokenStream()
    stream.transfer(units(TOKEN, {BOB: 7, ALICE: -7}), units(TOKEN + 1, {ALICE: -1, BOB: 1}))
    load(stream.block())

    assert logs() == [(0, TOKEN, TRANSFER, A, B, None, b"\7"), (1, TOKEN + 1, TRANSFER, A, B, None, b"\1")]


@pytest.mark.checklist("SYN-03")
@pytest.mark.parametrize("amounts", [{ALICE: 0, BOB: 0}, {ALICE: -7}, {BOB: 7}], ids=str)
def test_without_a_sender_or_receiver_nothing_is_logged(amounts: dict[int, int]) -> None:
    stream = TokenStream()
    stream.transfer(units(TOKEN, amounts))
    load(stream.block())

    assert logs() == []


@pytest.mark.checklist("SYN-03")
@pytest.mark.parametrize(
    ("amounts", "moves"),
    [
        ({ALICE: -7, BOB: 4, CAROL: 3}, [(ALICE, BOB, 4), (ALICE, CAROL, 3)]),
        ({CAROL: 3, BOB: 4, ALICE: -7}, [(ALICE, BOB, 4), (ALICE, CAROL, 3)]),
        ({ALICE: 7, BOB: -4, CAROL: -3}, [(BOB, ALICE, 4), (CAROL, ALICE, 3)]),
        ({ALICE: -5, BOB: -5, CAROL: 5, DAVE: 5}, [(ALICE, CAROL, 5), (BOB, DAVE, 5)]),
        ({ALICE: -2, BOB: -6, CAROL: 5, DAVE: 3}, [(BOB, CAROL, 5), (BOB, DAVE, 1), (ALICE, DAVE, 2)]),
        ({ALICE: -7, BOB: 7, CAROL: 0}, [(ALICE, BOB, 7)]),
        ({ALICE: -5, BOB: 7}, [(ALICE, BOB, 5)]),
    ],
    ids=str,
)
def test_among_many_who_gives_most_gives_to_who_gets_most(
    amounts: dict[int, int], moves: list[tuple[int, int, int]]
) -> None:
    stream = TokenStream()
    stream.transfer(units(TOKEN, amounts))
    load(stream.block())

    def short(number: int) -> bytes:
        return number.to_bytes(8, "big").lstrip(b"\0")

    assert logs("index, topic1, topic2, data") == [
        (index, *map(short, move)) for index, move in enumerate(moves)
    ]


@pytest.mark.checklist("SYN-03", "CFG-01")
def test_transfers_of_more_than_two_tokens_at_once_can_be_left_out() -> None:
    stream = TokenStream()
    pair = {ALICE: -1, BOB: 1}
    stream.transfer(units(TOKEN, {ALICE: -7, BOB: 4, CAROL: 3}), units(TOKEN + 1, pair))
    stream.transfer(units(TOKEN, pair), units(TOKEN + 1, pair), serials(NFT + 1, (1, ALICE, BOB)))
    with settings(persist__syntheticContractLogsMulti=False):
        load(stream.block())

    assert logs("contract_id, data") == [(TOKEN, b"\3"), (TOKEN, b"\4"), (TOKEN + 1, b"\1")]


@pytest.mark.checklist("SYN-04")
def test_every_serial_moved_has_a_log() -> None:
    stream = TokenStream()
    stream.transfer(serials(NFT, (1, ALICE, BOB), (256, 0, BOB), (3, ALICE, 0)))
    load(stream.block())

    assert logs() == [
        (0, NFT, TRANSFER, A, B, b"\1", b"\0"),
        (1, NFT, TRANSFER, b"", B, b"\1\0", b"\0"),
        (2, NFT, TRANSFER, A, b"", b"\3", b"\0"),
    ]


@pytest.mark.checklist("SYN-04")
def test_of_a_change_of_treasury_no_serial_is_logged_that_does_not_exist() -> None:
    stream = TokenStream()
    stream.happen("tokenUpdate", {"token": token(NFT)}, serials(NFT, (ALL_SERIALS, ALICE, BOB)))
    load(stream.block())

    assert logs() == []


def grant(number: int, spender: int, *, owner: Any = None, **more: Any) -> dict[str, Any]:
    owned = account(ALICE) if owner is None else owner
    return {"tokenId": token(number), "owner": owned, "spender": account(spender)} | more


def approve(stream: TokenStream, nfts: Any = (), tokens: Any = (), **options: Any) -> int:
    body = {"nftAllowances": nfts, "tokenAllowances": tokens}
    return stream.happen("cryptoApproveAllowance", body, **options)


@pytest.mark.checklist("SYN-05", "CRY-22")
def test_the_last_of_equal_approvals_is_logged() -> None:
    stream = TokenStream()
    approve(
        stream,
        nfts=[
            grant(NFT, BOB, serial_numbers=[1, 2]),
            grant(NFT, CAROL, serial_numbers=[2, 3]),
            grant(NFT, BOB, approved_for_all={"value": False}),
            grant(NFT, BOB, approved_for_all={"value": True}, serial_numbers=[9]),
        ],
        tokens=[grant(TOKEN, BOB, amount=1), grant(TOKEN, CAROL, amount=3), grant(TOKEN, BOB, amount=2)],
    )
    load(stream.block())

    c = b"\3\xeb"
    assert logs() == [
        (0, NFT, APPROVAL_FOR_ALL, A, B, None, b"\1"),
        (1, NFT, APPROVAL, A, c, b"\2", b"\0"),
        (2, NFT, APPROVAL, A, c, b"\3", b"\0"),
        (3, NFT, APPROVAL, A, B, b"\1", b"\0"),
        (4, TOKEN, APPROVAL, A, B, None, b"\2"),
        (5, TOKEN, APPROVAL, A, c, None, b"\3"),
    ]


@pytest.mark.checklist("SYN-05", "CRY-19")
def test_the_owner_of_an_approval_is_the_payer_unless_named_and_known() -> None:
    stream = TokenStream()
    approve(
        stream,
        tokens=[
            grant(TOKEN, BOB, owner=account(0), amount=1),
            grant(TOKEN, BOB, owner={"alias": ADDRESS}, amount=2),
        ],
        nfts=[grant(NFT, BOB, approved_for_all={"value": False})],
        payer=CAROL,
    )
    load(stream.block())

    assert logs("contract_id, topic1, data") == [(TOKEN, b"\3\xeb", b"\1"), (NFT, A, b"\0")]


@pytest.mark.checklist("SYN-05", "CRY-25")
def test_deleted_allowance_is_logged_without_a_spender() -> None:
    stream = TokenStream()
    allowances = [
        {"token_id": token(NFT), "owner": account(ALICE), "serial_numbers": [1]},
        {"token_id": token(NFT), "serial_numbers": [2]},
    ]
    stream.happen("cryptoDeleteAllowance", {"nftAllowances": allowances}, payer=BOB)
    load(stream.block())

    assert logs() == [(0, NFT, APPROVAL, A, b"", b"\1", b"\0"), (1, NFT, APPROVAL, B, b"", b"\2", b"\0")]


@pytest.mark.checklist("SYN-01")
@pytest.mark.parametrize("body", ["contractCallResult", "contractCreateResult"])
def test_since_hapi_0_71_a_node_logs_what_contracts_move(body: str) -> None:
    stream = TokenStream(hapi_version=(0, 71, 0))
    stream.transfer(units(TOKEN, {ALICE: -1, BOB: 1}), record={body: function_result()})
    approve(stream, tokens=[grant(TOKEN, BOB, amount=1)], record={body: function_result()})
    allowance = {"token_id": token(NFT), "serial_numbers": [2]}
    stream.happen("cryptoDeleteAllowance", {"nftAllowances": [allowance]}, record={body: function_result()})
    load(stream.block())

    assert logs() == []


def test_failed_transfers_and_approvals_have_no_logs_but_those_of_fail_invalid() -> None:
    stream = TokenStream()
    for result in (FAILED, FAIL_INVALID):
        stream.transfer(units(TOKEN, {ALICE: -1, BOB: 1}), result=result)
        approve(stream, tokens=[grant(TOKEN, BOB, amount=1)], result=result)
    load(stream.block())

    assert logs("topic0, transaction_index") == [(TRANSFER, 0)]


def alice_has_an_address(stream: TokenStream) -> None:
    create = CryptoCreateTransactionBody(alias=ADDRESS)
    stream.crypto_create(ALICE, create=create)


@pytest.mark.checklist("SYN-09")
def test_synthetic_is_all_that_no_node_has_logged() -> None:
    stream = TokenStream()
    stream.transfer(units(TOKEN, {ALICE: -1, BOB: 1}), serials(NFT, (1, ALICE, BOB)))
    approve(stream, tokens=[grant(TOKEN, BOB, amount=1)])
    ContractStream.call(stream, ran=function_result(logInfo=[log()]))  # type: ignore[arg-type]
    load(stream.block())

    assert logs("index, synthetic") == [(0, True), (1, True), (2, True), (3, False)]


@pytest.mark.checklist("SYN-07")
def test_blooms_of_results_and_blocks_admit_the_logs_of_all_kinds() -> None:
    stream = TokenStream()
    alice_has_an_address(stream)
    stream.transfer(units(TOKEN, {ALICE: -1, BOB: 1}), serials(NFT, (1, ALICE, BOB), (3, 0, BOB)))
    approve(stream, [grant(NFT, BOB, approved_for_all={"value": True})], [grant(TOKEN, BOB, amount=0)])
    stream.happen(
        "cryptoDeleteAllowance", {"nftAllowances": [{"token_id": token(NFT), "serial_numbers": [2]}]}
    )
    with settings(persist__syntheticContractResults=True):
        load_in_any_batches(stream.block())

    rows = logs("consensus_timestamp, contract_id, bloom, topic0, topic1, topic2, topic3")
    assert len(rows) == 6
    results: dict[int, bytes] = dict(stored("contract_result", "consensus_timestamp, bloom"))
    ((of_block,),) = stored("record_file", "logs_bloom")
    for at, contract, bloom, *topics in rows:
        expected = log_bloom.create_bloom(
            entity_id.long_zero(contract), [topic for topic in topics if topic is not None]
        )
        assert bloom == expected
        assert log_bloom.union([of_block, bloom]) == of_block
        if at in results:
            assert log_bloom.union([results[at], bloom]) == results[at]
    assert log_bloom.union(bloom for _, _, bloom, *_ in rows) == of_block
    assert len(results) == 2


def test_an_amount_of_nothing_is_a_word_of_zeros() -> None:
    stream = TokenStream()
    approve(stream, tokens=[grant(TOKEN, BOB, amount=0)])
    load(stream.block())

    assert logs("data") == [(b"\0",)]


@pytest.mark.checklist("SYN-06")
def test_transfers_name_accounts_by_their_evm_address() -> None:
    stream = TokenStream()
    alice_has_an_address(stream)
    stream.transfer(units(TOKEN, {ALICE: -1, BOB: 1}))
    blocks = [stream.block()]
    stream.transfer(units(TOKEN, {ALICE: 1, BOB: -1}))
    stream.transfer(serials(NFT, (1, ALICE, BOB)))
    approve(stream, tokens=[grant(TOKEN, BOB, amount=1)])
    load_in_any_batches(*blocks, stream.block())

    address = ADDRESS.lstrip(b"\0")
    assert logs("index, contract_id, topic1, topic2") == [
        (0, TOKEN, B, address),
        (0, TOKEN, address, B),
        (1, NFT, A, B),
        (2, TOKEN, A, B),
    ]


@pytest.mark.checklist("SYN-06", "PERF-02")
def test_addresses_are_looked_up_at_once(django_assert_max_num_queries: Any) -> None:
    stream = TokenStream()
    alice_has_an_address(stream)
    load(stream.block())
    addresses = EvmAddresses()
    rows = [{"topic1": b"%d" % number} for number in range(20)]
    for number, row in enumerate(rows):
        addresses.fill(row, "topic1", ALICE + number % 2)
    with django_assert_max_num_queries(1), connection.cursor() as cursor:
        addresses.write(cursor)

    assert rows[0]["topic1"] == rows[18]["topic1"] == ADDRESS.lstrip(b"\0")
    assert rows[1]["topic1"] == b"1"


@pytest.mark.checklist("SYN-06")
def test_evm_addresses_can_be_left_out() -> None:
    stream = TokenStream()
    alice_has_an_address(stream)
    stream.transfer(units(TOKEN, {ALICE: -1, BOB: 1}))
    with settings(persist__syntheticContractLogEvmAddressLookup=False):
        load(stream.block())

    assert logs("topic1, topic2") == [(A, B)]


@pytest.mark.checklist("CFG-01")
def test_synthetic_logs_can_be_left_out() -> None:
    stream = TokenStream()
    stream.transfer(units(TOKEN, {ALICE: -1, BOB: 1}))
    approve(stream, tokens=[grant(TOKEN, BOB, amount=1)])
    with settings(persist__syntheticContractLogs=False):
        load(stream.block())

    assert logs() == []


@pytest.mark.checklist("SYN-08")
def test_synthetic_results_are_written_only_if_configured() -> None:
    stream = TokenStream()
    first = stream.transfer(units(TOKEN, {ALICE: -1, BOB: 1}), serials(NFT, (1, ALICE, BOB)))
    second = approve(stream, tokens=[grant(TOKEN, BOB, amount=1)], payer=ALICE)
    third = stream.transfer(serials(NFT, (1, ALICE, BOB)), result=FAIL_INVALID)
    block = stream.block()
    load_in_any_batches(block)
    assert stored("contract_result", "contract_id") == []

    empty_tables()
    with settings(persist__syntheticContractResults=True):
        load(block)

    assert stored(
        "contract_result",
        "consensus_timestamp, contract_id, sender_id, call_result, function_parameters, gas_limit",
    ) == [
        (first, TOKEN, TREASURY, b"\1", bytes.fromhex("a9059cbb"), 0),
        (second, 0, ALICE, b"\1", bytes.fromhex("095ea7b3"), 0),
        (third, NFT, TREASURY, b"\0", bytes.fromhex("a9059cbb"), 0),
    ]
    assert len(stored("contract_transaction_hash", "hash")) == 3
