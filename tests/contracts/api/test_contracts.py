from typing import Any

import pytest

from tests.api import assert_answer
from tests.build import SECOND, START, insert
from tests.contracts.api.rows import CONTRACT, OTHER, address, contract

URL = "/api/v1/contracts"
EVM_ADDRESS = "70f2b2914a2a4b783faefb75f459a580616fcb5e"
UNKNOWN = "5e17c988cc14ae5f0bf328245eaf88f081c3A614"
KEY = bytes.fromhex("1220" + "ab" * 32)


def shown(**changes):
    return {
        "admin_key": {"_type": "ED25519", "key": "ab" * 32},
        "auto_renew_account": "0.0.1001",
        "auto_renew_period": 1500,
        "contract_id": f"0.0.{CONTRACT}",
        "created_timestamp": "1700000000.000000000",
        "deleted": False,
        "evm_address": f"0x{EVM_ADDRESS}",
        "expiration_timestamp": "1700001500.000000000",
        "file_id": "0.0.2001",
        "max_automatic_token_associations": 3,
        "memo": "memo",
        "nonce": 7,
        "obtainer_id": "0.0.1002",
        "permanent_removal": True,
        "proxy_account_id": "0.0.1003",
        "timestamp": {"from": "1700000000.000000000", "to": None},
    } | changes


def full(build, **columns):
    given: dict[str, Any] = {
        "auto_renew_account_id": 1001,
        "auto_renew_period": 1500,
        "evm_address": bytes.fromhex(EVM_ADDRESS),
        "key": KEY,
        "max_automatic_token_associations": 3,
        "memo": "memo",
        "ethereum_nonce": 7,
        "obtainer_id": 1002,
        "permanent_removal": True,
        "proxy_account_id": 1003,
        "code": {"file_id": 2001},
    }
    return contract(build, **given | columns)


def ids(answer):
    assert answer.status == 200, answer
    return [int(row["contract_id"].rpartition(".")[2]) for row in answer.json()["contracts"]]


class TestList:
    def test_a_contract_is_shown_with_all_its_members(self, api, build):
        full(build)
        answer = api.get(URL)
        assert_answer(answer, {"contracts": [shown()], "links": {"next": None}})
        assert answer.headers["cache-control"] == "public, max-age=10"

    def test_what_is_not_known_is_null(self, api, build):
        build.entity(CONTRACT, type="CONTRACT", created_timestamp=None, deleted=None, ethereum_nonce=None)
        expected = dict.fromkeys(shown()) | {
            "contract_id": f"0.0.{CONTRACT}",
            "evm_address": address(CONTRACT),
            "memo": "",
            "timestamp": {"from": "1700000000.000000000", "to": None},
        }
        assert_answer(api.get(URL), {"contracts": [expected], "links": {"next": None}})

    def test_an_expiration_is_shown_as_stored(self, api, build):
        contract(build, expiration_timestamp=START + 5, auto_renew_period=1500)
        assert api.get(URL).json()["contracts"][0]["expiration_timestamp"] == "1700000000.000000005"

    def test_accounts_are_no_contracts_and_deleted_contracts_are(self, api, build):
        build.entity(1001)
        contract(build, 6001, deleted=True)
        assert ids(api.get(URL)) == [6001]

    def test_the_link_goes_on_after_the_last_contract(self, api, build):
        for number in (6001, 6002):
            contract(build, number)
        assert api.get(f"{URL}?limit=1").json()["links"]["next"] == f"{URL}?limit=1&contract.id=lt:0.0.6002"
        answer = api.get(f"{URL}?limit=1&order=asc&contract.id=gte:6001")
        assert answer.json()["links"]["next"] == f"{URL}?limit=1&order=asc&contract.id=gt:0.0.6001"

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("contract.id=6002", [6002]),
            ("contract.id=eq:0.6002", [6002]),
            ("contract.id=0.0.6002&contract.id=6001", [6002, 6001]),
            ("contract.id=6002&contract.id=6001&contract.id=gt:6001", [6002]),
            ("contract.id=ne:6002", [6003, 6001]),
            ("contract.id=gt:6002", [6003]),
            ("contract.id=gte:6002", [6003, 6002]),
            ("contract.id=lt:6002", [6001]),
            ("contract.id=lte:6002&contract.id=gt:6001", [6002]),
            ("contract.id=" + f"{6002:040x}", [6002]),
            ("contract.id=0.0." + f"{6002:040x}", [6002]),
            ("contract.id=" + EVM_ADDRESS, [6003]),
            ("contract.id=7.8." + EVM_ADDRESS.upper(), [6003]),
            ("contract.id=" + EVM_ADDRESS + "&contract.id=6001", [6003, 6001]),
            ("contract.id=7000", []),
            ("contract.id=0.0." + "f" * 40, []),
            ("contract.id=0.0." + "f" * 40 + "&contract.id=6001", [6001]),
        ],
    )
    def test_contracts_are_chosen_by_id_or_address(self, api, build, query, expected):
        for number in (6001, 6002):
            contract(build, number)
        contract(build, 6003, evm_address=bytes.fromhex(EVM_ADDRESS))
        assert ids(api.get(f"{URL}?{query}")) == expected

    @pytest.mark.parametrize(
        ("query", "messages"),
        [
            ("contract.id=0x" + EVM_ADDRESS, ["Invalid parameter: contract.id"]),
            ("contract.id=gt:" + EVM_ADDRESS, ["Invalid parameter: contract.id"]),
            ("contract.id=x&limit=0", ["Invalid parameter: contract.id", "Invalid parameter: limit"]),
            ("contract.id=", ["Invalid parameter: contract.id"]),
            ("contract.id=-5", ["Invalid parameter: contractid"]),
            ("contract.id=1024.0.5", ["Invalid parameter: contractid"]),
            ("contract.id=0.0.274877906944", ["Invalid parameter: contractid"]),
            ("contract.id=1.0." + f"{6002:040x}", ["Invalid parameter: contractid"]),
            (f"contract.id={2**63}", ["Invalid parameter: contractid"]),
            ("contract.id=-5&limit=0", ["Invalid parameter: limit"]),
            ("foo=1", ["Unknown query parameter: foo"]),
        ],
    )
    def test_what_is_wrong_is_named(self, api, build, query, messages):
        answer = api.get(f"{URL}?{query}")
        assert (answer.status, answer.messages) == (400, messages)

    def test_an_address_must_be_that_of_a_live_contract(self, api, build):
        build.entity(1001, type="TOKEN", evm_address=bytes.fromhex(EVM_ADDRESS))
        contract(build, 6001, evm_address=bytes.fromhex(UNKNOWN), deleted=True)
        for typed in (EVM_ADDRESS, UNKNOWN):
            answer = api.get(f"{URL}?contract.id=6001&contract.id={typed}")
            assert answer.status == 404
            assert answer.messages == [f"No contract with the given evm address 0x{typed} has been found."]


class TestOne:
    def test_it_comes_with_its_code(self, api, build):
        full(build, code={"initcode": b"\1\2", "runtime_bytecode": b"\3\4"})
        answer = api.get(f"{URL}/{CONTRACT}")
        code = {"bytecode": "0x0102", "runtime_bytecode": "0x0304"}
        assert_answer(answer, shown(file_id=None) | code)
        assert answer.headers["cache-control"] == "public, max-age=1"

    @pytest.mark.parametrize(
        "path",
        [
            *(f"0.0.{CONTRACT}", f"0.{CONTRACT}", f"{CONTRACT}", f"{CONTRACT:040x}", f"0.0.{CONTRACT:040x}"),
            *(EVM_ADDRESS, EVM_ADDRESS.upper(), f"0x{EVM_ADDRESS}", f"0.{EVM_ADDRESS}", f"3.4.{EVM_ADDRESS}"),
        ],
    )
    def test_it_is_found_by_every_form_of_its_name(self, api, build, path):
        full(build, deleted=True)
        answer = api.get(f"{URL}/{path}")
        assert (answer.status, answer.json()["contract_id"]) == (200, f"0.0.{CONTRACT}")

    def test_without_code_it_is_empty(self, api, build):
        build.entity(CONTRACT, type="CONTRACT")
        answer = api.get(f"{URL}/{CONTRACT}").json()
        assert (answer["bytecode"], answer["runtime_bytecode"], answer["file_id"]) == ("0x", "0x", None)

    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            ([], "0x"),
            ([(17, -5, b"6060")], "0x6060"),
            ([(17, -5, b"0x60"), (16, -3, b"61"), (16, 0, b"62"), (16, 1, b"63")], "0x606162"),
            ([(17, -5, b"60"), (19, -4, b"70"), (19, -3, b""), (16, -2, b"71")], "0x7071"),
            ([(17, -5, b"60"), (19, 1, b"70")], "0x60"),
            ([(16, -5, b"60")], "0x"),
        ],
        ids=["nothing", "created", "appended", "updated", "updated later", "creation unknown"],
    )
    def test_its_bytecode_is_the_text_its_file_had_then(self, api, build, rows, expected):
        contract(build, code={"file_id": 2001, "initcode": b"\1"})
        for kind, seconds, data in rows:
            at = START + seconds * SECOND
            insert("file_data", entity_id=2001, consensus_timestamp=at, file_data=data, transaction_type=kind)
        assert api.get(f"{URL}/{CONTRACT}").json()["bytecode"] == expected

    def test_a_file_of_the_network_is_no_bytecode(self, api, build):
        contract(build, code={"file_id": 1000, "initcode": b"\1"})
        assert api.get(f"{URL}/{CONTRACT}").json()["bytecode"] == "0x01"

    @pytest.mark.parametrize(
        ("timestamps", "memo"),
        [
            ("1700000100", "new"),
            ("1700000099.999999999", "old"),
            ("lte:1700000099.999999999", "old"),
            ("lt:1700000100", "old"),
            ("lt:1700000100.000000001", "new"),
            ("gt:1700000050", "new"),
            ("gte:1700000050&timestamp=lt:1700000060", "old"),
            ("ne:1700000100", "old"),
            ("ne:1700000100&timestamp=ne:1700000001", None),
            ("gt:1700000099.999999999&timestamp=lt:1700000100", None),
            ("lt:1700000000", None),
            ("gt:9999999999", "new"),
            ("9999999999", "new"),
        ],
    )
    @pytest.mark.parametrize("path", [str(CONTRACT), EVM_ADDRESS])
    def test_it_is_shown_as_it_was(self, api, build, timestamps, memo, path):
        change = START + 100 * SECOND
        evm_address = bytes.fromhex(EVM_ADDRESS)
        contract(build, since=change, memo="new", evm_address=evm_address)
        build.entity(
            CONTRACT,
            type="CONTRACT",
            until=change,
            memo="old",
            table="entity_history",
            evm_address=evm_address,
        )
        answer = api.get(f"{URL}/{path}?timestamp={timestamps}")
        if memo is None:
            assert (answer.status, answer.messages) == (404, ["Not found"])
        else:
            assert (answer.status, answer.json()["memo"]) == (200, memo)

    @pytest.mark.parametrize(
        ("path", "status", "message"),
        [
            ("x", 400, "Invalid parameter: contractid"),
            ("0.0.0x" + EVM_ADDRESS, 400, "Invalid parameter: contractid"),
            ("x?foo=1", 400, "Invalid parameter: contractid"),
            ("-5?foo=1", 400, "Unknown query parameter: foo"),
            (f"{CONTRACT}?timestamp=x", 400, "Invalid parameter: timestamp"),
            (f"{CONTRACT}?limit=1", 400, "Unknown query parameter: limit"),
            (f"{OTHER}", 404, "Not found"),
            (EVM_ADDRESS, 404, "Not found"),
            ("1001", 404, "Not found"),
        ],
    )
    def test_what_is_wrong_is_named(self, api, build, path, status, message):
        build.entity(1001)
        answer = api.get(f"{URL}/{path}")
        assert (answer.status, answer.messages) == (status, [message])

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("-5", "0.0.-5"),
            ("1024.0.5", "1024.0.5"),
            ("0.65536.5", "0.65536.5"),
            (f"{2**38}", f"0.0.{2**38}"),
            ("1234567890123", "0.0.1234567890123"),
            (f"{2**63}", f"0.0.{2**63}"),
            (f"1.0.{CONTRACT:040x}", f"1.0.{CONTRACT:040x}"),
        ],
    )
    @pytest.mark.parametrize(
        ("below", "unknown"),
        [
            ("", "limit=1"),
            ("/results", "nonce=1"),
            ("/results/logs", "transaction.hash=1"),
            ("/state", "index=1"),
            ("/results/1", "limit=1"),
        ],
    )
    def test_the_range_of_the_id_is_checked_after_the_query(self, api, text, shown, below, unknown):
        answer = api.get(f"{URL}/{text}{below}")
        message = "Invalid parameter: contractid" if below else f'Invalid entity ID "{shown}"'
        assert (answer.status, answer.messages) == (400, [message])
        answer = api.get(f"{URL}/{text}{below}?{unknown}")
        assert answer.messages == [f"Unknown query parameter: {unknown.partition('=')[0]}"]
