"""Serials of tokens that say something else from now on."""

from mirror.demo.actions.refusals import refuses
from mirror.demo.network import Action, Network
from mirror.demo.tokens import recipes, traders
from mirror.demo.tokens.messages import token_id


def change_metadata(network: Network) -> bool:
    """The issuer changes the metadata of a few serials, whoever owns them (HIP-657)."""
    token = traders.token(network, lambda one: not one.fungible and one.metadata_key and one.supply)
    if token is None:
        return False
    living = [number for number, serial in token.serials.items() if serial.owner]
    refusal = "TOKEN_IS_PAUSED" if token.paused else None
    if not living or refuses(network, refusal):
        return False
    changed = network.choose.sample(living, min(len(living), network.choose.choice((1, 1, 3))))
    metadata = recipes.serial_metadata(network.choose, token.name, changed[0])
    if not refusal:
        for number in changed:
            token.serials[number].metadata, token.serials[number].modified = metadata, network.now
    network.submit(
        "token_update_nfts",
        {"token": token_id(token.number), "serial_numbers": changed, "metadata": {"value": metadata}},
        payer=token.treasury,
        result=refusal or "SUCCESS",
    )
    return True


ACTIONS = (Action(change_metadata, 1),)
