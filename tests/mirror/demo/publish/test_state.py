"""The state from which a network goes on: which modules it depends on."""

import pickle
import sys
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

from mirror.demo.live import blocks
from mirror.demo.publish.history import History, next_block
from mirror.demo.publish.publisher import Publisher, modules
from mirror.demo.streams import threshold_signer
from tests.signing import signing_nodes

NODES = signing_nodes(2)


def test_state_version_covers_modules_of_its_objects(tmp_path):
    publisher, found = Publisher(tmp_path, NODES), set[Path]()
    for network, block in History(blocks=1, tps=5, seed=1).play(NODES):
        publisher.publish(network, block)
    blocks.switch_to_blocks(publisher, network)
    publisher.publish(network, next_block(network, 5))

    class Finding(pickle.Unpickler):
        def find_class(self, module_name: str, name: str) -> Any:
            module = sys.modules[module_name]
            if module_name.startswith(("ledger.", "mirror.")):
                found.add(Path(module.__file__ or ""))
            return super().find_class(module_name, name)

    Finding(BytesIO(zlib.decompress((tmp_path / "network.state").read_bytes()[32:]))).load()
    assert Path(threshold_signer.__file__) in found
    assert found <= set(modules())
