"""What a replayed call is called."""

import pytest

from web3sim.engine.interface import CallRequest
from web3sim.past.comparison import function_name


@pytest.mark.parametrize(
    ("to", "data", "name"),
    [
        (b"\1" * 20, "a9059cbb" + "00" * 64, "transfer(address,uint256)"),
        (b"\1" * 20, "42842e0e", "safeTransferFrom(address,address,uint256)"),
        (b"\1" * 20, "12345678ff", "0x12345678"),
        (b"\1" * 20, "a9059c", "(no function)"),
        (b"\1" * 20, "", "(no function)"),
        (None, "a9059cbb", "(creation)"),
    ],
)
def test_a_call_is_named_by_what_it_begins_with(to, data, name):
    request = CallRequest(sender=bytes(20), to=to, data=bytes.fromhex(data), gas=21_000)
    assert function_name(request) == name
