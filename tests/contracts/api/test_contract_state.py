import pytest

from tests.api import assert_answer
from tests.build import SECOND
from tests.contract.plans import prepared
from tests.contracts.api.rows import (
    AT,
    CONTRACT,
    OTHER,
    address,
    contract,
    seconds,
    state,
    state_change,
    word,
)

URL = f"/api/v1/contracts/{CONTRACT}/state"
NOW = pytest.mark.parametrize("query", ["", "timestamp=lt:1700001009"], ids=["now", "at a time"])
EVM_ADDRESS = "70f2b2914a2a4b783faefb75f459a580616fcb5e"


def slots(answer):
    """(slot, value) of the answer."""
    assert answer.status == 200, answer
    return [(int(row["slot"], 16), int(row["value"], 16)) for row in answer.json()["state"]]


def stripped(slot):
    return slot.to_bytes((slot.bit_length() + 7) // 8, "big")


@pytest.fixture
def rows():
    """The same slots as they are now and as changes: 0, 1, 2, 255 and 256, each with its value of now."""
    for value, slot in enumerate((0, 1, 2, 255, 256)):
        state(slot, value)
        state(slot, 99, contract_id=OTHER)
        state_change(stripped(slot), at=AT + SECOND, value_written=stripped(98))
        state_change(stripped(slot), at=AT + 2 * SECOND, value_written=stripped(value))
        state_change(stripped(slot), at=AT + 2 * SECOND, contract_id=OTHER)


@pytest.mark.parametrize(
    "name", [f"0.0.{CONTRACT}", f"{CONTRACT:040x}", f"0x{EVM_ADDRESS}", EVM_ADDRESS.upper()]
)
def test_a_slot_is_shown_with_its_contract(api, build, name):
    contract(build, evm_address=bytes.fromhex(EVM_ADDRESS))
    state(1, 2)
    shown = {
        "address": f"0x{EVM_ADDRESS}",
        "contract_id": f"0.0.{CONTRACT}",
        "timestamp": seconds(AT),
        "slot": word(1),
        "value": word(2),
    }
    answer = api.get(f"/api/v1/contracts/{name}/state")
    assert_answer(answer, {"state": [shown], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"
    state_change(b"\1", at=AT + 5, value_written=b"\2")
    answer = api.get(f"/api/v1/contracts/{name}/state?timestamp=1700001001")
    expected = shown | {"timestamp": seconds(AT + 5)}
    assert_answer(answer, {"state": [expected], "links": {"next": None}})


def test_a_contract_may_be_unknown_beside_its_state(api):
    state(1, 2)
    state_change(b"\1")
    for query in ("", "?timestamp=1700001001"):
        assert api.get(URL + query).json()["state"][0]["address"] == address(CONTRACT)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("order=asc", [0, 1, 2, 255, 256]),
        ("order=desc", [256, 255, 2, 1, 0]),
        ("slot=ff", [255]),
        ("slot=eq:0x00ff&slot=0&slot=3", [0, 255]),
        (f"slot={word(256)}", [256]),
        ("slot=gt:2&slot=gt:1", [255, 256]),
        ("slot=gte:2&slot=lt:100", [2, 255]),
        ("slot=lt:1", [0]),
        ("slot=lte:0x1", [0, 1]),
        ("slot=2&slot=lt:2", []),
        ("slot=gt:0&slot=lte:ff&order=desc&limit=2", [255, 2]),
    ],
)
def test_slots_are_chosen(api, rows, given, expected):
    values = {0: 0, 1: 1, 2: 2, 255: 3, 256: 4}
    assert slots(api.get(f"{URL}?{given}")) == [(slot, values[slot]) for slot in expected]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("order=asc", [0, 1, 256, 2, 255]),
        ("order=desc", [255, 2, 256, 1, 0]),
        ("slot=ff", [255]),
        ("slot=eq:0x00ff&slot=0&slot=3", [0, 255]),
        (f"slot={word(256)}", [256]),
        ("slot=gt:2&slot=gt:1", [255]),
        ("slot=gte:2", [2, 255]),
        ("slot=lt:2", [0, 1, 256]),
        ("slot=lte:100", [0, 1, 256]),
        ("slot=gt:0&slot=lte:ff&order=desc&limit=2", [255, 2]),
    ],
)
def test_slots_at_a_time_are_chosen_by_their_bytes_without_leading_zeros(api, rows, given, expected):
    values = {0: 0, 1: 1, 2: 2, 255: 3, 256: 4}
    found = slots(api.get(f"{URL}?{given}&timestamp=1700001009"))
    assert found == [(slot, values[slot]) for slot in expected]


@pytest.mark.parametrize(("order", "bound"), [("asc", "lte:ff"), ("desc", "gte:2")])
def test_pages_at_a_time_have_every_slot_of_a_range_once(api, rows, order, bound):
    url = f"{URL}?timestamp=1700001009&slot={bound}&order={order}&limit=1"
    found = [int(row["slot"], 16) for row in api.pages(url, "state")]
    assert found == ([0, 1, 256, 2, 255] if order == "asc" else [255, 2])


@pytest.mark.parametrize("bound", ["slot=lt:1&limit=1", "slot=lt:2&limit=3", "slot=gt:2&order=desc&limit=1"])
def test_a_page_at_a_time_that_ends_a_range_has_no_link(api, rows, bound):
    answer = api.get(f"{URL}?timestamp=1700001009&{bound}")
    assert len(slots(answer)) == int(bound[-1])
    assert answer.json()["links"]["next"] is None


def test_the_link_goes_on_after_the_last_slot(api, rows):
    assert api.get(f"{URL}?limit=2").json()["links"]["next"] == f"{URL}?limit=2&slot=gt:{word(1)}"
    answer = api.get(f"{URL}?limit=2&order=desc&slot=gt:0")
    assert answer.json()["links"]["next"] == f"{URL}?limit=2&order=desc&slot=gt:0&slot=lt:{word(255)}"


class TestAtATime:
    @pytest.mark.parametrize(
        ("times", "expected"),
        [
            ("1700001001", {1: 11, 2: 21}),
            ("eq:1700001002", {1: 12, 2: 21}),
            ("lte:1700001002", {1: 12, 2: 21}),
            ("lt:1700001002", {1: 11, 2: 21}),
            ("lt:1700001001", {}),
            ("gt:1700001002", {1: 13, 3: 33}),
            ("gte:1700001002", {1: 13, 3: 33}),
            ("gte:1700001002&timestamp=lt:1700001003", {1: 12}),
            ("1700001002&timestamp=1700001001", {1: 11, 2: 21}),
            ("gt:1700001002&timestamp=lt:1700001002", {}),
            ("9999999999", {1: 13, 2: 21, 3: 33}),
            ("gt:9999999999", {}),
        ],
    )
    def test_the_last_change_within_the_times_counts(self, api, times, expected):
        for second, slot in ((1, 1), (1, 2), (2, 1), (3, 1), (3, 3)):
            at = AT + second * SECOND
            state_change(stripped(slot), at=at, value_written=stripped(10 * slot + second))
        assert dict(slots(api.get(f"{URL}?timestamp={times}"))) == expected

    def test_a_slot_that_was_only_read_has_the_value_read(self, api):
        state_change(b"\1", value_read=b"\7")
        state_change(b"\2", value_read=b"\7", value_written=b"")
        state_change(b"\3", value_read=b"\7", migration=True)
        assert slots(api.get(f"{URL}?timestamp=1700001000")) == [(1, 7), (2, 0), (3, 7)]


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("slot=", ["Invalid parameter: slot"]),
        (f"slot=0{'0' * 64}&slot=x", ["Invalid parameter: slot", "Invalid parameter: slot"]),
        ("slot=ne:1", ["Invalid parameter: slot"]),
        ("nonce=2&limit=test", ["Invalid parameter: limit", "Unknown query parameter: nonce"]),
        ("timestamp=0x0001", ["Invalid parameter: timestamp"]),
        ("timestamp=ne:1", ["Not equals (ne) operator is not supported for timestamp"]),
    ],
)
def test_what_is_wrong_is_named(api, query, messages):
    for name in (CONTRACT, EVM_ADDRESS):
        answer = api.get(f"/api/v1/contracts/{name}/state?{query}")
        assert (answer.status, answer.messages) == (400, messages)


@NOW
def test_an_unknown_contract_has_no_state(api, query):
    assert_answer(api.get(f"{URL}?{query}"), {"state": [], "links": {"next": None}})


@pytest.mark.parametrize("query", ["", "?timestamp=5"])
def test_an_unknown_address_has_no_state(api, query):
    answer = api.get(f"/api/v1/contracts/0x{EVM_ADDRESS}/state{query}")
    assert_answer(answer, {"state": [], "links": {"next": None}})


def test_results_are_no_contract(api):
    assert api.get("/api/v1/contracts/results/state").messages == ["Invalid parameter: contractid"]


def test_the_address_of_a_contract_is_looked_up_once_for_all_of_its_slots(api, build, rows):
    contract(build)
    for _ in range(2):
        assert len(slots(api.get(URL))) == 5
    (plan,) = [each.plan for each in prepared(set()) if "evm_address from entity" in each.text]
    assert plan["Plans"][0]["Parent Relationship"] == "InitPlan"
