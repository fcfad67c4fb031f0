"""The Merkle trees of blocks, by their definition."""

import pytest

from ledger.stream.block.tree import (
    EMPTY_PREFIXED,
    BlockTree,
    Section,
    climb,
    leaf_of,
    paths,
    root_of,
)
from mirror.core.values.hashes import sha384

FOOTER = [bytes([number]) * 48 for number in range(3)]
EMPTY = sha384(b"")


def node(left, right):
    return sha384(b"\2" + left + right)


def leaf(number):
    return sha384(b"\0%d" % number)


def plain_node(left, right):
    return sha384(left + right)


def plain(number):
    return sha384(b"%d" % number)


def tree(count, *, prefixed=True):
    found = BlockTree(prefixed=prefixed)
    for kind, item in items(count):
        found.add(kind, item)
    return found


def items(count):
    return [("signed_transaction", b"%d" % number) for number in range(count)]


def joined(level, join):
    while len(level) > 1:
        level = [join(*pair) for pair in zip(level[::2], level[1::2], strict=True)]
    return level[0]


@pytest.mark.parametrize(
    ("count", "root"),
    [
        (0, EMPTY_PREFIXED),
        (1, leaf(0)),
        (2, node(leaf(0), leaf(1))),
        (3, node(node(leaf(0), leaf(1)), leaf(2))),
        (7, node(joined([leaf(0), leaf(1), leaf(2), leaf(3)], node), node(node(leaf(4), leaf(5)), leaf(6)))),
    ],
)
def test_a_node_without_sibling_moves_up_in_the_newer_tree(count, root):
    content = joined([*FOOTER, EMPTY_PREFIXED, root, *[EMPTY_PREFIXED] * 3], node)

    assert tree(count).root(b"time", FOOTER) == node(sha384(b"\0time"), sha384(b"\1" + content))


@pytest.mark.parametrize(
    ("count", "root"),
    [
        (0, EMPTY),
        (1, plain(0)),
        (2, plain_node(plain(0), plain(1))),
        (3, joined([plain(0), plain(1), plain(2), EMPTY], plain_node)),
        (5, joined([*map(plain, range(5)), *[EMPTY] * 3], plain_node)),
    ],
)
def test_the_older_tree_is_filled_up(count, root):
    content = joined([*FOOTER, EMPTY, root, *[EMPTY] * 3, *[bytes(48)] * 8], plain_node)

    assert tree(count, prefixed=False).root(b"time", FOOTER) == plain_node(sha384(b"time"), content)


@pytest.mark.parametrize("prefixed", [True, False], ids=["newer", "older"])
def test_items_wait_until_the_generation_is_known(prefixed):
    waiting, known = BlockTree(), BlockTree(prefixed=prefixed)
    for number in range(18):
        for kind in ("signed_transaction", "transaction_result", "block_proof"):
            waiting.add(kind, b"%d" % number)
            known.add(kind, b"%d" % number)
    waiting.begin(prefixed=prefixed)

    assert waiting.root(b"time", FOOTER) == known.root(b"time", FOOTER)


def test_every_kind_of_item_has_its_list_but_footer_and_proof():
    found = BlockTree(prefixed=True)
    kinds = (
        *("block_header", "event_header", "round_header", "signed_transaction", "transaction_result"),
        *("transaction_output", "state_changes", "record_file", "trace_data", "block_footer", "block_proof"),
    )
    for kind in kinds:
        found.add(kind, kind.encode())
    lists = [
        ["event_header", "round_header"],
        ["signed_transaction"],
        ["block_header", "transaction_result", "transaction_output", "record_file"],
        ["state_changes"],
        ["trace_data"],
    ]
    roots = [root_of(leaf_of(kind.encode()) for kind in each) for each in lists]

    assert found.list_roots() == roots
    assert found.root(b"time", FOOTER) == node(
        sha384(b"\0time"), sha384(b"\1" + joined([*FOOTER, *roots], node))
    )


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_the_path_of_every_item_leads_to_the_root(count):
    made = tree(count)
    made.add("block_header", b"header")
    root = made.root(b"time", FOOTER)
    whole = [("block_header", b"header"), *items(count)]
    before = Section()

    for index, (_, item) in enumerate(items(count)):
        (path,) = paths(whole, [index + 1], b"time", FOOTER)
        # To the right only in the third step; single in the fourth.
        above = [False, False, True, None, True]
        within, last = path[: -len(above)], path[-len(above) :]

        assert climb(leaf_of(item), path) == root
        assert [step.is_left if step.hash else None for step in last] == above
        assert [step.hash for step in reversed(within) if step.is_left] == before.complete_roots
        before.extend([leaf_of(item)])


def test_the_path_of_an_item_begins_with_what_is_beside_it():
    (path,) = paths(items(3), [2], b"time", FOOTER)

    assert path[0] == (node(leaf(0), leaf(1)), True)
    assert path[1] == (EMPTY_PREFIXED, False)
    assert path[4:] == [(b"", False), (sha384(b"\0time"), True)]
