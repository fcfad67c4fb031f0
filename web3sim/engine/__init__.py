"""The EVM behind one interface: what a call is, what it may read, and what comes of it.

Nothing here knows Django, SQL or HTTP. `interface` has the types that engines and their users share; no type
of the EVM library leaves this package. Importing it is cheap: the library comes with the first engine.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

# What the EVM library itself imports of its package of BLS12-381.
_NAMES = (
    *("bls12_g1_add", "bls12_g1_msm", "bls12_g2_add", "bls12_g2_msm"),
    *("bls12_map_fp_to_g1", "bls12_map_fp2_to_g2", "bls12_pairing_check"),
)


def _leave_out_bls12_381() -> None:
    """Have the EVM library imported without its BLS12-381, which takes a quarter of a second and is not used.

    `web3sim.engine.ledger.bls12_381` has ours. The modules of the package can still be imported.
    """
    name, library = "eth.precompiles.bls12_381", find_spec("eth")
    if name not in sys.modules and library and library.origin:
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [str(Path(library.origin).parent / "precompiles/bls12_381")]
        vars(package).update(dict.fromkeys(_NAMES))


_leave_out_bls12_381()
