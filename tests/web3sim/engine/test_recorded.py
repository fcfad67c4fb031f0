from tests.web3sim.engine.world import BLOCK, CONTRACT, NOBODY, RETURN_TOP, SENDER
from web3sim.engine.recorded import RecordedReads
from web3sim.engine.registry import engine
from web3sim.engine.seam import CallRequest


def test_a_second_run_asks_for_nothing(world):
    world.slots[CONTRACT, 3] = 5
    world.contract(
        CONTRACT, NOBODY, "BALANCE", 900, "BLOCKHASH", "ADD", 3, "SLOAD", "ADD", 6, 3, "SSTORE", *RETURN_TOP
    )
    recorded = RecordedReads(world)
    request = CallRequest(SENDER, CONTRACT, b"", 100_000)

    first = engine("pyevm").execute(request, BLOCK, recorded)
    asked = list(world.asked)
    second = engine("pyevm").execute(request, BLOCK, recorded)

    assert second == first
    assert asked == world.asked
    assert len(asked) == len(set(asked))
    assert recorded.block_hash(900) == world.block_hash(900)
