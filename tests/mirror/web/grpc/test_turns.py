import asyncio

from mirror.web.grpc import turns
from mirror.web.grpc.turns import Turns


def test_a_turn_of_the_loop_has_no_more_messages_than_its_share_and_they_come_in_order() -> None:
    async def sent_by_turn() -> list[list[int]]:
        shared, sent = Turns(), [list[int]()]

        async def send(number: int) -> None:
            if (waiting := shared.take()) is not None:
                await waiting
            sent[-1].append(number)

        tasks = [asyncio.ensure_future(send(number)) for number in range(90)]
        # One call has ended while it waited.
        await asyncio.sleep(0)
        tasks[40].cancel()
        while not all(task.done() for task in tasks):
            sent.append([])
            await asyncio.sleep(0)
        return sent

    sent = asyncio.run(sent_by_turn())

    assert [number for turn in sent for number in turn] == [number for number in range(90) if number != 40]
    assert max(map(len, sent)) == turns._MOST_MESSAGES
