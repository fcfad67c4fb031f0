"""A network that is live for days forgets what is over, and every action still happens."""

import pytest

from mirror.demo.actions import catalogue
from mirror.demo.actions.network import genesis
from mirror.demo.live.producing import forget
from mirror.demo.network import Network
from mirror.demo.publish.history import next_block

TPS = 20


@pytest.fixture(scope="module")
def aged() -> Network:
    """A network that forgets after every block."""
    network = Network(5, catalogue.ALL)
    genesis.begin(network)
    while network.counts.total() < 6_000:
        next_block(network, TPS)
        forget(network.world)
    return network


def test_everything_happens_in_a_network_that_forgets(aged):
    assert {action.perform for action in catalogue.ALL} == set(aged.performed)


def test_only_the_last_of_what_is_over_is_kept(aged):
    world = aged.world
    for known in (world.topics, world.files, world.tokens.issued, world.nodes.by_id, world.schedules):
        over = [one for one in known.values() if getattr(one, "deleted", False)]
        assert len(over) <= 30
    assert max(len(topic.messages) for topic in world.topics.values()) <= 20


def test_nothing_kept_refers_to_what_was_forgotten(aged):
    world = aged.world
    contracts = world.contracts
    for number, contract in contracts.deployed.items():
        assert world.accounts[number].is_contract
        assert contracts.by_address[contract.address] == number
        assert contract.creator is None or contract.creator in contracts.deployed
        assert set(contract.parties) <= world.accounts.keys()
    assert {number for numbers in contracts.living.values() for number in numbers} == set(contracts.deployed)
    assert all(hook.contract in contracts.deployed for hook in contracts.hooks.values())
    assert {token for _, _, token in world.tokens.token_allowances} <= world.tokens.issued.keys()
