from typing import Any

import pytest
import rlp
from bitcurve import PublicKey
from eth.vm.forks.cancun.transactions import CancunTransactionBuilder
from eth.vm.forks.prague.transactions import PragueTransactionBuilder

from mirror.core.values import ethereum
from mirror.core.values.hashes import keccak256
from mirror.demo.evm.ethereum import EthereumTransaction, authorize
from mirror.demo.streams.keys import EcdsaWallet

WALLET = EcdsaWallet("ethereum")
TO, DATA = b"\xaa" * 20, b"\0\1call data"


def signed(kind, **more):
    fields: dict[str, Any] = {"nonce": 7, "gas_price": 71, "gas": 90_000, "to": TO, "value": 3, "data": DATA}
    return EthereumTransaction(type=kind, **(fields | more)).sign(WALLET)


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
def test_call_data_in_a_file_changes_neither_signature_nor_hash(kind):
    sent = signed(kind, to=b"")

    submitted = ethereum.decode(sent.without_data().raw)
    assert (submitted.call_data, submitted.to_address) == (b"", b"")
    assert submitted.computed_hash(DATA) == sent.hash


def test_an_access_list_is_announced_and_signed():
    sent = signed(ethereum.EIP_1559, access_list=((TO, (0, 2**255)), (b"\xbb" * 20, ())))

    decoded = CancunTransactionBuilder.decode(sent.raw)
    assert decoded.sender == WALLET.evm_address
    announced = [(to, slots) for to, slots in decoded.access_list]
    assert announced == [(TO, (0, 2**255)), (b"\xbb" * 20, ())]


def test_delegating_transaction_names_both_signers():
    other = EcdsaWallet("another account")
    delegation = authorize(other, TO, 3)
    sent = signed(ethereum.EIP_7702, authorizations=(delegation,))

    decoded = PragueTransactionBuilder.decode(sent.raw)
    assert (decoded.sender, decoded.hash) == (WALLET.evm_address, sent.hash)
    (authorization,) = decoded.authorization_list
    assert (authorization.chain_id, authorization.address, authorization.nonce) == (298, TO, 3)
    message = keccak256(b"\5" + rlp.encode([298, TO, 3]))
    signature = delegation.r.to_bytes(32, "big") + delegation.s.to_bytes(32, "big")
    public = PublicKey.from_signature_and_message(
        signature + bytes((delegation.recovery_id,)), message, hasher=None
    )
    assert public.format() == other.public
