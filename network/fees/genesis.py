"""The schedule of fees that a network of today begins with. It counts until the file 0.0.113 has another.

The prices are those that the Hiero networks publish.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from mirror.core.values.hapi.messages import FeeExtra, FeeSchedule, HederaFunctionality

_CENT = 100_000_000

_NODE_BASE = 100_000
_NODE_INCLUDED = {"PROCESSING_BYTES": 1350, "SIGNATURES": 1}
_NETWORK_MULTIPLIER = 9
_UNREADABLE = 100

#: The price of a unit of each extra beyond the number that an entry includes.
_EXTRAS = {
    "SIGNATURES": 100_000,
    "STATE_BYTES": 1_000_000,
    "PROCESSING_BYTES": 10_000,
    "KEYS": _CENT,
    "NFT_SERIALS": 8_900_000,
    "ACCOUNTS": 1_000_000,
    "TOKEN_TYPES": 1_000_000,
    "GAS": 852,
    "ALLOWANCES": 5 * _CENT,
    "TOKEN_ASSOCIATE": 5 * _CENT,
    "TOKEN_CREATE_WITH_CUSTOM_FEE": 100 * _CENT,
    "TOKEN_MINT_NFT_BASE": 190_000_000,
    "TOKEN_MINT_NFT": 2 * _CENT,
    "NFT_UPDATE": 10_000_000,
    "AIRDROPS": 5 * _CENT,
    "HOOK_UPDATES": 100 * _CENT,
    "RECORDS": 1_000_000,
    "TOKEN_TRANSFER_BASE": 9_000_000,
    "TOKEN_TRANSFER_BASE_CUSTOM_FEES": 19_000_000,
    "CONSENSUS_CREATE_TOPIC_WITH_CUSTOM_FEE": 199 * _CENT,
    "CONSENSUS_SUBMIT_MESSAGE_WITH_CUSTOM_FEE": 498_300_000,
    "CONSENSUS_SUBMIT_MESSAGE_WITH_CUSTOM_FEE_BYTES": 1_000_000,
    "CONSENSUS_SUBMIT_MESSAGE_WITHOUT_CUSTOM_FEE_BYTES": 6_800,
    "SCHEDULE_CREATE_CONTRACT_CALL_BASE": 9 * _CENT,
    "HOOK_EXECUTION": 50_000_000,
    "HOOK_SLOT_UPDATE": 50_000_000,
}

# The multipliers of all curves, in thousandths: curves differ in how busy the network is at each of them, in
# ten-thousandths of what it can do, and in how far they go.
_MULTIPLIERS = tuple(1000 * times for times in (4, 8, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 200))
_RARE = (2, 3, 5, 7, 10, 15, 20, 50, 100, 200, 500, 1000, 10_000)
_COMMON = (100, 150, 250, 350, 500, 750, 1000, 2500, 5000, 10_000)


class _Entry(NamedTuple):
    """The entry of a transaction or query.

    `included` has how many of each extra the base fee includes, `busy_at` how busy the network is at each
    point of the entry's curve.
    """

    base: int
    included: dict[str, int] = {}
    busy_at: tuple[int, ...] = ()
    free: bool = False
    exempt: bool = False


_QUERY = _Entry(84)
_TOKEN = _Entry(9_000_000)

_SERVICES: dict[str, dict[str, _Entry]] = {
    "Crypto": {
        "CryptoCreate": _Entry(499_000_000, {"KEYS": 1, "HOOK_UPDATES": 0}, _RARE),
        "CryptoUpdate": _Entry(1_200_000, {"KEYS": 1, "HOOK_UPDATES": 0}),
        "CryptoDelete": _Entry(49_000_000),
        "CryptoTransfer": _Entry(
            0,
            {
                "TOKEN_TRANSFER_BASE": 0,
                "TOKEN_TRANSFER_BASE_CUSTOM_FEES": 0,
                "HOOK_EXECUTION": 0,
                "GAS": 0,
                "ACCOUNTS": 2,
                "TOKEN_TYPES": 1,
            },
        ),
        "CryptoApproveAllowance": _Entry(499_000_000, {"ALLOWANCES": 1}, (10_000,)),
        "CryptoDeleteAllowance": _Entry(499_000_000, {"ALLOWANCES": 1}),
        "CryptoGetAccountBalance": _Entry(0, free=True),
        "CryptoGetInfo": _QUERY,
        "CryptoGetAccountRecords": _QUERY,
    },
    "Consensus": {
        "ConsensusCreateTopic": _Entry(
            99_000_000, {"KEYS": 0, "CONSENSUS_CREATE_TOPIC_WITH_CUSTOM_FEE": 0}, _RARE
        ),
        "ConsensusUpdateTopic": _Entry(1_200_000, {"KEYS": 1}),
        "ConsensusSubmitMessage": _Entry(
            700_000,
            {
                "CONSENSUS_SUBMIT_MESSAGE_WITHOUT_CUSTOM_FEE_BYTES": 100,
                "CONSENSUS_SUBMIT_MESSAGE_WITH_CUSTOM_FEE_BYTES": 1024,
                "CONSENSUS_SUBMIT_MESSAGE_WITH_CUSTOM_FEE": 0,
            },
        ),
        "ConsensusDeleteTopic": _Entry(49_000_000),
        "ConsensusGetTopicInfo": _QUERY,
    },
    "File": {
        "FileCreate": _Entry(499_000_000, {"KEYS": 1, "STATE_BYTES": 1000}, _RARE),
        "FileUpdate": _Entry(499_000_000, {"KEYS": 1, "STATE_BYTES": 1000}),
        "FileAppend": _Entry(499_000_000, {"STATE_BYTES": 1000}, _RARE),
        "FileDelete": _Entry(69_000_000),
        "FileGetContents": _Entry(84, {"PROCESSING_BYTES": 1000}),
        "FileGetInfo": _QUERY,
    },
    "Token": {
        "TokenCreate": _Entry(9_999_000_000, {"KEYS": 1, "TOKEN_CREATE_WITH_CUSTOM_FEE": 0}, _COMMON),
        "TokenMint": _Entry(
            9_000_000,
            {"TOKEN_MINT_NFT_BASE": 0, "TOKEN_MINT_NFT": 1},
            (40, 60, 100, 140, 200, 300, 400, 1000, 2000, 4000, 10_000),
        ),
        "TokenBurn": _TOKEN,
        "TokenDelete": _TOKEN,
        "TokenFreezeAccount": _TOKEN,
        "TokenUnfreezeAccount": _TOKEN,
        "TokenPause": _TOKEN,
        "TokenUnpause": _TOKEN,
        "TokenAssociateToAccount": _Entry(499_000_000, {"TOKEN_ASSOCIATE": 1}, _COMMON),
        "TokenAirdrop": _Entry(0, {"AIRDROPS": 0}, _COMMON),
        "TokenClaimAirdrop": _Entry(9_000_000, {}, (2857, 4286, 7143, 10_000)),
        "TokenCancelAirdrop": _TOKEN,
        "TokenDissociateFromAccount": _Entry(499_000_000),
        "TokenGrantKycToAccount": _TOKEN,
        "TokenRevokeKycFromAccount": _TOKEN,
        "TokenReject": _TOKEN,
        "TokenAccountWipe": _TOKEN,
        "TokenFeeScheduleUpdate": _TOKEN,
        "TokenUpdate": _Entry(9_000_000, {"KEYS": 1}),
        "TokenUpdateNfts": _Entry(9_000_000, {"NFT_UPDATE": 1}),
        "TokenGetInfo": _QUERY,
        "TokenGetNftInfo": _QUERY,
    },
    "Schedule": {
        "ScheduleCreate": _Entry(99_000_000, {"KEYS": 1, "SCHEDULE_CREATE_CONTRACT_CALL_BASE": 0}, _COMMON),
        "ScheduleSign": _Entry(9_000_000),
        "ScheduleDelete": _Entry(9_000_000),
        "ScheduleGetInfo": _QUERY,
    },
    "Network": {
        "GetVersionInfo": _QUERY,
        "TransactionGetRecord": _Entry(84, {"RECORDS": 1}),
        "TransactionGetReceipt": _Entry(0, free=True),
        "GetByKey": _QUERY,
        "SystemDelete": _Entry(0),
        "SystemUndelete": _Entry(0),
    },
    "Util": {"UtilPrng": _Entry(9_000_000), "AtomicBatch": _Entry(9_000_000)},
    "Contract": {
        # Gas pays for all of a call.
        "ContractCall": _Entry(0, exempt=True),
        "ContractUpdate": _Entry(259_000_000, {"KEYS": 1, "HOOK_UPDATES": 0}),
        "ContractDelete": _Entry(69_000_000),
        "EthereumTransaction": _Entry(0),
        "ContractCreate": _Entry(
            9_999_000_000,
            {"HOOK_UPDATES": 0, "KEYS": 1},
            (200, 300, 500, 700, 1000, 1500, 2000, 5000, 10_000),
        ),
        "HookStore": _Entry(49_000_000, {"HOOK_SLOT_UPDATE": 1}, _RARE),
        "ContractCallLocal": _Entry(9_000_000, {"GAS": 0}),
        "ContractGetBytecode": _Entry(499_000_000, {"PROCESSING_BYTES": 20_000}),
        "ContractGetInfo": _QUERY,
    },
    "AddressBook": {
        f"{node}{change}": _Entry(9_000_000)
        for node in ("Node", "RegisteredNode")
        for change in ("Create", "Update", "Delete")
    },
}


def genesis() -> Any:
    """Return the FeeSchedule that counts until the file 0.0.113 has another."""
    return FeeSchedule(
        node={"base_fee": _NODE_BASE, "extras": list(_references(_NODE_INCLUDED))},
        network={"multiplier": _NETWORK_MULTIPLIER},
        unreadable={"fee": _UNREADABLE},
        extras=[{"name": FeeExtra.Value(name), "fee": fee} for name, fee in _EXTRAS.items()],
        services=[
            {"name": service, "schedule": [_definition(name, entry) for name, entry in entries.items()]}
            for service, entries in _SERVICES.items()
        ],
    )


def _definition(name: str, entry: _Entry) -> dict[str, Any]:
    definition: dict[str, Any] = {
        "name": HederaFunctionality.Value(name),
        "base_fee": entry.base,
        "extras": list(_references(entry.included)),
        "free": entry.free,
        "node_network_fee_exempt": entry.exempt,
    }
    if entry.busy_at:
        points = [
            {"utilization_basis_points": busy, "multiplier": multiplier}
            for busy, multiplier in zip(entry.busy_at, _MULTIPLIERS, strict=False)
        ]
        definition["high_volume_rates"] = {
            "max_multiplier": points[-1]["multiplier"],
            "pricing_curve": {"piecewise_linear": {"points": points}},
        }
    return definition


def _references(included: dict[str, int]) -> Iterator[dict[str, int]]:
    for name, count in included.items():
        yield {"name": FeeExtra.Value(name), "included_count": count}
