"""Fees of transactions by the built-in schedule and by others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values.hapi.messages import FeeExtra, FeeSchedule, HederaFunctionality, Key, TransactionBody
from network.fees.estimate import FUNCTIONALITIES, Schedule
from network.fees.genesis import genesis
from network.fees.usage import KINDS, Facts, UnknownType, count_keys

GENESIS = Schedule(genesis())
NODE_AND_NETWORK = 1_000_000
USD = 10_000_000_000

KEY = {"ed25519": bytes(32)}
TWO_KEYS = {"keyList": {"keys": [KEY, {"ECDSA_secp256k1": bytes(33)}]}}
HOOKS = [{"hook_id": 1}, {"hook_id": 2}]
TOKEN, OTHER, NFT, CUSTOM = 5001, 5002, 5003, 5004
TOPIC = 6001
STATE = {NFT: Facts(non_fungible=True), CUSTOM: Facts(custom_fees=True), TOPIC: Facts(custom_fees=True)}
TYPES = [field.name for field in TransactionBody.DESCRIPTOR.oneofs_by_name["data"].fields]


def fee(name, body, *, state=None, size=100, signatures=1, high_volume=False, busy=0, schedule=GENESIS):
    transaction = TransactionBody(**{name: body}, high_volume=high_volume)
    getattr(transaction, name).SetInParent()
    return schedule.estimate(transaction, size=size, signatures=signatures, state=state, busy=busy)


def extras(part):
    return [(each.name, each.used, each.included, each.subtotal) for each in part.charges]


def amount(account, hook=None, gas=0):
    one = {"accountID": {"accountNum": account}, "amount": 1}
    return one if hook is None else one | {hook: {"hook_id": 1, "evm_hook_call": {"gas_limit": gas}}}


def tokens(number, *accounts):
    return {"token": {"tokenNum": number}, "transfers": [amount(account) for account in accounts]}


def nfts(number, *serials, **hooks):
    moved = {"senderAccountID": {"accountNum": 1}, "receiverAccountID": {"accountNum": 2}, **hooks}
    return {
        "token": {"tokenNum": number},
        "nftTransfers": [moved | {"serialNumber": each} for each in serials],
    }


@pytest.mark.parametrize(
    ("name", "body", "dollars"),
    [
        ("cryptoCreateAccount", {"key": KEY}, 0.05),
        ("cryptoUpdateAccount", {}, 0.00022),
        ("cryptoDelete", {}, 0.005),
        ("cryptoTransfer", {}, 0.0001),
        ("cryptoApproveAllowance", {"cryptoAllowances": [{}]}, 0.05),
        ("cryptoDeleteAllowance", {"nftAllowances": [{}]}, 0.05),
        ("consensusCreateTopic", {}, 0.01),
        ("consensusUpdateTopic", {}, 0.00022),
        ("consensusDeleteTopic", {}, 0.005),
        ("fileCreate", {"contents": bytes(1000)}, 0.05),
        ("fileUpdate", {}, 0.05),
        ("fileAppend", {}, 0.05),
        ("fileDelete", {}, 0.007),
        ("tokenCreation", {"adminKey": KEY}, 1),
        ("tokenUpdate", {"adminKey": KEY}, 0.001),
        ("tokenMint", {"amount": 5}, 0.001),
        ("tokenMint", {"metadata": [b"1"]}, 0.02),
        ("tokenBurn", {"serialNumbers": [1, 2]}, 0.001),
        ("tokenWipe", {}, 0.001),
        ("tokenAssociate", {"tokens": [{}]}, 0.05),
        ("tokenDissociate", {"tokens": [{}, {}]}, 0.05),
        ("tokenReject", {}, 0.001),
        ("tokenClaimAirdrop", {}, 0.001),
        ("scheduleCreate", {"adminKey": KEY, "scheduledTransactionBody": {}}, 0.01),
        ("scheduleSign", {}, 0.001),
        ("contractCreateInstance", {"adminKey": KEY, "gas": 1_000_000}, 1),
        ("contractUpdateInstance", {}, 0.026),
        ("contractDeleteInstance", {}, 0.007),
        ("contractCall", {"gas": 1_000_000}, 0),
        ("ethereumTransaction", {}, 0.0001),
        ("hook_store", {"storage_updates": [{"storage_slot": {}}]}, 0.005),
        ("util_prng", {}, 0.001),
        ("atomic_batch", {}, 0.001),
        ("nodeCreate", {}, 0.001),
        ("registeredNodeUpdate", {}, 0.001),
        ("systemDelete", {}, 0),
        ("systemUndelete", {}, 0),
        ("hook_dispatch", {}, 0),
    ],
)
def test_a_plain_transaction_costs_what_the_networks_publish(name, body, dollars):
    assert fee(name, body).total == round(dollars * USD)
    assert fee(name, body, state={}).total == round(dollars * USD)


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        (
            "cryptoCreateAccount",
            {"key": TWO_KEYS, "hook_creation_details": HOOKS},
            [("KEYS", 2, 1, 100_000_000), ("HOOK_UPDATES", 2, 0, 20_000_000_000)],
        ),
        (
            "cryptoUpdateAccount",
            {"key": TWO_KEYS, "hook_creation_details": HOOKS, "hook_ids_to_delete": [1]},
            [("KEYS", 2, 1, 100_000_000), ("HOOK_UPDATES", 3, 0, 30_000_000_000)],
        ),
        (
            "cryptoApproveAllowance",
            {"cryptoAllowances": [{}], "tokenAllowances": [{}], "nftAllowances": [{}]},
            [("ALLOWANCES", 3, 1, 1_000_000_000)],
        ),
        ("cryptoDeleteAllowance", {"nftAllowances": [{}, {}]}, [("ALLOWANCES", 2, 1, 500_000_000)]),
        (
            "consensusCreateTopic",
            {
                "adminKey": KEY,
                "submitKey": TWO_KEYS,
                "fee_schedule_key": KEY,
                "fee_exempt_key_list": [KEY],
                "custom_fees": [{}],
            },
            [("KEYS", 4, 0, 400_000_000), ("CONSENSUS_CREATE_TOPIC_WITH_CUSTOM_FEE", 1, 0, 19_900_000_000)],
        ),
        (
            "consensusUpdateTopic",
            {"submitKey": KEY, "fee_exempt_key_list": {"keys": [KEY, KEY]}},
            [("KEYS", 3, 1, 200_000_000)],
        ),
        (
            "consensusSubmitMessage",
            {"message": bytes(150)},
            [("CONSENSUS_SUBMIT_MESSAGE_WITHOUT_CUSTOM_FEE_BYTES", 150, 100, 340_000)],
        ),
        (
            "fileCreate",
            {"keys": {"keys": [KEY, KEY]}, "contents": bytes(1003)},
            [("KEYS", 2, 1, 100_000_000), ("STATE_BYTES", 1003, 1000, 3_000_000)],
        ),
        ("fileAppend", {"contents": bytes(1001)}, [("STATE_BYTES", 1001, 1000, 1_000_000)]),
        (
            "tokenCreation",
            {
                **dict.fromkeys(("adminKey", "kycKey", "freezeKey", "wipeKey"), KEY),
                **dict.fromkeys(("supplyKey", "fee_schedule_key", "pause_key", "metadata_key"), KEY),
            },
            [("KEYS", 8, 1, 700_000_000), ("TOKEN_CREATE_WITH_CUSTOM_FEE", 1, 0, 10_000_000_000)],
        ),
        (
            "tokenCreation",
            {"custom_fees": [{}, {}]},
            [("TOKEN_CREATE_WITH_CUSTOM_FEE", 1, 0, 10_000_000_000)],
        ),
        ("tokenUpdate", {"wipeKey": TWO_KEYS}, [("KEYS", 2, 1, 100_000_000)]),
        (
            "tokenMint",
            {"metadata": [b"1", b"2", b"3"]},
            [("TOKEN_MINT_NFT_BASE", 1, 0, 190_000_000), ("TOKEN_MINT_NFT", 3, 1, 400_000_000)],
        ),
        ("token_update_nfts", {"serial_numbers": [1, 2]}, [("NFT_UPDATE", 2, 1, 10_000_000)]),
        ("tokenAssociate", {"tokens": [{}, {}]}, [("TOKEN_ASSOCIATE", 2, 1, 500_000_000)]),
        (
            "scheduleCreate",
            {"adminKey": TWO_KEYS, "scheduledTransactionBody": {"contractCall": {}}},
            [("KEYS", 2, 1, 100_000_000), ("SCHEDULE_CREATE_CONTRACT_CALL_BASE", 1, 0, 900_000_000)],
        ),
        (
            "contractCreateInstance",
            {"adminKey": TWO_KEYS, "hook_creation_details": HOOKS},
            [("KEYS", 2, 1, 100_000_000), ("HOOK_UPDATES", 2, 0, 20_000_000_000)],
        ),
        (
            "contractUpdateInstance",
            {"hook_creation_details": HOOKS, "hook_ids_to_delete": [1]},
            [("HOOK_UPDATES", 2, 0, 20_000_000_000), ("HOOK_UPDATES", 1, 0, 10_000_000_000)],
        ),
        (
            "hook_store",
            {"storage_updates": [{"storage_slot": {}}, {"mapping_entries": {"entries": [{}, {}]}}]},
            [("HOOK_SLOT_UPDATE", 3, 1, 100_000_000)],
        ),
    ],
)
def test_what_is_used_beyond_the_included_number_is_charged(name, body, expected):
    estimate = fee(name, body)
    assert extras(estimate.service) == expected
    assert estimate.service.total == estimate.service.base + sum(subtotal for *_, subtotal in expected)


def test_the_node_charges_signatures_and_bytes_and_the_network_a_multiple_of_all():
    estimate = fee("cryptoTransfer", {}, signatures=3, size=1360)
    assert extras(estimate.node) == [("PROCESSING_BYTES", 1360, 1350, 100_000), ("SIGNATURES", 3, 1, 200_000)]
    assert (estimate.node.base, estimate.network_multiplier, estimate.network) == (100_000, 9, 3_600_000)
    assert estimate.total == 4_000_000


TRANSFERS = [
    ({"transfers": {"accountAmounts": [amount(1), amount(2), amount(3), amount(3)]}}, ["ACCOUNTS 3"], None),
    ({"tokenTransfers": [tokens(TOKEN, 1, 2)]}, ["TOKEN_TRANSFER_BASE 1"], None),
    (
        {"tokenTransfers": [tokens(TOKEN, 1, 2), tokens(OTHER, 1, 2), nfts(NFT, 1, 2)]},
        ["TOKEN_TRANSFER_BASE 1", "TOKEN_TYPES 4"],
        None,
    ),
    (
        {"tokenTransfers": [tokens(TOKEN, 1, 2), tokens(CUSTOM, 1, 3)]},
        ["ACCOUNTS 3", "TOKEN_TRANSFER_BASE 1", "TOKEN_TYPES 2"],
        ["ACCOUNTS 3", "TOKEN_TRANSFER_BASE_CUSTOM_FEES 1", "TOKEN_TYPES 2"],
    ),
    # The list of a token of one kind holds no transfers of the other.
    ({"tokenTransfers": [tokens(NFT, 1, 2)]}, ["TOKEN_TRANSFER_BASE 1"], []),
    (
        {"transfers": {"accountAmounts": [amount(1, "pre_tx_allowance_hook", 30), amount(2)]}},
        ["HOOK_EXECUTION 1", "GAS 30"],
        None,
    ),
    (
        {
            "tokenTransfers": [
                {"token": {}, "transfers": [amount(1, "pre_post_tx_allowance_hook", 30)]},
                nfts(NFT, 1, pre_tx_receiver_allowance_hook={"evm_hook_call": {"gas_limit": 5}}),
            ]
        },
        ["HOOK_EXECUTION 3", "GAS 65", "TOKEN_TRANSFER_BASE 1", "TOKEN_TYPES 2"],
        None,
    ),
]


@pytest.mark.parametrize(("body", "told", "known"), TRANSFERS)
def test_a_transfer_is_charged_by_accounts_hooks_and_tokens(body, told, known):
    for state, expected in ((None, told), (STATE, told if known is None else known)):
        charged = fee("cryptoTransfer", body, state=state).service.charges
        assert [f"{each.name} {each.used}" for each in charged] == expected


def test_an_airdrop_costs_what_the_transfer_costs():
    lists = [tokens(TOKEN, 1, 2, 3), tokens(CUSTOM, 1, 2)]
    airdrop = fee("tokenAirdrop", {"token_transfers": lists}, state=STATE)
    assert airdrop == fee("cryptoTransfer", {"tokenTransfers": lists}, state=STATE)
    assert airdrop.service.total == 19_000_000 + 2 * 1_000_000


def test_a_message_to_a_topic_with_fees_costs_more_if_the_state_counts():
    body = {"topicID": {"topicNum": TOPIC}, "message": bytes(1025)}
    assert extras(fee("consensusSubmitMessage", body, state=STATE).service) == [
        ("CONSENSUS_SUBMIT_MESSAGE_WITH_CUSTOM_FEE", 1, 0, 498_300_000),
        ("CONSENSUS_SUBMIT_MESSAGE_WITH_CUSTOM_FEE_BYTES", 1025, 1024, 1_000_000),
    ]
    without = [("CONSENSUS_SUBMIT_MESSAGE_WITHOUT_CUSTOM_FEE_BYTES", 1025, 100, 6_290_000)]
    assert extras(fee("consensusSubmitMessage", body).service) == without
    assert extras(fee("consensusSubmitMessage", body, state={}).service) == without


def test_an_id_that_cannot_be_names_nothing_that_is_known():
    impossible = {"topicNum": -1}
    assert fee("consensusSubmitMessage", {"topicID": impossible}, state=STATE).total == 1_700_000
    lists = [{"token": {"tokenNum": 1 << 50}, "transfers": [amount(1)]}]
    assert fee("cryptoTransfer", {"tokenTransfers": lists}, state=STATE).total == 10_000_000


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_a_fee_or_is_unknown(name):
    kind = KINDS.get(name)
    listed = {entry.name for service in genesis().services for entry in service.schedule}
    if kind is None or not kind.is_free and HederaFunctionality.Value(kind.functionality) not in listed:
        with pytest.raises(UnknownType):
            fee(name, {})
    elif name != "scheduleCreate":
        assert fee(name, {}).total >= 0


def test_every_transaction_in_the_built_in_schedule_can_be_estimated():
    queries = ("Get", "CallLocal")
    for service in genesis().services:
        for entry in service.schedule:
            name = HederaFunctionality.Name(entry.name)
            assert any(part in name for part in queries) != (
                name in {kind.functionality for kind in KINDS.values()}
            )


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("scheduleCreate", {}),
        ("cryptoTransfer", {"transfers": {"accountAmounts": [{"amount": 1}]}}),
        ("cryptoTransfer", {"tokenTransfers": [{"transfers": [amount(1)]}]}),
        ("tokenAirdrop", {"token_transfers": [{"token": {}, "nftTransfers": [{"senderAccountID": {}}]}]}),
    ],
)
def test_a_body_without_a_part_that_its_fee_needs_is_unknown(name, body):
    with pytest.raises(UnknownType):
        fee(name, body)


def test_a_message_needs_a_topic_only_if_the_state_counts():
    assert fee("consensusSubmitMessage", {}).total > 0
    with pytest.raises(UnknownType):
        fee("consensusSubmitMessage", {}, state={})


@pytest.mark.parametrize(
    ("payer", "file", "waived"),
    [
        *[(2, 101, True), (50, 1000, True), (2, 1001, False), (2, 0, False), (1001, 112, False)],
        *[(55, 102, True), (55, 111, False), (56, 111, True), (56, 113, True), (57, 112, True)],
        *[(57, 101, False), (58, 150, True), (58, 159, True), (58, 160, False)],
    ],
)
def test_an_update_of_a_system_file_by_its_administrator_is_free_if_the_state_counts(payer, file, waived):
    body = TransactionBody(
        transactionID={"accountID": {"accountNum": payer}}, fileUpdate={"fileID": {"fileNum": file}}
    )
    free = GENESIS.estimate(body, size=2000, signatures=3, state={})
    assert (free.total == 0, free.node.base == 0, free.network == 0) == (waived,) * 3
    assert GENESIS.estimate(body, size=2000, signatures=3).total > 0


def test_a_body_without_a_type_is_unknown():
    with pytest.raises(UnknownType):
        GENESIS.estimate(TransactionBody(memo="x"), size=1, signatures=0)


# Other schedules

CREATE = HederaFunctionality.Value("CryptoCreate")


def schedule(**definition):
    entry = {"name": CREATE, "base_fee": 2000, "extras": [{"name": FeeExtra.Value("KEYS")}], **definition}
    return FeeSchedule(
        node={"base_fee": 70, "extras": [{"name": FeeExtra.Value("SIGNATURES")}]},
        network={"multiplier": 3},
        extras=[
            {"name": FeeExtra.Value("KEYS"), "fee": 500},
            {"name": FeeExtra.Value("SIGNATURES"), "fee": 10},
        ],
        services=[{"name": "Crypto", "schedule": [entry]}],
    )


@pytest.mark.parametrize(
    ("definition", "total"),
    [
        ({}, (70 + 10) * 4 + 2000 + 500),
        ({"free": True}, 0),
        ({"node_network_fee_exempt": True}, 2500),
        ({"free": True, "node_network_fee_exempt": True}, 0),
        ({"extras": []}, 80 * 4 + 2000),
        ({"extras": [{"name": 1, "included_count": 1}]}, 80 * 4 + 2000),
        # An extra without a price costs nothing.
        ({"extras": [{"name": FeeExtra.Value("HOOK_UPDATES")}]}, 80 * 4 + 2000),
        ({"base_fee": 1 << 63}, (1 << 63) - 1),
    ],
)
def test_an_entry_decides_what_is_charged(definition, total):
    body = {"key": KEY, "hook_creation_details": HOOKS}
    estimate = fee("cryptoCreateAccount", body, schedule=Schedule(schedule(**definition)))
    assert estimate.total == total


def test_a_schedule_without_entries_is_none():
    with pytest.raises(ValueError):
        Schedule(FeeSchedule(network={"multiplier": 9}))


@given(st.recursive(st.just(Key(ed25519=b"1")), lambda keys: st.lists(keys, max_size=4).map(
    lambda each: Key(thresholdKey={"threshold": 1, "keys": {"keys": each}})), max_leaves=20))  # fmt: skip
def test_keys_are_counted_at_any_depth(key):
    assert count_keys(key) == key.SerializeToString().count(b"\x12\x011")


@given(
    name=st.sampled_from(sorted(set(TYPES) & set(KINDS))),
    size=st.integers(1, 1 << 20),
    signatures=st.integers(0, 1000),
    state=st.sampled_from([None, {}, STATE]),
    high_volume=st.booleans(),
    busy=st.integers(0, 10_000),
)
def test_the_total_is_the_sum_of_the_parts(name, size, signatures, state, high_volume, busy):
    options = {"state": state, "size": size, "signatures": signatures, "busy": busy}
    try:
        estimate = fee(name, {}, high_volume=high_volume, **options)
    except UnknownType:
        return
    assert estimate.total == estimate.node.total + estimate.network + estimate.service.total
    assert estimate.network == estimate.node.total * estimate.network_multiplier
    for part in (estimate.node, estimate.service):
        assert part.total == part.base + sum(each.subtotal for each in part.charges)
        assert all(each.subtotal == each.fee_per_unit * (each.used - each.included) for each in part.charges)
        assert all(each.charged > 0 for each in part.charges)
    once = fee(name, {}, **options)
    assert estimate.total * 1000 == once.total * estimate.multiplier
    changes = high_volume and state is not None and KINDS[name].functionality in FUNCTIONALITIES
    assert (estimate.multiplier > 1000) == changes
