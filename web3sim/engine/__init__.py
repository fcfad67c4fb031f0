"""The EVM behind one interface: what a call is, what it may read, and what comes of it.

Nothing here knows Django, SQL or HTTP. `interface` has the types that engines and their users share; no type
of the EVM library leaves this package. Importing it is cheap: the library comes with the first engine.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

# The BLS12-381 of the EVM library takes a quarter of a second to import, and `ledger.bls12_381` has ours: its
# package is left without contents. The modules in it can still be imported.
_NAME, _library = "eth.precompiles.bls12_381", find_spec("eth")
_CONTENTS = (
    *("bls12_g1_add", "bls12_g1_msm", "bls12_g2_add", "bls12_g2_msm"),
    *("bls12_map_fp_to_g1", "bls12_map_fp2_to_g2", "bls12_pairing_check"),
)
if _NAME not in sys.modules and _library and _library.origin:
    _package = sys.modules[_NAME] = ModuleType(_NAME)
    _package.__path__ = [str(Path(_library.origin).with_name("precompiles") / "bls12_381")]
    vars(_package).update(dict.fromkeys(_CONTENTS))
