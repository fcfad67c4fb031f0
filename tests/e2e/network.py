"""Nodes and their stakes, exchange rates and fees in the API."""

from random import Random
from typing import Any

from mirror.core.values.hapi.messages import CurrentAndNextFeeSchedule, ExchangeRateSet, NodeAddressBook
from mirror.demo.actions.periods import MAX_STAKE, MIN_STAKE, counted
from mirror.demo.actions.system_files import FEE_SCHEDULE, NODE_DETAILS
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.fees import EXCHANGE_RATES
from mirror.demo.world.staking import MAX_REWARD_RATE
from mirror.demo.world.world import World
from tests.e2e.forms import NANOS_PER_DAY, NANOS_PER_SECOND, at, entity, since
from tests.e2e.life import Life
from tests.e2e.rest import Rest, same
from tests.ledger.ingest.load import stored

_WITH_GAS = {6: "ContractCall", 7: "ContractCreate", 84: "EthereumTransaction"}


def check(rest: Rest, world: World, choose: Random) -> None:
    same(rest.all("network/nodes", "nodes"), nodes(world), "/network/nodes")
    shown = rest.get("network/stake")
    stakes = world.staking.nodes.values()
    expected = {
        "stake_total": sum(one.rewarded + one.not_rewarded for one in stakes),
        "staking_period": staking_period(world),
        "staking_reward_rate": sum(one.rewarded for one in stakes) // HBAR * MAX_REWARD_RATE,
    }
    same({name: shown[name] for name in expected}, expected, "/network/stake")
    same(rest.get("network/exchangerate"), exchange_rate(world), "/network/exchangerate")
    same(rest.get("network/fees", order="asc"), fees(world), "/network/fees")
    _check_nodes(world)


def _check_nodes(world: World) -> None:
    """The endpoint shows the nodes of the address book: the table has all there ever were."""
    columns = """node_id, account_id, admin_key, created_timestamp, decline_reward, deleted,
        grpc_proxy_endpoint, associated_registered_nodes"""
    expected = [
        (
            *(one.node_id, one.account, one.admin_key, one.created, one.decline_reward, one.deleted),
            one.proxy and {"domain_name": one.proxy[0], "ip_address_v4": "", "port": one.proxy[1]},
            list(one.associated),
        )
        for one in world.nodes.by_id.values()
    ]
    same(stored("node", columns), expected, "node")


def check_past(rest: Rest, life: Life, blocks: int, choose: Random) -> None:
    instants = life.known(blocks)
    for instant in choose.sample(instants, min(len(instants), 4)):
        queried = instant.any_time(choose)
        time, expected = at(queried), fees(instant.world, queried)
        found = rest.get("network/exchangerate", timestamp=time)
        same(found, exchange_rate(instant.world), "/network/exchangerate", time)
        same(rest.get("network/fees", timestamp=time), expected, "/network/fees", time)


# JSON
def nodes(world: World) -> list[dict[str, Any]]:
    file = world.files[NODE_DETAILS]
    book = NodeAddressBook.FromString(file.contents)
    written = file.changes[-1].consensus_timestamp
    shown = []
    for node in sorted(book.nodeAddress, key=lambda one: one.nodeId):
        known, stake = world.nodes.by_id.get(node.nodeId), world.staking.nodes.get(node.nodeId)
        endpoints = [
            (".".join(map(str, one.ipAddressV4)), one.port, one.domain_name) for one in node.serviceEndpoint
        ]
        shown.append(
            {
                "associated_registered_nodes": list(known.associated) if known else [],
                "decline_reward": known and known.decline_reward,
                "description": node.description,
                "file_id": entity(NODE_DETAILS),
                "grpc_proxy_endpoint": known
                and known.proxy
                and {"domain_name": known.proxy[0], "ip_address_v4": "", "port": known.proxy[1]},
                "max_stake": stake and MAX_STAKE,
                "memo": node.memo.decode(),
                "min_stake": stake and MIN_STAKE,
                "node_id": node.nodeId,
                "node_account_id": entity(known.account if known else node.nodeAccountId.accountNum),
                "node_cert_hash": f"0x{node.nodeCertHash.decode()}",
                "public_key": f"0x{node.RSA_PubKey}",
                "reward_rate_start": stake and stake.reward_rate,
                "service_endpoints": [
                    {"domain_name": domain, "ip_address_v4": address, "port": port}
                    for address, port, domain in sorted(endpoints)
                ],
                "stake": stake and counted(stake),
                "stake_not_rewarded": stake and stake.not_rewarded,
                "stake_rewarded": stake and stake.rewarded,
                "staking_period": stake and staking_period(world),
                "timestamp": since(written + 1),
            }
        )
    return shown


def staking_period(world: World) -> dict[str, Any]:
    """Return the staking period: the last day that began, the first with the network."""
    began = world.files[NODE_DETAILS].created
    start = [began, *world.staking.updates][-1] // NANOS_PER_DAY * NANOS_PER_DAY
    return {"from": at(start), "to": at(start + NANOS_PER_DAY)}


def exchange_rate(world: World) -> dict[str, Any]:
    file = world.files[EXCHANGE_RATES]
    rates = ExchangeRateSet.FromString(file.contents)
    current, following = (
        {
            "cent_equivalent": rate.centEquiv,
            "expiration_time": rate.expirationTime.seconds,
            "hbar_equivalent": rate.hbarEquiv,
        }
        for rate in (rates.currentRate, rates.nextRate)
    )
    return {
        "current_rate": current,
        "next_rate": following,
        "timestamp": at(file.changes[-1].consensus_timestamp),
    }


def fees(world: World, time: int | None = None) -> dict[str, Any]:
    """Return the fees at a time: the rate of the next hour counts once that of this one has expired."""
    file = world.files[FEE_SCHEDULE]
    written = file.changes[-1].consensus_timestamp
    rates = ExchangeRateSet.FromString(world.files[EXCHANGE_RATES].contents)
    seconds = (written if time is None else time) // NANOS_PER_SECOND
    rate = rates.currentRate if seconds <= rates.currentRate.expirationTime.seconds else rates.nextRate
    schedule = CurrentAndNextFeeSchedule.FromString(file.contents).currentFeeSchedule
    priced = {
        _WITH_GAS[one.hederaFunctionality]: one.fees[0].servicedata.gas
        for one in schedule.transactionFeeSchedule
        if one.hederaFunctionality in _WITH_GAS
    }
    return {
        "fees": [
            {"gas": max(gas // 1_000 * rate.hbarEquiv // rate.centEquiv, 1), "transaction_type": name}
            for name, gas in sorted(priced.items())
        ],
        "timestamp": at(written),
    }
