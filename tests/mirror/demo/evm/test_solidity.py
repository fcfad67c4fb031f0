import hashlib
import json

from mirror.demo.evm.solidity import FOLDER, call_data, compiled

VALUES = {"address": bytes(20), "uint256": 0}


def test_the_compiled_contracts_match_their_sources():
    stored = json.loads((FOLDER / "compiled.json").read_text())["sources"]

    assert stored == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("*.sol")
    }


def test_call_data_begins_with_the_selector_from_the_compiler():
    coin = compiled("Coin")

    for signature, selector in coin.selectors.items():
        types = [name for name in signature.partition("(")[2].rstrip(")").split(",") if name]
        assert call_data(signature, *(VALUES[name] for name in types)).hex()[:8] == selector
    assert coin.selectors["transfer(address,uint256)"] == "a9059cbb"
