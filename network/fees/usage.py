"""The extras that a transaction uses, by the type of its body: keys, bytes, signatures and the like.

The entry in a schedule of fees decides which of them are charged, and how many its base fee includes.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from google.protobuf.message import Message

from mirror.core.values import entity_id

# Accounts, and the system files that they may update: the treasury and the administrators of the system all,
# those of address books, fees, exchange rates and upgrades theirs.
_SUPERUSERS, _LAST_SYSTEM_FILE = (2, 50), 1000
_FILES: Mapping[int, Container[int]] = {
    55: (101, 102, 121, 122, 123),
    56: (111, 113),
    57: (112, 121, 122, 123),
    58: range(150, 160),
}

_SIMPLE_KEYS = frozenset({"ed25519", "ECDSA_secp256k1", "ECDSA_384"})


class UnknownType(ValueError):
    """There is no fee for this type of transaction, or not for a body without these parts."""


class Facts(NamedTuple):
    """The properties of a token or topic that change fees."""

    non_fungible: bool = False
    custom_fees: bool = False


#: The facts of the tokens and topics that a body names, by id; None where the transaction alone counts.
State = Mapping[int, Facts] | None
#: Pairs of an extra and its number of units. Several pairs of one extra are charged each by itself.
Uses = Iterable[tuple[str, int]]
_Count = Callable[[Any, State], Uses]


class FeeKind(NamedTuple):
    """A type of transaction: its entry in the schedule, and a function that counts the extras it uses.

    `prices` is the entry with its base fee and extras, if that is the entry of another type. `is_free`: it
    costs nothing, whatever the schedule says.
    """

    functionality: str
    uses: _Count = lambda body, state: ()
    prices: str = ""
    is_free: bool = False


def count_keys(key: Any) -> int:
    """Return the number of cryptographic keys in a key, at any depth of its lists."""
    kind = key.WhichOneof("key")
    if kind == "keyList":
        return sum(map(count_keys, key.keyList.keys))
    if kind == "thresholdKey":
        return sum(map(count_keys, key.thresholdKey.keys.keys))
    return int(kind in _SIMPLE_KEYS)


def encoded(num: int, message: Any) -> int:
    """Return the encoded id of a TokenID or TopicID; 0, which names nothing, for an impossible one."""
    try:
        return entity_id.encode(message.shardNum, message.realmNum, num)
    except entity_id.InvalidEntityId:
        return 0


def is_waived(body: Any) -> bool:
    """Return whether a TransactionBody updates a system file on behalf of an account that may do so."""
    file, payer = body.fileUpdate.fileID.fileNum, body.transactionID.accountID.accountNum
    return body.HasField("fileUpdate") and (
        (0 < file <= _LAST_SYSTEM_FILE and payer in _SUPERUSERS) or file in _FILES.get(payer, ())
    )


def named_ids(name: str, body: Any) -> set[int]:
    """Return the ids of the tokens and topics whose facts a type of transaction needs."""
    ids: set[int] = set()
    if name == "consensusSubmitMessage":
        ids.add(encoded(body.topicID.topicNum, body.topicID))
    elif name in ("cryptoTransfer", "tokenAirdrop"):
        lists = body.tokenTransfers if name == "cryptoTransfer" else body.token_transfers
        ids.update(encoded(each.token.tokenNum, each.token) for each in lists)
    return ids


# COUNTING
def _required(message: Any, name: str) -> Any:
    """Return a part of a message. Errors: UnknownType if it is missing."""
    if not message.HasField(name):
        raise UnknownType(name)
    return getattr(message, name)


def _counts(**fields: str) -> _Count:
    """Return a function that counts extras by fields of a body: keys, lengths, or numbers as they are."""
    extras = [(extra, names.split()) for extra, names in fields.items()]
    return lambda body, state: [(extra, sum(_count(body, name) for name in names)) for extra, names in extras]


def _count(body: Any, name: str) -> int:
    value = getattr(body, name)
    if isinstance(value, int):
        return value
    if not isinstance(value, Message):
        return len(value)
    return count_keys(value) if body.HasField(name) else 0


_KEYS_OF_TOKEN = "adminKey kycKey freezeKey wipeKey supplyKey fee_schedule_key pause_key metadata_key"
_token_keys = _counts(KEYS=_KEYS_OF_TOKEN)
_topic_keys = _counts(KEYS="adminKey submitKey fee_schedule_key")


def _contract_update(body: Any, state: State) -> Uses:
    yield "KEYS", _count(body, "adminKey")
    yield "HOOK_UPDATES", len(body.hook_creation_details)
    yield "HOOK_UPDATES", len(body.hook_ids_to_delete)


def _file(body: Any, state: State) -> Uses:
    yield "KEYS", sum(map(count_keys, body.keys.keys))
    yield "STATE_BYTES", len(body.contents)


def _hook_store(body: Any, state: State) -> Uses:
    updates = body.storage_updates
    slots = sum(each.HasField("storage_slot") or len(each.mapping_entries.entries) for each in updates)
    yield "HOOK_SLOT_UPDATE", slots


def _schedule_create(body: Any, state: State) -> Uses:
    yield "KEYS", _count(body, "adminKey")
    scheduled = _required(body, "scheduledTransactionBody")
    yield "SCHEDULE_CREATE_CONTRACT_CALL_BASE", scheduled.HasField("contractCall")


def _topic_create(body: Any, state: State) -> Uses:
    yield from _topic_keys(body, state)
    yield "CONSENSUS_CREATE_TOPIC_WITH_CUSTOM_FEE", bool(body.custom_fees)


def _topic_update(body: Any, state: State) -> Uses:
    ((_, count),) = _topic_keys(body, state)
    yield "KEYS", count + sum(map(count_keys, body.fee_exempt_key_list.keys))


def _submit_message(body: Any, state: State) -> Uses:
    topic = body.topicID if state is None else _required(body, "topicID")
    if state is not None and state.get(encoded(topic.topicNum, topic), Facts()).custom_fees:
        yield "CONSENSUS_SUBMIT_MESSAGE_WITH_CUSTOM_FEE", 1
        yield "CONSENSUS_SUBMIT_MESSAGE_WITH_CUSTOM_FEE_BYTES", len(body.message)
    else:
        yield "CONSENSUS_SUBMIT_MESSAGE_WITHOUT_CUSTOM_FEE_BYTES", len(body.message)


def _token_create(body: Any, state: State) -> Uses:
    yield from _token_keys(body, state)
    yield "TOKEN_CREATE_WITH_CUSTOM_FEE", bool(body.custom_fees) or body.HasField("fee_schedule_key")


def _token_mint(body: Any, state: State) -> Uses:
    if body.metadata and not body.amount:
        yield "TOKEN_MINT_NFT_BASE", 1
        yield "TOKEN_MINT_NFT", len(body.metadata)


def _airdrop(body: Any, state: State) -> Uses:
    return _transfer((), body.token_transfers, state)


def _crypto_transfer(body: Any, state: State) -> Uses:
    return _transfer(body.transfers.accountAmounts, body.tokenTransfers, state)


def _transfer(hbars: Iterable[Any], lists: Sequence[Any], state: State) -> Uses:
    """Count accounts, calls of hooks with their gas, and tokens; a list of a fungible token counts once."""
    amounts = list(chain(hbars, *(each.transfers for each in lists)))
    nfts = list(chain.from_iterable(each.nftTransfers for each in lists))
    accounts = {_required(each, "accountID").SerializeToString() for each in amounts}
    for side in ("senderAccountID", "receiverAccountID"):
        accounts.update(_required(each, side).SerializeToString() for each in nfts)
    yield "ACCOUNTS", len(accounts)
    calls = [
        *_hook_calls(amounts, "hook_call"),
        *_hook_calls(nfts, "sender_allowance_hook_call"),
        *_hook_calls(nfts, "receiver_allowance_hook_call"),
    ]
    yield "HOOK_EXECUTION", sum(times for times, _ in calls)
    yield "GAS", sum(times * gas for times, gas in calls)
    if not lists:
        return
    facts_of_lists = [(each, _facts(each, state)) for each in lists]
    moved = [
        (len(each.nftTransfers) if facts.non_fungible else bool(each.transfers), facts)
        for each, facts in facts_of_lists
    ]
    if any(count and facts.custom_fees for count, facts in moved):
        yield "TOKEN_TRANSFER_BASE_CUSTOM_FEES", 1
    elif any(count for count, _ in moved):
        yield "TOKEN_TRANSFER_BASE", 1
    yield "TOKEN_TYPES", sum(count for count, _ in moved)


def _facts(transfers: Any, state: State) -> Facts:
    """Return the facts of the token of a list; without them those that follow from the list itself."""
    apparent, token = Facts(non_fungible=bool(transfers.nftTransfers)), _required(transfers, "token")
    return apparent if state is None else state.get(encoded(token.tokenNum, token), apparent)


def _hook_calls(transfers: Iterable[Any], oneof: str) -> Iterator[tuple[int, int]]:
    """Yield how often each hook runs, and its gas. Hooks before and after the transaction run twice."""
    for each in transfers:
        if name := each.WhichOneof(oneof):
            yield 2 if name.startswith("pre_post_") else 1, getattr(each, name).evm_hook_call.gas_limit


#: By the name of the body in TransactionBody.
KINDS = {
    "contractCall": FeeKind("ContractCall", _counts(GAS="gas")),
    "contractCreateInstance": FeeKind(
        "ContractCreate", _counts(KEYS="adminKey", HOOK_UPDATES="hook_creation_details", GAS="gas")
    ),
    "contractUpdateInstance": FeeKind("ContractUpdate", _contract_update),
    "contractDeleteInstance": FeeKind("ContractDelete"),
    "ethereumTransaction": FeeKind("EthereumTransaction"),
    "hook_store": FeeKind("HookStore", _hook_store),
    "hook_dispatch": FeeKind("HookDispatch", is_free=True),
    "cryptoAddLiveHash": FeeKind("CryptoAddLiveHash"),
    "cryptoDeleteLiveHash": FeeKind("CryptoDeleteLiveHash"),
    "cryptoCreateAccount": FeeKind("CryptoCreate", _counts(KEYS="key", HOOK_UPDATES="hook_creation_details")),
    "cryptoUpdateAccount": FeeKind(
        "CryptoUpdate", _counts(KEYS="key", HOOK_UPDATES="hook_creation_details hook_ids_to_delete")
    ),
    "cryptoDelete": FeeKind("CryptoDelete"),
    "cryptoTransfer": FeeKind("CryptoTransfer", _crypto_transfer),
    "cryptoApproveAllowance": FeeKind(
        "CryptoApproveAllowance", _counts(ALLOWANCES="cryptoAllowances tokenAllowances nftAllowances")
    ),
    "cryptoDeleteAllowance": FeeKind("CryptoDeleteAllowance", _counts(ALLOWANCES="nftAllowances")),
    "fileCreate": FeeKind("FileCreate", _file),
    "fileUpdate": FeeKind("FileUpdate", _file),
    "fileAppend": FeeKind("FileAppend", _counts(STATE_BYTES="contents")),
    "fileDelete": FeeKind("FileDelete"),
    "systemDelete": FeeKind("SystemDelete", is_free=True),
    "systemUndelete": FeeKind("SystemUndelete", is_free=True),
    "freeze": FeeKind("Freeze"),
    "consensusCreateTopic": FeeKind("ConsensusCreateTopic", _topic_create),
    "consensusUpdateTopic": FeeKind("ConsensusUpdateTopic", _topic_update),
    "consensusDeleteTopic": FeeKind("ConsensusDeleteTopic"),
    "consensusSubmitMessage": FeeKind("ConsensusSubmitMessage", _submit_message),
    "uncheckedSubmit": FeeKind("UncheckedSubmit"),
    "tokenCreation": FeeKind("TokenCreate", _token_create),
    "tokenUpdate": FeeKind("TokenUpdate", _token_keys),
    "tokenDeletion": FeeKind("TokenDelete"),
    "tokenFreeze": FeeKind("TokenFreezeAccount"),
    "tokenUnfreeze": FeeKind("TokenUnfreezeAccount"),
    "tokenGrantKyc": FeeKind("TokenGrantKycToAccount"),
    "tokenRevokeKyc": FeeKind("TokenRevokeKycFromAccount"),
    "tokenMint": FeeKind("TokenMint", _token_mint),
    "tokenBurn": FeeKind("TokenBurn", _counts(NFT_SERIALS="serialNumbers")),
    "tokenWipe": FeeKind("TokenAccountWipe", _counts(NFT_SERIALS="serialNumbers")),
    "tokenAssociate": FeeKind("TokenAssociateToAccount", _counts(TOKEN_ASSOCIATE="tokens")),
    "tokenDissociate": FeeKind("TokenDissociateFromAccount"),
    "token_fee_schedule_update": FeeKind("TokenFeeScheduleUpdate"),
    "token_pause": FeeKind("TokenPause"),
    "token_unpause": FeeKind("TokenUnpause"),
    "token_update_nfts": FeeKind("TokenUpdateNfts", _counts(NFT_UPDATE="serial_numbers")),
    "tokenReject": FeeKind("TokenReject"),
    "tokenAirdrop": FeeKind("TokenAirdrop", _airdrop, prices="CryptoTransfer"),
    "tokenCancelAirdrop": FeeKind("TokenCancelAirdrop"),
    "tokenClaimAirdrop": FeeKind("TokenClaimAirdrop"),
    "scheduleCreate": FeeKind("ScheduleCreate", _schedule_create),
    "scheduleSign": FeeKind("ScheduleSign"),
    "scheduleDelete": FeeKind("ScheduleDelete"),
    "util_prng": FeeKind("UtilPrng"),
    "atomic_batch": FeeKind("AtomicBatch"),
    "nodeCreate": FeeKind("NodeCreate"),
    "nodeUpdate": FeeKind("NodeUpdate"),
    "nodeDelete": FeeKind("NodeDelete"),
    "registeredNodeCreate": FeeKind("RegisteredNodeCreate"),
    "registeredNodeUpdate": FeeKind("RegisteredNodeUpdate"),
    "registeredNodeDelete": FeeKind("RegisteredNodeDelete"),
    "node_stake_update": FeeKind("NodeStakeUpdate"),
}
