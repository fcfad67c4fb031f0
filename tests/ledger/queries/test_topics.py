"""Messages of topics that follow what has been read."""

from collections.abc import Callable

import pytest

from ledger.queries import topics
from tests.build import START, Build


@pytest.mark.parametrize("distributed", [False, True])
def test_messages_after_a_time_are_those_of_each_topic_by_time(
    build: Build, settings_of: Callable[..., None], distributed: bool
) -> None:
    for topic_id in (7, 8, 9):
        for number in (2, 1, 3, 4):
            build.message(topic_id, number, at=START + number)
    settings_of({"db.distributed": distributed})

    messages = topics.messages_after({9: START, 7: START + 2, 6: 0}, limit=3)

    assert [(message.topic_id, message.sequence_number) for message in messages if message.topic_id == 7] == [
        (7, 3),
        (7, 4),
    ]
    assert [(message.topic_id, message.sequence_number) for message in messages if message.topic_id == 9] == [
        (9, 1),
        (9, 2),
        (9, 3),
    ]
    assert len(messages) == 5


def test_without_topics_there_is_nothing(build: Build) -> None:
    assert topics.messages_after({}, limit=3) == []
