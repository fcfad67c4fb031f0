"""Contract calls of a web server as an operator runs it: its processes share limits, and end with it."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.node import Node, manage
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.web3sim.serving import FEW, UNBOUNDED, ServingNode, serving_node

__all__ = ["serving_node"]


@pytest.fixture
def node(serving_node: ServingNode) -> ServingNode:
    return serving_node


def test_other_endpoints_answer_during_heavy_calls(node):
    node.start(**UNBOUNDED)
    assert node.call(FEW) == 200
    with ThreadPoolExecutor(20) as threads:
        calls = [threads.submit(node.call_without_end) for _ in range(20)]
        node.wait_for(node.working)
        assert [node.ask(f"blocks?limit={number}") for number in range(1, 11)] == [200] * 10
        assert not all(call.done() for call in calls)

        def all_ended() -> bool:
            for pid in node.working():
                os.kill(pid, signal.SIGKILL)
            return all(call.done() for call in calls)

        node.wait_for(all_ended)
        # Their processes died, or others were there first.
        assert {call.result() for call in calls} == {503}
    assert node.call(FEW) == 200

    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(node.call_without_end)
        node.wait_for(node.working)
        node.process.send_signal(signal.SIGTERM)
        assert node.process.wait(PATIENCE_SECONDS) == 0
        wait_until(lambda: not node.processes(), lambda: node.said)
        assert call.exception() or call.result() == 503


def test_the_processes_of_a_web_server_share_their_limits(node):
    # So few that any machine asks for more.
    node.start(SVC_MIRROR_WEB3_THROTTLE_REQUESTSPERSECOND="5")
    began = time.monotonic()
    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(node.call, [FEW] * 200))
    passed = statuses.count(200)
    # A process that is about to start may refuse some.
    assert {200, 429} <= set(statuses) <= {200, 429, 503}
    # Five at once, and five for each second since.
    assert passed <= 5 + 5 * (time.monotonic() - began) + 1


def test_killed_web_server_leaves_no_processes(node):
    node.start(**UNBOUNDED)
    with ThreadPoolExecutor(1) as threads:
        threads.submit(node.call_without_end)
        node.wait_for(node.working)
        node.process.kill()
        node.process.wait()
        wait_until(lambda: not node.processes(), lambda: node.said)


def test_a_web_server_with_filters_that_make_no_sense_does_not_start(data_folder):
    done = manage(
        "serve",
        PORT=str(Node(data_folder).port),
        SVC_MIRROR_DATA=str(data_folder),
        SVC_MIRROR_WEB3_THROTTLE_REQUEST='[{"action": "DROP"}]',
    )

    assert done.returncode == 2
    assert done.stderr.startswith(
        "SVC_MIRROR_WEB3_THROTTLE_REQUEST can't be used: “DROP” is no action: choose "
    )
