"""Serials: changing their metadata. They are minted in `supply` and moved in `transfers`."""

from mirror.demo.network import Network, NotPossible, weighted
from mirror.demo.tokens import recipes, traders
from mirror.demo.world.messages import token_id


def change_metadata(network: Network) -> None:
    """Let the issuer change the metadata of a few serials, whose owner may be another account (HIP-657)."""
    token = traders.token(network, lambda token: not token.fungible and token.metadata_key and token.supply)
    living = [number for number, serial in token.serials.items() if serial.owner]
    refusal = "TOKEN_IS_PAUSED" if token.paused else None
    if not living:
        raise NotPossible
    network.give_up_if(refusal)
    changed = network.choose.sample(living, min(len(living), network.choose.choice((1, 1, 3))))
    metadata = recipes.serial_metadata(network.choose, token.name, changed[0])
    if not refusal:
        for number in changed:
            token.serials[number].metadata, token.serials[number].modified = metadata, network.now
    network.submit(
        "token_update_nfts",
        {"token": token_id(token.number), "serial_numbers": changed, "metadata": {"value": metadata}},
        payer=token.treasury,
        result=refusal,
    )


ACTIONS = weighted((1, change_metadata))
