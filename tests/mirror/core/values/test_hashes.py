"""Hashes, in messages."""

from mirror.core.values.hashes import describe_difference


def test_of_hashes_that_begin_alike_the_pieces_where_they_differ_are_shown():
    one, other = "ab" * 20 + "00" * 28, "ab" * 20 + "11" * 28

    assert describe_difference(one, other) == ("…abababab00000000…", "…abababab11111111…")
    assert describe_difference("12" * 48, "34" * 48) == ("1212121212121212…", "3434343434343434…")
    assert describe_difference("ab" * 47 + "00", "ab" * 48) == ("…ababababababab00", "…abababababababab")
