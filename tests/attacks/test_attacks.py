"""Each attack, for a short time, against a node of the suite: none succeeds."""

import signal
from pathlib import Path

import pytest

from tests.attacks.__main__ import load, names
from tests.attacks.attack import Target
from tests.linux import linux_only
from tests.node import LiveNode, free_port

# Attackers have an address of their own in the loopback network.
pytestmark = linux_only

_SECONDS = 2.0


@pytest.mark.parametrize("name", names())
def test_an_attack_fails(name: str, data_folder: Path, tables: None) -> None:
    module = load(name)
    grpc_port = free_port()
    node = LiveNode(data_folder, SVC_MIRROR_GRPC_PORT=str(grpc_port), **getattr(module, "SETTINGS", {}))
    node.descriptors = getattr(module, "DESCRIPTORS", 0)
    try:
        node.start(*getattr(module, "COMMAND", ("up", "--live")))
        outcome = module.attack(Target(node, grpc_port, _SECONDS))
        assert not outcome.succeeded, outcome.effect
    finally:
        node.stop(signal.SIGTERM)
        node.kill()
