"""How values are shown: amounts with their unit, numbers by their name, messages and errors decoded."""

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from eth_abi.abi import encode

from contracts.models import (
    Contract,
    ContractAction,
    ContractLog,
    ContractResult,
    ContractState,
    EthereumTransaction,
)
from ledger.models import (
    BalanceDifference,
    CustomFee,
    Entity,
    EntityStake,
    NetworkFreeze,
    RecordFile,
    Schedule,
    SidecarFile,
    Topic,
    Transaction,
    TransactionSignature,
)
from mirror.core.admin.addresses import list_url, row_url
from mirror.core.values.hapi.messages import (
    CustomFeeLimit,
    FeeExemptKeyList,
    FixedFee,
    Key,
    SchedulableTransactionBody,
)
from network.models import AddressBookEntry, NetworkStake, RegisteredNode
from tests.build import START
from tests.mirror.core.admin.rows import row
from tokens.models import (
    AssessedCustomFee,
    Nft,
    Token,
    TokenAccount,
    TokenAccountHistory,
    TokenAirdrop,
    TokenAllowance,
    TokenBalance,
    TokenHistory,
    TokenTransfer,
)

pytestmark = pytest.mark.django_db

WORD = "00" * 31
REVERT = bytes.fromhex("08c379a0") + encode(["string"], ["not <enough>"])
PANIC = bytes.fromhex("4e487b71") + bytes(31) + b"\x11"
CUSTOM = bytes.fromhex("cafebabe") + bytes(31) + b"\x05"


def words(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", html.replace("<wbr>", ""))).split())


def lines(pages: Client, given: Any) -> dict[str, str]:
    """Return the lines of a row's page: heading and words."""
    page = pages.get(row_url(given)).content.decode()
    return {
        words(label): words(value) for label, value in re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", page, re.S)
    }


@pytest.fixture
def token(db: None) -> None:
    row(Token, token_id=5005, decimals=2, symbol="EURL.N", name="Euro")


AMOUNTS = [
    (TokenTransfer, "amount"),
    (TokenAccount, "balance"),
    (TokenAccountHistory, "balance"),
    (TokenAllowance, "amount"),
    (TokenAllowance, "amount_granted"),
    (TokenBalance, "balance"),
    (TokenAirdrop, "amount"),
    (AssessedCustomFee, "amount"),
    (BalanceDifference, "ours"),
    (BalanceDifference, "theirs"),
    (TokenHistory, "total_supply"),
    (TokenHistory, "initial_supply"),
    (TokenHistory, "max_supply"),
]


@pytest.mark.usefixtures("token")
@pytest.mark.parametrize(("model", "column"), AMOUNTS, ids=lambda given: getattr(given, "__name__", ""))
def test_an_amount_of_a_token_has_its_decimals_and_symbol(model: Any, column: str, pages: Client) -> None:
    given = row(model, token_id=5005, **dict[str, Any]({column: 123456789}))
    label = column.replace("_", " ").capitalize()

    assert lines(pages, given)[label] == "1,234,567.89 EURL.N 123,456,789 of the smallest unit"


@pytest.mark.usefixtures("token")
def test_a_list_reads_the_units_of_all_its_tokens_at_once(pages: Client) -> None:
    row(Token, token_id=5006, decimals=0, symbol="NUL")
    for number in range(6):
        row(TokenTransfer, account_id=2000 + number, token_id=5005 + number % 3, amount=-1050)

    with CaptureQueriesContext(connection) as queries:
        page = words(pages.get(list_url(TokenTransfer)).content.decode())

    assert "-10.5 EURL.N" in page and "-1,050 NUL" in page and "0.0.5007 0.0.2005 -1,050 0.0" in page
    assert len([query for query in queries if 'FROM "token"' in query["sql"]]) == 1


@pytest.mark.usefixtures("token")
def test_a_section_has_the_units_of_its_tokens(pages: Client) -> None:
    row(TokenAccount, account_id=1001, token_id=5005, balance=250)

    for page in ("/admin/tokens/token/0.0.5005/", "/admin/ledger/entity/0.0.1001/"):
        row(Entity, id=1001, type="ACCOUNT") if "entity" in page else None
        assert "2.5 EURL.N" in words(pages.get(page).content.decode())


@pytest.mark.parametrize("model", [AssessedCustomFee, BalanceDifference])
def test_an_amount_without_a_token_is_hbar(model: Any, pages: Client) -> None:
    token_id = 0 if model is BalanceDifference else None
    column = "ours" if model is BalanceDifference else "amount"

    shown = lines(pages, row(model, token_id=token_id, **dict[str, Any]({column: 150_000_000})))

    assert shown[column.capitalize()] == "1.5 ℏ 150,000,000 tinybars"


@pytest.mark.parametrize(
    ("model", "column", "value", "text"),
    [
        (Token, "freeze_status", 1, "FROZEN"),
        (Token, "kyc_status", 2, "REVOKED"),
        (Token, "max_supply", 0, "infinite"),
        (TokenAccount, "freeze_status", 2, "UNFROZEN"),
        (TokenAccountHistory, "kyc_status", 1, "GRANTED"),
        (Entity, "staked_node_id", -1, "none"),
        (Entity, "staked_node_id", 0, "0"),
        (Entity, "stake_period_start", -1, "none"),
        (Entity, "max_automatic_token_associations", -1, "unlimited"),
        (EntityStake, "staked_node_id_start", -1, "none"),
        (TransactionSignature, "type", 6, "ECDSA_SECP256K1"),
        (TransactionSignature, "type", 99, "99"),
        (NetworkFreeze, "type", 3, "FREEZE_UPGRADE"),
        (RecordFile, "gas_used", -1, "unknown"),
        (RecordFile, "digest_algorithm", 0, "SHA-384"),
        (SidecarFile, "hash_algorithm", 0, "SHA-384"),
        (AddressBookEntry, "node_cert_hash", b"52dc7e", "52dc7e"),
        (AddressBookEntry, "node_cert_hash", b"\xff\x00", "0xff00"),
        (EthereumTransaction, "chain_id", b"\x01\x2a", "298 0x012a"),
        (EthereumTransaction, "signature_v", b"\x02\x77", "631 0x0277"),
        (SidecarFile, "types", [1, 3], "CONTRACT_STATE_CHANGE , CONTRACT_BYTECODE"),
        (RegisteredNode, "type", [3], "MIRROR_NODE"),
        (EthereumTransaction, "type", 2, "EIP-1559"),
        (ContractAction, "call_type", 3, "PRECOMPILE"),
        (ContractAction, "call_operation_type", 4, "STATICCALL"),
        (ContractAction, "result_data_type", 12, "REVERT_REASON"),
        (Entity, "auto_renew_period", 7_776_000, "90 d 7,776,000 seconds"),
        (Transaction, "valid_duration_seconds", 125, "2 min 5 s 125 seconds"),
        (NetworkStake, "staking_period_duration", 1440, "1 d 1,440 minutes"),
        (ContractLog, "topic0", b"\x05", f"0x{WORD}05"),
        (ContractState, "slot", b"\x05", f"0x{WORD}05"),
        (ContractState, "value", b"", f"0x{WORD}00"),
        (ContractResult, "error_message", f"0x{REVERT.hex()}", f"not <enough> 0x{REVERT.hex()} 100 bytes"),
        (ContractResult, "error_message", "INVALID_OPERATION", "INVALID_OPERATION"),
        (ContractResult, "call_result", REVERT, f"not <enough> 0x{REVERT.hex()} 100 bytes"),
        (ContractResult, "call_result", bytes(32), f"0x{WORD}00"),
        (ContractAction, "result_data", PANIC, f"Panic(0x11) 0x{PANIC.hex()}"),
        (ContractAction, "result_data", CUSTOM, f"Error 0xcafebabe(0x{WORD}05) 0x{CUSTOM.hex()}"),
        (ContractAction, "result_data", b"OUT_OF_GAS", "OUT_OF_GAS 0x" + b"OUT_OF_GAS".hex()),
        (ContractAction, "result_data", REVERT[:4] + b"\xff" * 32, "0x08c379a0" + "ff" * 32),
    ],
    ids=lambda given: getattr(given, "__name__", str(given)[:20]),
)
def test_a_value_is_shown_by_its_meaning(
    model: Any, column: str, value: Any, text: str, pages: Client
) -> None:
    label = {"kyc_status": "KYC status"}.get(column, column.replace("_", " ").capitalize())
    label = {"Staked node id": "Staked node id"}.get(label, label)

    assert lines(pages, row(model, **{column: value}))[label] == text


@pytest.mark.usefixtures("token")
def test_custom_fees_are_sentences(pages: Client) -> None:
    collector = {"collector_account_id": 98, "all_collectors_are_exempt": True}
    fixed = [
        {"amount": 150, "denominating_token_id": 5005, **collector},
        {"amount": 100_000_000, "denominating_token_id": None, "collector_account_id": None},
        {"amount": 7, "denominating_token_id": 6006},
    ]
    fraction = {"numerator": 1, "denominator": 10, "minimum_amount": 500, "maximum_amount": 1000}
    royalty = {
        "numerator": 5,
        "denominator": 100,
        "fallback_fee": {"amount": 250, "denominating_token_id": 5005},
    }

    fees = row(
        CustomFee,
        entity_id=5005,
        fixed_fees=fixed,
        fractional_fees=[fraction | {"net_of_transfers": True, "collector_account_id": 98}],
        royalty_fees=[royalty],
    )
    shown = lines(pages, fees)

    assert shown["Fixed fees"] == "1.5 EURL.N , to 0.0.98 , collectors are exempt 1 ℏ 7 of 0.0.6006"
    assert shown["Fractional fees"] == (
        "1 of 10, at least 5 EURL.N , at most 10 EURL.N , to 0.0.98 , net of transfers"
    )
    assert shown["Royalty fees"] == "5 of 100, or 2.5 EURL.N without a payment"


def test_a_schedule_shows_what_it_does(pages: Client) -> None:
    body = SchedulableTransactionBody(transactionFee=5, memo="rent")
    transfer = body.cryptoTransfer.transfers.accountAmounts.add(amount=-7)
    transfer.accountID.accountNum = 1001

    shown = lines(pages, row(Schedule, transaction_body=body.SerializeToString()))["Transaction body"]

    assert '"accountID": "0.0.1001"' in shown and '"amount": -7' in shown and '"memo": "rent"' in shown


def test_limits_of_fees_and_exempt_keys_are_decoded(pages: Client) -> None:
    limit = CustomFeeLimit(fees=[FixedFee(amount=9)])
    limit.account_id.accountNum = 1001
    keys = FeeExemptKeyList(keys=[Key(ed25519=b"\x01" * 32)])

    assert (
        '"account_id": "0.0.1001"'
        in lines(pages, row(Transaction, max_custom_fees=[limit.SerializeToString()]))["Max custom fees"]
    )
    assert (
        "01" * 32
        in lines(pages, row(Topic, fee_exempt_key_list=keys.SerializeToString()))["Fee exempt key list"]
    )


def test_a_slot_is_found_in_both_its_forms(pages: Client) -> None:
    row(ContractState, contract_id=1001, slot=b"\x05")

    for text in (f"0x{WORD}05", "0x05"):
        page = pages.get(list_url(ContractState), {"contract_id": "0.0.1001", "slot": text})
        assert [found.slot for found in page.context["cl"].result_list] == [b"\x05"]


def test_a_contract_result_leads_to_its_transaction_and_to_the_api(pages: Client) -> None:
    result = row(ContractResult, consensus_timestamp=START, bloom=b"\x01" * 256)
    for index in (2, 0, 1):
        row(ContractAction, consensus_timestamp=START, index=index, gas=700 + index)
        row(ContractLog, consensus_timestamp=START, index=index)

    page = pages.get(row_url(result)).content.decode()

    assert '<a href="/admin/ledger/transaction/1700000000.000000000/">' in page
    assert "/api/v1/contracts/results?timestamp=1700000000.000000000" in page
    for section in ("Actions", "Logs"):
        table = page.partition(f">{section}</h2>")[2].partition("</table>")[0]
        assert re.findall('<td data-label="Index">(.*?)</td>', table) == ["0", "1", "2"]
    facts, _, raw = page.partition("<summary>Raw columns</summary>")
    assert "<dt>Bloom</dt>" in raw and "<dt>Bloom</dt>" not in facts


@pytest.mark.parametrize(
    ("model", "given", "path"),
    [
        (Token, {"token_id": 1219}, "tokens/0.0.1219"),
        (Nft, {"token_id": 1219, "serial_number": 7}, "tokens/0.0.1219/nfts/7"),
        (Topic, {"id": 1219}, "topics/0.0.1219"),
        (Schedule, {"schedule_id": 1219}, "schedules/0.0.1219"),
        (Contract, {"id": 1219}, "contracts/0.0.1219"),
        (Entity, {"id": 1219, "type": "ACCOUNT"}, "accounts/0.0.1219"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_a_row_leads_to_itself_in_the_api(
    model: Any, given: dict[str, Any], path: str, pages: Client
) -> None:
    assert f'<a href="/api/v1/{path}">' in pages.get(row_url(row(model, **given))).content.decode()


@pytest.mark.parametrize("model", [EthereumTransaction, NetworkFreeze])
def test_a_row_of_a_transaction_leads_to_it(model: Any, pages: Client) -> None:
    page = pages.get(row_url(row(model, consensus_timestamp=START))).content.decode()

    assert '<a href="/admin/ledger/transaction/1700000000.000000000/">' in page


def test_a_title_says_what_a_page_is_of_and_a_long_page_has_a_list_of_its_sections(pages: Client) -> None:
    token = row(Token, token_id=1219, symbol="EURL.N")
    row(TokenAccount, token_id=1219)
    row(Nft, token_id=1219)
    row(CustomFee, entity_id=1219)

    page = pages.get(row_url(token)).content.decode()

    assert "<h1>Token EURL.N (0.0.1219)</h1>" in page
    assert '<a href="#section-2">Serials</a>' in page and '<h2 id="section-2">Serials</h2>' in page


def test_columns_are_ordered_by_what_who_when_and_amount(pages: Client) -> None:
    labels = list(lines(pages, row(Transaction, consensus_timestamp=START)))
    order = [labels.index(name) for name in ("Type", "Payer account", "Valid start ns", "Max fee", "Nonce")]

    assert order == sorted(order)
