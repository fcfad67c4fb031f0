"""The numbers of a network's states that readers and writers of blocks know: enum StateIdentifier."""

ACCOUNTS = 2
STORAGE = 4
BYTECODE = 5
FILES = 6
TOKENS = 7
NODES = 20
TOPICS = 21
BLOCK_STREAM_INFO = 24
PENDING_AIRDROPS = 25
HOOK_STORAGE = 52
REGISTERED_NODES = 56
