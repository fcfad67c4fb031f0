"""Supply, transfers, airdrops and rejections: calls, and the transactions that do the same."""

from typing import Any

from mirror.demo.streams.record_files import account, transfer_list
from tests.tokens.compose import TokenStream, serials, token, units
from tests.web3sim.system_contracts.ingested.case import A, Case, Happening, T, both, happens
from tests.web3sim.system_contracts.ingested.numbers import (
    HOLDER,
    OPEN,
    OTHER,
    OWNER,
    PLAIN,
    SERIALS,
    STRANGER,
    UNITS,
)


def moves(*moved: Any, **options: Any) -> Happening:
    return lambda made: made.transfer(*moved, **{"payer": HOLDER} | options)


def total(supply: int) -> dict[str, Any]:
    return {"newTotalSupply": supply}


def _mint_serials(made: TokenStream) -> None:
    made.mint_serials(SERIALS, 4, 5, total=5, treasury=OWNER)


MINTED = [b"serial 4", b"serial 5"]
BURN = happens("tokenBurn", units(UNITS, {OWNER: -30}), token=token(UNITS), amount=30, receipt=total(970))
BURN_SERIALS = happens(
    "tokenBurn", serials(SERIALS, (2, OWNER, 0)), token=token(SERIALS), serialNumbers=[2], receipt=total(2)
)
WIPE = happens(
    "tokenWipe",
    units(UNITS, {HOLDER: -10}),
    token=token(UNITS),
    account=account(HOLDER),
    amount=10,
    receipt=total(990),
)
WIPE_SERIAL = happens(
    "tokenWipe",
    serials(SERIALS, (1, HOLDER, 0)),
    token=token(SERIALS),
    account=account(HOLDER),
    serialNumbers=[1],
    receipt=total(2),
)

SUPPLY = [
    *(
        Case(f"mintToken(address,{amount},bytes[])", (T(UNITS), 50, []), mint)
        for amount, mint in (
            ("uint64", lambda made: made.mint(UNITS, 50, 1050, treasury=OWNER)),
            ("int64", lambda made: made.mint(UNITS, 50, 1050, treasury=OWNER)),
        )
    ),
    Case("mintToken(address,uint64,bytes[])", (T(SERIALS), 0, MINTED), _mint_serials),
    Case("mintToken(address,int64,bytes[])", (T(SERIALS), 0, MINTED), _mint_serials),
    Case("burnToken(address,uint64,int64[])", (T(UNITS), 30, []), BURN),
    Case("burnToken(address,int64,int64[])", (T(UNITS), 30, []), BURN),
    Case("burnToken(address,int64,int64[])", (T(SERIALS), 0, [2]), BURN_SERIALS),
    Case("wipeTokenAccount(address,address,uint32)", (T(UNITS), A(HOLDER), 10), WIPE),
    Case("wipeTokenAccount(address,address,int64)", (T(UNITS), A(HOLDER), 10), WIPE),
    Case("wipeTokenAccountNFT(address,address,int64[])", (T(SERIALS), A(HOLDER), [1]), WIPE_SERIAL),
]

# TRANSFERS

TO_OTHER = units(UNITS, {HOLDER: -10, OTHER: 10})
SERIAL_TO_OTHER = serials(SERIALS, (1, HOLDER, OTHER))
SPEND_UNITS = units(UNITS, {OWNER: -25, OTHER: 25}, approved=True)
SPEND_SERIAL = serials(SERIALS, (2, OWNER, OTHER), approved=True)

_allowance = {"tokenId": token(UNITS), "owner": account(OWNER), "spender": account(HOLDER), "amount": 40}
ALLOW_UNITS = happens("cryptoApproveAllowance", tokenAllowances=[_allowance])
ALLOW_SERIAL = happens(
    "cryptoApproveAllowance",
    nftAllowances=[
        {
            "tokenId": token(SERIALS),
            "owner": account(OWNER),
            "spender": account(HOLDER),
            "serial_numbers": [2],
        }
    ],
)
ALLOW_HBAR = happens(
    "cryptoApproveAllowance",
    cryptoAllowances=[{"owner": account(OWNER), "spender": account(HOLDER), "amount": 100}],
)
CHARGE = happens(
    "token_fee_schedule_update",
    token_id=token(UNITS),
    custom_fees=[
        {"fee_collector_account_id": account(OWNER), "fixed_fee": {"amount": 5}},
        {
            "fee_collector_account_id": account(OWNER),
            "fractional_fee": {"fractional_amount": {"numerator": 1, "denominator": 5}},
        },
    ],
)


def _spend_hbar(made: TokenStream) -> None:
    amounts = transfer_list({OWNER: -30, OTHER: 30})
    amounts.accountAmounts[0].is_approval = True
    made.happen(
        "cryptoTransfer",
        {"transfers": amounts, "tokenTransfers": [TO_OTHER]},
        TO_OTHER,
        transfers={OWNER: -30, OTHER: 30},
        payer=HOLDER,
    )


def _pay_fees(made: TokenStream) -> None:
    """What the record has are the amounts after the fees."""
    made.happen(
        "cryptoTransfer",
        {"tokenTransfers": [TO_OTHER]},
        units(UNITS, {HOLDER: -10, OTHER: 8, OWNER: 2}),
        transfers={HOLDER: -5, OWNER: 5},
        payer=HOLDER,
    )


TRANSFERS = [
    Case(
        "transferToken(address,address,address,int64)", (T(UNITS), A(HOLDER), A(OTHER), 10), moves(TO_OTHER)
    ),
    Case(
        "transferToken(address,address,address,int64)",
        (T(UNITS), A(HOLDER), A(OTHER), 10),
        _pay_fees,
        CHARGE,
    ),
    Case(
        "transferTokens(address,address[],int64[])",
        (T(UNITS), [A(HOLDER), A(OTHER)], [-10, 10]),
        moves(TO_OTHER),
    ),
    Case(
        "transferNFT(address,address,address,int64)",
        (T(SERIALS), A(HOLDER), A(OTHER), 1),
        moves(SERIAL_TO_OTHER),
    ),
    Case(
        "transferNFTs(address,address[],address[],int64[])",
        (T(SERIALS), [A(OWNER)] * 2, [A(HOLDER), A(OTHER)], [2, 3]),
        moves(serials(SERIALS, (2, OWNER, HOLDER), (3, OWNER, OTHER)), payer=OWNER),
        sender=OWNER,
    ),
    Case(
        "transferFrom(address,address,address,uint256)",
        (T(UNITS), A(OWNER), A(OTHER), 25),
        moves(SPEND_UNITS),
        ALLOW_UNITS,
    ),
    Case(
        "transferFromNFT(address,address,address,uint256)",
        (T(SERIALS), A(OWNER), A(OTHER), 2),
        moves(SPEND_SERIAL),
        ALLOW_SERIAL,
    ),
    Case(
        "cryptoTransfer(TokenTransferListV1[])",
        ([(T(PLAIN), [(A(HOLDER), -5), (A(OPEN), 5)], []), (T(SERIALS), [], [(A(HOLDER), A(OTHER), 1)])],),
        moves(units(PLAIN, {HOLDER: -5, OPEN: 5}), SERIAL_TO_OTHER, associated=[(OPEN, PLAIN)]),
    ),
    Case(
        "cryptoTransfer(TransferList,TokenTransferListV2[])",
        (
            ([(A(OWNER), -30, True), (A(OTHER), 30, False)],),
            [(T(UNITS), [(A(HOLDER), -10, False), (A(OTHER), 10, False)], [])],
        ),
        _spend_hbar,
        ALLOW_HBAR,
    ),
    Case("transfer(address,uint256)", (A(OTHER), 10), moves(TO_OTHER), target=UNITS),
    Case(
        "transferFrom(address,address,uint256)",
        (A(OWNER), A(OTHER), 25),
        moves(SPEND_UNITS),
        ALLOW_UNITS,
        target=UNITS,
    ),
    Case(
        "transferFrom(address,address,uint256)",
        (A(HOLDER), A(OTHER), 1),
        moves(SERIAL_TO_OTHER),
        target=SERIALS,
    ),
]

# AIRDROPS

_PARTIES = {"sender_id": account(HOLDER), "receiver_id": account(STRANGER)}
PENDING_UNITS = _PARTIES | {"fungible_token_type": token(PLAIN)}
PENDING_SERIAL = _PARTIES | {"non_fungible_token": {"token_ID": token(SERIALS), "serial_number": 1}}
DROP = happens(
    "tokenAirdrop",
    record={
        "new_pending_airdrops": [
            {"pending_airdrop_id": PENDING_UNITS, "pending_airdrop_value": {"amount": 5}},
            {"pending_airdrop_id": PENDING_SERIAL},
        ]
    },
)
# To be able to claim it, a receiver needs no KYC.
CANCEL_BOTH = happens("tokenCancelAirdrop", pending_airdrops=[PENDING_UNITS, PENDING_SERIAL])
CANCEL_UNITS = happens("tokenCancelAirdrop", pending_airdrops=[PENDING_UNITS])
CANCEL_SERIAL = happens("tokenCancelAirdrop", pending_airdrops=[PENDING_SERIAL])
CLAIM_UNITS = happens(
    "tokenClaimAirdrop",
    units(PLAIN, {HOLDER: -5, STRANGER: 5}),
    pending_airdrops=[PENDING_UNITS],
    payer=STRANGER,
)
CLAIM_SERIAL = happens(
    "tokenClaimAirdrop",
    serials(SERIALS, (1, HOLDER, STRANGER)),
    pending_airdrops=[PENDING_SERIAL],
    payer=STRANGER,
)
LET_STRANGER_IN = both(
    lambda made: made.associate(STRANGER, SERIALS),
    happens("tokenGrantKyc", account=account(STRANGER), token=token(SERIALS)),
)
UNITS_ID, SERIAL_ID = (A(HOLDER), A(STRANGER), T(PLAIN), 0), (A(HOLDER), A(STRANGER), T(SERIALS), 1)
REJECT_UNITS = happens(
    "tokenReject",
    units(PLAIN, {HOLDER: -100, OWNER: 100}),
    owner=account(HOLDER),
    rejections=[{"fungible_token": token(PLAIN)}],
)
REJECT_SERIAL = happens(
    "tokenReject",
    serials(SERIALS, (1, HOLDER, OWNER)),
    owner=account(HOLDER),
    rejections=[{"nft": {"token_ID": token(SERIALS), "serial_number": 1}}],
)

AIRDROPS = [
    Case(
        "airdropTokens(TokenTransferListV2[])",
        (
            [
                (T(PLAIN), [(A(HOLDER), -5, False), (A(STRANGER), 5, False)], []),
                (T(SERIALS), [], [(A(HOLDER), A(STRANGER), 1, False)]),
            ],
        ),
        DROP,
    ),
    Case(
        "airdropTokens(TokenTransferListV2[])",
        ([(T(PLAIN), [(A(HOLDER), -9, False), (A(OPEN), 4, False), (A(OTHER), 5, False)], [])],),
        happens("tokenAirdrop", units(PLAIN, {HOLDER: -9, OPEN: 4, OTHER: 5}), associated=[(OPEN, PLAIN)]),
    ),
    Case("cancelAirdrops(PendingAirdrop[])", ([UNITS_ID, SERIAL_ID],), CANCEL_BOTH, DROP),
    Case("claimAirdrops(PendingAirdrop[])", ([UNITS_ID],), CLAIM_UNITS, DROP, sender=STRANGER),
    Case("cancelAirdropFT(address)", (A(STRANGER),), CANCEL_UNITS, DROP, target=PLAIN),
    Case("cancelAirdropNFT(address,int64)", (A(STRANGER), 1), CANCEL_SERIAL, DROP, target=SERIALS),
    Case("claimAirdropFT(address)", (A(HOLDER),), CLAIM_UNITS, DROP, target=PLAIN, sender=STRANGER),
    Case(
        "claimAirdropNFT(address,int64)",
        (A(HOLDER), 1),
        CLAIM_SERIAL,
        both(DROP, LET_STRANGER_IN),
        target=SERIALS,
        sender=STRANGER,
    ),
    Case("rejectTokens(address,address[],NftID[])", (A(HOLDER), [T(PLAIN)], []), REJECT_UNITS),
    Case("rejectTokens(address,address[],NftID[])", (A(HOLDER), [], [(T(SERIALS), 1)]), REJECT_SERIAL),
    Case("rejectTokenFT()", (), REJECT_UNITS, target=PLAIN),
    Case("rejectTokenNFTs(int64[])", ([1],), REJECT_SERIAL, target=SERIALS),
]
