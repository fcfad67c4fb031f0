"""Creations of tokens, schedules, and accounts: calls, and the transactions that do the same."""

from typing import Any

from eth_abi.abi import encode

from mirror.core.values.hapi.messages import ContractID, Key, SignatureMap, SignaturePair
from mirror.demo.streams.record_files import account
from tests.tokens.compose import KEY, token
from tests.web3sim.system_contracts.ingested.case import NOBODY, A, Case, Happening, T, happens
from tests.web3sim.system_contracts.ingested.changes import changed
from tests.web3sim.system_contracts.ingested.numbers import (
    CALLER,
    HOLDER,
    NEW,
    OPEN,
    OTHER,
    OWNER,
    PLAIN,
    SCHEDULE,
    UNITS,
)
from web3sim.state.proxy_code import ACCOUNT_SERVICE, SCHEDULE_SERVICE, TOKEN_SERVICE
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

# TOKENS

_FEE = 3 * 10**9
_PERIOD = 7_776_000
_KEYS = [(1 | 16, (False, NOBODY, KEY["ed25519"], b"", NOBODY)), (4, (True, NOBODY, b"", b"", NOBODY))]
STRUCT = ("Gold", "GLD", A(OWNER), "memo", True, 9_000, True, _KEYS, (0, A(OTHER), _PERIOD))
_BODY: dict[str, Any] = {
    "name": "Gold",
    "symbol": "GLD",
    "memo": "memo",
    "supplyType": "FINITE",
    "maxSupply": 9_000,
    "freezeDefault": True,
    **dict.fromkeys(("adminKey", "supplyKey", "freezeKey"), KEY),
    "autoRenewAccount": account(OTHER),
    "autoRenewPeriod": {"seconds": _PERIOD},
}
_FIXED = [(5, T(PLAIN), False, False, A(OWNER)), (7, NOBODY, True, False, A(HOLDER))]
_FIXED_BODY = [
    {
        "fee_collector_account_id": account(OWNER),
        "fixed_fee": {"amount": 5, "denominating_token_id": token(PLAIN)},
    },
    {"fee_collector_account_id": account(HOLDER), "fixed_fee": {"amount": 7}},
]
_FRACTIONAL_BODY = {
    "fee_collector_account_id": account(OWNER),
    "fractional_fee": {
        "fractional_amount": {"numerator": 1, "denominator": 10},
        "minimum_amount": 2,
        "maximum_amount": 50,
        "net_of_transfers": True,
    },
}
_ROYALTY_BODY = {
    "fee_collector_account_id": account(OWNER),
    "royalty_fee": {
        "exchange_value_fraction": {"numerator": 1, "denominator": 10},
        "fallback_fee": {"amount": 3},
    },
}


def creates(**body: Any) -> Happening:
    return lambda made: made.create(NEW, **{"treasury": OWNER} | _BODY | body)


_UNITS = creates(supply=500, decimals=2)
_UNITS_WITH_FEES = creates(supply=500, decimals=2, custom_fees=[*_FIXED_BODY, _FRACTIONAL_BODY])
_UNIQUE = creates(tokenType="NON_FUNGIBLE_UNIQUE")
_UNIQUE_WITH_FEES = creates(tokenType="NON_FUNGIBLE_UNIQUE", custom_fees=[_ROYALTY_BODY])
_FRACTIONAL, _ROYALTY = [(1, 10, 2, 50, True, A(OWNER))], [(1, 10, 3, NOBODY, True, A(OWNER))]

CREATIONS = [
    case
    for token_version, fee_version, numbers in (
        ("V1", "V1", "uint256,uint256"),
        ("V2", "V1", "uint64,uint32"),
        ("V3", "V2", "int64,int32"),
    )
    for struct, fees in ((f"HederaToken{token_version}", f"Fee{fee_version}[]"),)
    for case in (
        Case(f"createFungibleToken({struct},{numbers})", (STRUCT, 500, 2), _UNITS, value=_FEE),
        Case(
            f"createFungibleTokenWithCustomFees({struct},{numbers},Fixed{fees},Fractional{fees})",
            (STRUCT, 500, 2, _FIXED, _FRACTIONAL),
            _UNITS_WITH_FEES,
            value=_FEE,
        ),
        Case(f"createNonFungibleToken({struct})", (STRUCT,), _UNIQUE, value=_FEE),
        Case(
            f"createNonFungibleTokenWithCustomFees({struct},Fixed{fees},Royalty{fees})",
            (STRUCT, [], _ROYALTY),
            _UNIQUE_WITH_FEES,
            value=_FEE,
        ),
    )
]

# SCHEDULES

EXPIRES = 1_000
_TIMED = "uint256,uint256,uint64,bytes"
_EXPIRY = "updateTokenExpiryInfo(address,ExpiryV2)"
_INNER = selector_of(_EXPIRY) + encode(parameters_of(_EXPIRY), (T(UNITS), (0, A(OTHER), 7_000_000)))


def schedules(scheduled: dict[str, Any], *, payer: int = HOLDER, waits: bool = True) -> Happening:
    """An account that calls signs nothing."""
    return happens(
        "scheduleCreate",
        scheduledTransactionBody=scheduled,
        payerAccountID=account(payer),
        wait_for_expiry=waits,
        receipt={"scheduleID": {"scheduleNum": NEW}},
    )


def _by_caller(kind: str, **body: Any) -> Happening:
    """A transaction of the contract, signed by its key, which names it by the number of the case."""

    def happening(made: Any) -> Any:
        key = Key(contractID=ContractID(contractNum=CALLER + made.at)).SerializeToString()
        signed = SignatureMap(sigPair=[SignaturePair(pubKeyPrefix=key, contract=bytes(64))])
        return happens(kind, payer=CALLER, signatures=signed, **body)(made)

    return happening


_CALL = {
    "contractCall": {
        "contractID": ContractID(contractNum=OTHER),
        "gas": 50_000,
        "amount": 7,
        "functionParameters": b"data",
    }
}
_SIGNS = _by_caller("scheduleSign", scheduleID={"scheduleNum": SCHEDULE})
_DELETES = happens("scheduleDelete", scheduleID={"scheduleNum": SCHEDULE})
_AFTER = (EXPIRES, 50_000, 7, b"data")


def _at_service(signature: str, arguments: tuple[Any, ...], transaction: Happening, **options: Any) -> Case:
    return Case(signature, arguments, transaction, service=SCHEDULE_SERVICE, **options)


SCHEDULES = [
    _at_service(f"scheduleCall(address,{_TIMED})", (A(OTHER), *_AFTER), schedules(_CALL)),
    _at_service(
        f"scheduleCall(address,{_TIMED})",
        (A(OTHER), *_AFTER),
        _by_caller(
            "scheduleCreate",
            scheduledTransactionBody=_CALL,
            adminKey=Key(contractID=ContractID(contractNum=CALLER)),
            payerAccountID=account(CALLER),
            wait_for_expiry=True,
            receipt={"scheduleID": {"scheduleNum": NEW}},
        ),
        sender=CALLER,
    ),
    _at_service(
        f"scheduleCallWithPayer(address,address,{_TIMED})",
        (A(OTHER), A(OWNER), *_AFTER),
        schedules(_CALL, payer=OWNER),
    ),
    _at_service(
        f"executeCallOnPayerSignature(address,address,{_TIMED})",
        (A(OTHER), A(OWNER), *_AFTER),
        schedules(_CALL, payer=OWNER, waits=False),
    ),
    _at_service(
        "scheduleNative(address,bytes,address)",
        (TOKEN_SERVICE, _INNER, A(OWNER)),
        schedules(
            {
                "tokenUpdate": {
                    "token": token(UNITS),
                    "autoRenewAccount": account(OTHER),
                    "autoRenewPeriod": {"seconds": 7_000_000},
                }
            },
            payer=OWNER,
            waits=False,
        ),
    ),
    _at_service("authorizeSchedule(address)", (A(SCHEDULE),), _SIGNS, sender=CALLER),
    _at_service("deleteSchedule(address)", (A(SCHEDULE),), _DELETES),
    _at_service("signSchedule()", (), _SIGNS, target=SCHEDULE, sender=CALLER),
    _at_service("deleteSchedule()", (), _DELETES, target=SCHEDULE),
]

# ACCOUNTS


def allows(tinybars: int) -> Happening:
    granted = {"owner": account(HOLDER), "spender": account(OTHER), "amount": tinybars}
    return happens("cryptoApproveAllowance", cryptoAllowances=[granted])


def takes(most: int, number: int) -> Happening:
    return happens(
        "cryptoUpdateAccount",
        accountIDToUpdate=account(number),
        max_automatic_token_associations={"value": most},
    )


def _at_account(signature: str, arguments: tuple[Any, ...], transaction: Happening, **options: Any) -> Case:
    return Case(signature, arguments, transaction, service=ACCOUNT_SERVICE, **options)


_APPROVE, _SET = "hbarApprove(address,address,int256)", "setUnlimitedAutomaticAssociations(bool)"

ACCOUNTS = [
    _at_account(_APPROVE, (A(HOLDER), A(OTHER), 70), allows(70)),
    _at_account(_APPROVE, (A(HOLDER), A(OTHER), 5), allows(5), prepare=allows(70)),
    _at_account(_APPROVE, (A(HOLDER), A(OTHER), 0), allows(0), prepare=allows(70)),
    _at_account("hbarApprove(address,int256)", (A(OTHER), 70), allows(70), target=HOLDER, sender=OTHER),
    _at_account(_SET, (True,), takes(-1, HOLDER), target=HOLDER, sender=OTHER),
    _at_account(_SET, (False,), takes(0, OPEN), target=OPEN),
]

# OLDER STRUCTS OF CHANGES

_RENAME = happens("tokenUpdate", token=token(UNITS), name="New", memo={"value": "m"})

OLDER_CHANGES = [
    *(
        Case(
            f"updateTokenInfo(address,HederaToken{version})",
            (T(UNITS), changed(name="New", memo="m")),
            _RENAME,
        )
        for version in ("V1", "V2")
    ),
    Case(
        "updateTokenExpiryInfo(address,ExpiryV1)",
        (T(UNITS), (0, A(OTHER), 7_000_000)),
        happens(
            "tokenUpdate",
            token=token(UNITS),
            autoRenewAccount=account(OTHER),
            autoRenewPeriod={"seconds": 7_000_000},
        ),
    ),
]
