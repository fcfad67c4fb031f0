"""Staking periods: each midnight (UTC) the network reports stakes and rewards, and distributes its fees."""

from mirror.core.values.timestamp import NANOS_PER_DAY
from mirror.demo.network import Network
from mirror.demo.streams.keys import nodes
from mirror.demo.streams.record_files import FEE_COLLECTION, FEE_COLLECTOR, STAKING_REWARDS
from mirror.demo.world.accounts import HBAR, SYSTEM_ADMIN
from mirror.demo.world.staking import MAX_REWARD_RATE, NodeStake

NODE_REWARDS = 801
MAX_STAKE, MIN_STAKE = 12_500_000_000 * HBAR, 1_000 * HBAR

_MINUTES_A_DAY = 1_440
_PERIODS_STORED = 365
# Shares of the collected fees in hundredths; nodes get the rest.
_SHARES = {FEE_COLLECTOR: 70, STAKING_REWARDS: 10, NODE_REWARDS: 10}
_NO_STAKE = NodeStake(0, 0, 0)


def begin(network: Network) -> None:
    """Report that the nodes have no stake at the beginning."""
    network.world.staking.nodes = {node.node_id: _NO_STAKE for node in nodes()}
    _report(network)
    network.call_at(_next_midnight(network), end_period)


def end_period(network: Network) -> None:
    """End a day: nodes earn a little less than the most they could."""
    world = network.world
    rates = {node.node_id: MAX_REWARD_RATE - network.choose.randrange(800) for node in nodes()}
    world.staking.end_period(world.accounts, rates, network.now, STAKING_REWARDS)
    _report(network)
    _distribute_fees(network)
    network.call_at(_next_midnight(network), end_period)


def counted(stake: NodeStake) -> int:
    """Return the part of a node's stake that counts: none below the least, and at most the most."""
    total = stake.rewarded + stake.not_rewarded
    return min(total, MAX_STAKE) if total >= MIN_STAKE else 0


def _report(network: Network) -> None:
    staking = network.world.staking
    reserved = sum(staking.pending.values())
    reward_balance = network.world.accounts[STAKING_REWARDS].balance
    rewarded = sum(stake.rewarded for stake in staking.nodes.values())
    body = {
        "end_of_staking_period": network.now // NANOS_PER_DAY * NANOS_PER_DAY - 1,
        "node_stake": [
            {
                "node_id": node,
                "max_stake": MAX_STAKE,
                "min_stake": MIN_STAKE,
                "reward_rate": stake.reward_rate,
                "stake": counted(stake),
                "stake_rewarded": stake.rewarded,
                "stake_not_rewarded": stake.not_rewarded,
            }
            for node, stake in staking.nodes.items()
        ],
        "max_staking_reward_rate_per_hbar": MAX_REWARD_RATE,
        "node_reward_fee_fraction": {"numerator": 0, "denominator": 100},
        "staking_periods_stored": _PERIODS_STORED,
        "staking_period": _MINUTES_A_DAY,
        "staking_reward_fee_fraction": {"numerator": 10, "denominator": 100},
        "staking_start_threshold": 25_000_000 * HBAR,
        "staking_reward_rate": rewarded // HBAR * MAX_REWARD_RATE,
        "reserved_staking_rewards": reserved,
        "unreserved_staking_reward_balance": reward_balance - reserved,
        "reward_balance_threshold": 85_000_000 * HBAR,
        "max_stake_rewarded": 6_500_000_000 * HBAR,
        "max_total_reward": MAX_REWARD_RATE * 6_500_000_000,
    }
    envelope = {"memo": "End of staking period calculation record"}
    network.submit("node_stake_update", body, payer=SYSTEM_ADMIN, envelope=envelope, fee=0)


def _distribute_fees(network: Network) -> None:
    """Distribute the fees of the day (HIP-1259) to the nodes and the accounts of the network."""
    collected = network.world.accounts[FEE_COLLECTION].balance
    if not collected:
        return
    transfers = {number: collected * share // 100 for number, share in _SHARES.items()}
    remaining = collected - sum(transfers.values())
    first, *others = (node.account_id for node in nodes())
    part = remaining // (1 + len(others))
    transfers |= {first: remaining - part * len(others), **dict.fromkeys(others, part)}
    transfers = {FEE_COLLECTION: -collected, **{to: amount for to, amount in transfers.items() if amount}}
    network.pay(transfers, SYSTEM_ADMIN, envelope={"memo": "End of day fee distribution"}, fee=0)


def _next_midnight(network: Network) -> int:
    return (network.now // NANOS_PER_DAY + 1) * NANOS_PER_DAY
