from typing import Any

import pytest
from eth.vm.forks.cancun.transactions import CancunTransactionBuilder

from mirror.demo.evm.ethereum import EthereumTransaction
from mirror.demo.keys.wallet import EcdsaWallet
from mirror.values import ethereum

WALLET = EcdsaWallet("ethereum")
TO, DATA = b"\xaa" * 20, b"\0\1call data"


def signed(kind, **more):
    asked: dict[str, Any] = {"nonce": 7, "gas_price": 71, "gas": 90_000, "to": TO, "value": 3, "data": DATA}
    return EthereumTransaction(type=kind, **(asked | more)).sign(WALLET)


@pytest.mark.parametrize("kind", [ethereum.LEGACY, ethereum.EIP_2930, ethereum.EIP_1559])
def test_a_transaction_names_its_signer(kind):
    sent = signed(kind)

    decoded = CancunTransactionBuilder.decode(sent.raw)
    assert decoded.sender == WALLET.evm_address
    assert decoded.hash == sent.hash
    assert (decoded.nonce, decoded.gas, decoded.to, decoded.data) == (7, 90_000, TO, DATA)
    assert decoded.value == 3 * ethereum.WEIBARS_PER_TINYBAR
    assert decoded.chain_id == 298


@pytest.mark.parametrize("kind", [ethereum.LEGACY, ethereum.EIP_2930, ethereum.EIP_1559])
def test_a_transaction_whose_call_data_is_in_a_file_keeps_its_signature_and_hash(kind):
    sent = signed(kind, to=b"")

    submitted = ethereum.decode(sent.without_data().raw)
    assert (submitted.call_data, submitted.to_address) == (b"", b"")
    assert submitted.computed_hash(DATA) == sent.hash
