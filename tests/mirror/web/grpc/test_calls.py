import asyncio

from mirror.web.grpc import calls
from mirror.web.grpc.calls import Pacer


def test_an_iteration_sends_a_limited_number_of_messages_in_order() -> None:
    async def sent_by_iteration() -> list[list[int]]:
        shared, sent = Pacer(), [list[int]()]

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

    sent = asyncio.run(sent_by_iteration())

    assert [number for iteration in sent for number in iteration] == [
        number for number in range(90) if number != 40
    ]
    assert max(map(len, sent)) == calls._MAX_MESSAGES
