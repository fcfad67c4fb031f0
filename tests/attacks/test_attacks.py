"""Each attack, for a short time, against a node of the suite: none succeeds."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from tests.attacks.__main__ import load, names
from tests.attacks.attack import Target
from tests.linux import linux_only
from tests.node import LiveNode, free_port

# Attackers have an address of their own in the loopback network.
pytestmark = linux_only

_SECONDS = 2.0
# They change what others rely on: the log.
_WITH_A_NODE_OF_THEIR_OWN = ("full_disk_log",)


@contextmanager
def _target(data_folder: Path, *modules: ModuleType) -> Iterator[Target]:
    """Yield a node with the settings of these attacks."""
    grpc_port = free_port()
    settings = {"SVC_MIRROR_GRPC_PORT": str(grpc_port)}
    for module in modules:
        settings |= getattr(module, "SETTINGS", {})
    node = LiveNode(data_folder, **settings)
    node.descriptors = max(getattr(module, "DESCRIPTORS", 0) for module in modules)
    try:
        if any(getattr(module, "STARTED", True) for module in modules):
            node.start("up", "--live")
        yield Target(node, grpc_port, _SECONDS)
    finally:
        node.stop(signal.SIGTERM)
        node.kill()


def test_attacks_fail(data_folder: Path, tables: None, subtests: pytest.Subtests) -> None:
    """One node survives one attack after the other."""
    modules = {name: load(name) for name in names() if name not in _WITH_A_NODE_OF_THEIR_OWN}
    with _target(data_folder, *modules.values()) as target:
        for name, module in modules.items():
            with subtests.test(name):
                outcome = module.attack(target)
                assert not outcome.succeeded, outcome.effect


@pytest.mark.parametrize("name", _WITH_A_NODE_OF_THEIR_OWN)
def test_attack_on_a_node_of_its_own_fails(name: str, data_folder: Path, tables: None) -> None:
    module = load(name)
    with _target(data_folder, module) as target:
        outcome = module.attack(target)
    assert not outcome.succeeded, outcome.effect
