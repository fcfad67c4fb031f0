"""The EVM behind one interface: what a call is, what it may read, and what comes of it.

Nothing here knows Django, SQL or HTTP. `interface` has the types that engines and their users share; no type
of the EVM library leaves this package. Importing it is cheap: the library comes with the first engine.
"""

from mirror.core.imports import add_bare_package

# The BLS12-381 of the EVM library takes a quarter of a second to import, and `ledger.bls12_381` has ours.
add_bare_package(
    "eth.precompiles.bls12_381",
    __file__,
    *("bls12_g1_add", "bls12_g1_msm", "bls12_g2_add", "bls12_g2_msm"),
    *("bls12_map_fp_to_g1", "bls12_map_fp2_to_g2", "bls12_pairing_check"),
)
