"""The chain id that contracts see."""

import pytest

from mirror.core.values.hapi.messages import ServicesConfigurationList
from mirror.core.values.hapi.transaction_types import NUMBERS
from tests.build import insert
from web3sim.state.blocks import chain_id

PROPERTIES = 121


@pytest.fixture
def properties(db):
    """Stores the network's properties."""

    def store(**told):
        message = ServicesConfigurationList(
            nameValue=[{"name": name.replace("_", "."), "value": value} for name, value in told.items()]
        )
        insert(
            "file_data",
            consensus_timestamp=5,
            entity_id=PROPERTIES,
            file_data=message.SerializeToString(),
            transaction_type=NUMBERS["FILECREATE"],
        )

    return store


def test_it_is_that_of_the_test_network_where_nothing_is_known(db):
    assert chain_id() == 296


def test_it_is_what_the_properties_of_the_network_say(properties):
    properties(ledger_id="0x03", contracts_chainId="298")
    assert chain_id() == 298


@pytest.mark.parametrize("text", ["", "0x12a", "-1", "9" * 5000, "²"])
def test_properties_that_say_no_number_say_nothing(properties, text):
    properties(contracts_chainId=text)
    assert chain_id() == 296


def test_the_setting_is_stronger(properties, settings_of):
    properties(contracts_chainId="298")
    settings_of({"web3.evm.network": "MAINNET"})
    assert chain_id() == 295
