"""What is known of a token, as the structs of the token service.

The addresses of treasury, auto-renew account and tokens are long-zero ones; who collects fees, owns a serial
or may spend it has its own address, if there is one. The struct of an unknown token has nothing
in it but the kinds of keys and the id of the ledger.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import ZERO_ADDRESS, Address
from web3sim.operations.holdings import KYC_GRANTED, owner_of
from web3sim.operations.signatures import parse_key
from web3sim.state.blocks import MAINNET_CHAIN_ID, chain_id
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import CustomFees, Nft, Token
from web3sim.system_contracts.token_service.bodies import KEY_COLUMNS

_LEDGERS = 3

#: Members of a KeyValue; the first says whether the key of the caller counts, which is never set.
NO_KEY = (False, ZERO_ADDRESS, b"", b"", ZERO_ADDRESS)
#: Seconds, auto-renew account, its period in seconds.
_NO_EXPIRY = (0, ZERO_ADDRESS, 0)

Fee = Mapping[str, Any]


def key_value(key: bytes | None) -> tuple[Any, ...] | None:
    """Return the KeyValue of a serialized key; None without one. That of a list has nothing in it."""
    message = parse_key(key)
    if message is None:
        return None
    field = message.WhichOneof("key")
    return (
        False,
        _contract(message.contractID) if field == "contractID" else ZERO_ADDRESS,
        bytes(message.ed25519) if field == "ed25519" else b"",
        bytes(message.ECDSA_secp256k1) if field == "ECDSA_secp256k1" else b"",
        _contract(message.delegatable_contract_id) if field == "delegatable_contract_id" else ZERO_ADDRESS,
    )


def _contract(contract: Any) -> Address:
    if contract.WhichOneof("contract") == "evm_address":
        return bytes(contract.evm_address).rjust(len(ZERO_ADDRESS), b"\0")[-len(ZERO_ADDRESS) :]
    return entity_id.long_zero(contract.contractNum)


def expiry(token: Token) -> tuple[int, Address, int]:
    """Return an Expiry. A token that states no time expires a period after it came."""
    period = token.auto_renew_period or 0
    nanos = token.expiration_timestamp
    if nanos is None:
        nanos = token.created_timestamp + period * NANOS_PER_SECOND if period else 0
    return nanos // NANOS_PER_SECOND, _long_zero(token.auto_renew_account_id), period


def ledger_id() -> str:
    """Return 0x00 for mainnet, 0x01 testnet, 0x02 previewnet, 0x03 others."""
    return f"0x{min(max(chain_id() - MAINNET_CHAIN_ID, 0), _LEDGERS):02x}"


def token_info(ledger: Overlay, token: Token) -> tuple[Any, ...]:
    supply, fees = ledger.total_supply(token), ledger.custom_fees(token.id)
    return info_struct(ledger, token, supply, fees, deleted=ledger.token(token.id) is None)


def info_struct(
    ledger: Overlay, token: Token, supply: int, fees: CustomFees, *, deleted: bool = False
) -> tuple[Any, ...]:
    """Return the TokenInfo of a token with this supply and these fees, whether it exists or not."""
    struct = (
        token.name,
        token.symbol,
        _long_zero(token.treasury_account_id),
        token.memo,
        token.finite,
        token.max_supply,
        token.freeze_default,
        [(bit, key_value(getattr(token, column)) or NO_KEY) for bit, column in KEY_COLUMNS.items()],
        expiry(token),
    )
    paused, kyc = token.pause_status == "PAUSED", token.kyc_status == KYC_GRANTED
    return (struct, max(supply, 0), deleted, kyc, paused, *fee_structs(ledger, fees), ledger_id())


def no_token_info() -> tuple[Any, ...]:
    keys = [(bit, NO_KEY) for bit in KEY_COLUMNS]
    struct = ("", "", ZERO_ADDRESS, "", False, 0, False, keys, _NO_EXPIRY)
    return (struct, 0, False, False, False, [], [], [], ledger_id())


def nft_info(ledger: Overlay, token: Token, serial_number: int, nft: Nft) -> tuple[Any, ...]:
    """Return what a NonFungibleTokenInfo has in addition to the TokenInfo."""
    owner = owner_of(token, nft)
    return (
        serial_number,
        ledger.address_of(owner),
        nft.created_timestamp // NANOS_PER_SECOND,
        nft.metadata,
        ledger.address_of(nft.spender) if nft.spender else ZERO_ADDRESS,
    )


# FEES


def fee_structs(ledger: Overlay, fees: CustomFees) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the lists of FixedFee, FractionalFee and RoyaltyFee."""
    return (
        [(*_fixed(fee), False, _collector(ledger, fee)) for fee in fees.fixed],
        [
            (
                fee["numerator"],
                fee["denominator"],
                fee.get("minimum_amount") or 0,
                fee.get("maximum_amount") or 0,
                bool(fee.get("net_of_transfers")),
                _collector(ledger, fee),
            )
            for fee in fees.fractional
        ],
        [
            (
                fee["numerator"],
                fee["denominator"],
                *_fixed(fee.get("fallback_fee") or {}),
                _collector(ledger, fee),
            )
            for fee in fees.royalty
        ],
    )


def accounts_of(token: Token | None, fees: CustomFees, nft: Nft | None = None) -> Iterable[int]:
    """Return the accounts whose addresses are in the structs of a token with these fees, and of a serial."""
    yield from (
        fee["collector_account_id"]
        for fee in (*fees.fixed, *fees.fractional, *fees.royalty)
        if fee.get("collector_account_id")
    )
    if token is not None and nft is not None:
        yield owner_of(token, nft)
        if nft.spender:
            yield nft.spender


def _fixed(fee: Fee) -> tuple[int, Address, bool]:
    """Return amount, token, and whether it is hbar."""
    token = fee.get("denominating_token_id")
    return fee.get("amount") or 0, _long_zero(token), not token


def _collector(ledger: Overlay, fee: Fee) -> Address:
    collector = fee.get("collector_account_id")
    return ledger.address_of(collector) if collector else ZERO_ADDRESS


def _long_zero(encoded: int | None) -> Address:
    return entity_id.long_zero(encoded) if encoded else ZERO_ADDRESS
