"""The running hash of a topic, as a public network computed it."""

from mirror.core.values.hashes import SHA_384_LENGTH
from mirror.demo.world.topics import Topic, running_hash

# A message of a topic on mainnet, and the hashes before and after it.
TOPIC, PAYER, NUMBER = 8_994_160, 1_682_785, 17_584_325
AT = 1_753_303_063_721_548_000
PREVIOUS = "ae375e0d63cae7c73a643c4f8aa4f18020a85b4934101652eadb141d954cf96f11ce68815f8b6caeb61ef24a04ad431a"
CONTENTS = (
    b'{"event_id":"r7xaWIi6R8+G7gkx5z2CIQ==@34893",'
    b'"hash":"H1Y0QI74TBfR9tY162TkmdZ7omsnDXDk0wsm34ii3L0v6Kr0WyC3PSqe+tbY/nsg"}'
)
FOLLOWING = "2d252870b626481e8f48e84e05dbd5f61261f0a3cb69ebae36c97a9fee2ae60d0d87e8f86d1efe15c98bcefce0fbb434"


def test_the_running_hash_is_that_of_the_public_network() -> None:
    computed = running_hash(bytes.fromhex(PREVIOUS), CONTENTS, PAYER, TOPIC, AT, NUMBER)

    assert computed.hex() == FOLLOWING


def test_messages_are_counted_and_chained() -> None:
    topic = Topic(1001, 1, owner=1002, subject=0, memo="")

    first, second = topic.add(b"Hello", 1002, 5), topic.add(b"Bye", 1003, 6)

    assert (first.sequence_number, second.sequence_number) == (1, 2)
    assert first.running_hash == running_hash(bytes(SHA_384_LENGTH), b"Hello", 1002, 1001, 5, 1)
    assert second.running_hash == running_hash(first.running_hash, b"Bye", 1003, 1001, 6, 2)
    assert topic.running_hash == second.running_hash
