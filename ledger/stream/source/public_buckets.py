"""The buckets that public networks are published in, by the name of the network.

Whoever needs the names alone shall not import what opens buckets.
"""

# Record files, signatures, sidecars and balances.
PUBLIC_BUCKETS = {
    "demo": "hedera-demo-streams",
    "mainnet": "hedera-mainnet-streams",
    "previewnet": "hedera-preview-testnet-streams",
    "testnet": "hedera-testnet-streams-2024-02",
}
# The recent blocks.
PUBLIC_BLOCK_BUCKETS = {
    "demo": "hedera-demo-recent-block-streams",
    "mainnet": "hedera-mainnet-recent-block-streams",
    "previewnet": "hedera-previewnet-recent-block-streams",
    "testnet": "hedera-testnet-recent-block-streams",
}
