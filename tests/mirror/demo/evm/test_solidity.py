import hashlib
import json

from mirror.demo.evm import abi
from mirror.demo.evm.solidity import FOLDER, compiled


def test_the_compiled_contracts_are_those_of_the_sources():
    stored = json.loads((FOLDER / "compiled.json").read_text())["sources"]

    assert stored == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("*.sol")
    }


def test_call_data_begins_with_the_selector_the_compiler_gave():
    coin = compiled("Coin")

    for signature, selector in coin.selectors.items():
        assert abi.call_data(signature).hex()[:8] == selector
    assert coin.selectors["transfer(address,uint256)"] == "a9059cbb"


def test_texts_follow_the_words_that_point_at_them():
    encoded = abi.encode(7, "abc", b"\xaa" * 20, b"")

    words = [encoded[start : start + 32] for start in range(0, len(encoded), 32)]
    assert [int.from_bytes(word, "big") for word in words[:4]] == [7, 128, int("aa" * 20, 16), 192]
    assert words[4:] == [abi.encode(3), b"abc".ljust(32, b"\0"), abi.encode(0)]
