"""The state from which a network resumes: its schema, and that a hostile one runs no code."""

import json
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import zstandard

from mirror.core.config.setting import OperatorError
from mirror.core.processes.typed_json import InvalidContent
from mirror.demo.network import Network, Perform
from mirror.demo.publish import live_blocks, run, state
from mirror.demo.publish.history import History, next_block
from mirror.demo.publish.publisher import Publisher, modules
from mirror.demo.publish.run import live
from mirror.demo.streams.block_stream import BlockComposer
from mirror.demo.streams.keys import block_signer
from tests.signing import signing_nodes

NODES = signing_nodes(2)
VERSION_BYTES = 32


def left(folder: Path) -> Network:
    """Leave a network that writes blocks in a folder, and return it."""
    publisher = Publisher(folder, NODES)
    for network, block in History(blocks=20, tps=20, seed=1).play(NODES):
        if block.number == 19:
            publisher.publish(network, block)
    live_blocks.switch_to_blocks(publisher, network)
    publisher.publish(network, next_block(network, 5))
    return network


@cache
def stored() -> bytes:
    """A valid state, without its version."""
    network = list(History(blocks=20, tps=20, seed=1).play(NODES))[-1][0]
    composer = BlockComposer(block_signer())
    composer.set_known_accounts(live_blocks.known_accounts(network))
    return state.encode(network, "2025-01-01T21_00_00.000000000Z.rcd.gz", composer)


def test_resumed_network_makes_the_same_blocks(tmp_path: Path) -> None:
    network = left(tmp_path)

    resumed, _ = Publisher(tmp_path, NODES).resume()

    assert vars(resumed).keys() == vars(network).keys()
    assert vars(resumed.composer).keys() == vars(network.composer).keys()
    assert state.encode(resumed, "", None) == state.encode(network, "", None)
    for _ in range(5):
        assert next_block(resumed, 20).data == next_block(network, 20).data


def test_private_keys_are_not_in_the_state() -> None:
    content = zstandard.ZstdDecompressor().decompressobj().decompress(stored())

    assert NODES[0].private_key.hex().encode() not in content


def types_in(hint: Any) -> Iterator[type]:
    """Yield the classes of an annotation, and of the fields of these."""
    if hint == Perform:
        return
    hints = get_args(hint)
    if hint in state.ATTRIBUTES:
        hints = tuple(state.ATTRIBUTES[hint].values())
    elif is_dataclass(hint) or hasattr(hint, "_fields"):
        hints = tuple(get_type_hints(hint).values())
    if isinstance(hint, type):
        yield hint
    for each in hints:
        yield from types_in(each)


def test_state_version_covers_modules_of_its_objects() -> None:
    classes = set(types_in(state.STORED))
    functions = [getattr(function, "func", function) for function in state.FUNCTIONS]
    own = ("ledger.", "mirror.")
    named = {each.__module__ for each in (*classes, *functions) if each.__module__.startswith(own)}
    found = {Path(sys.modules[name].__file__ or "") for name in named}

    assert len(found) > 20
    assert found <= set(modules())


class RunsCode:
    """An object that makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[Path]]:
        return Path.touch, (self._path,)


def test_pickled_state_runs_no_code(tmp_path: Path, settings: Any) -> None:
    """It has the version of this program: a data folder or a backup can come from anyone."""
    settings.DATA_DIR = tmp_path
    left(run.folder())
    path = run.folder() / "network.state"
    version = path.read_bytes()[:VERSION_BYTES]
    sign = tmp_path / "code has run"
    for content in (pickle.dumps(RunsCode(sign)), zstandard.compress(pickle.dumps(RunsCode(sign)))):
        path.write_bytes(version + content)

        with pytest.raises(LookupError, match="is damaged"):
            Publisher(run.folder(), NODES).resume()
        with pytest.raises(OperatorError, match="left by another version of this program, or is damaged"):
            live(print)
    assert not sign.exists()


def with_field(name: str, value: Any) -> Callable[[Any], Any]:
    """Return the change of a state in which a field of its Network has this value."""
    place = list(state.ATTRIBUTES[Network]).index(name)

    def change(content: list[Any]) -> list[Any]:
        content[0][place] = value
        return content

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda content: None,
        lambda content: [],
        lambda content: [*content, 1],
        lambda content: {"network": content[0]},
        lambda content: [content[0][:-1], *content[1:]],
        with_field("_planned", True),
        with_field("_planned", 1.0),
        with_field("_planned", "1"),
        with_field("choose", [3, [1], None]),
        with_field("_due", [[1, 1, [9_999]]]),
        with_field("_due", [[1, 1, [-1]]]),
        with_field("_due", [[1, 1, ["os.system"]]]),
        with_field("_due", [[1, 1, [0, 5]]]),
        with_field("performed", [[[0]], []]),
        with_field("_installed", [1, 2]),
    ],
)  # fmt: skip
def test_state_of_another_form_is_invalid(change: Callable[[Any], Any]) -> None:
    content = json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(stored()))
    state.decode(zstandard.compress(json.dumps(content).encode()), NODES)

    with pytest.raises(InvalidContent):
        state.decode(zstandard.compress(json.dumps(change(content)).encode()), NODES)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no zstd",
        zstandard.compress(b"{"),
        zstandard.compress(b"\xff"),
        zstandard.compress(b"[" * 1_000_000),
        zstandard.compress(b"9" * 1_000_000),
        zstandard.compress(bytes(100 << 20)),
    ],
    ids=["empty", "other bytes", "unfinished", "no text", "nested", "a large number", "zeros"],
)
def test_bytes_that_are_no_state_are_invalid(content: bytes) -> None:
    before = sys.getrecursionlimit()
    # As py_ecc sets it, a library of contracts.
    sys.setrecursionlimit(100_000)
    try:
        with pytest.raises(InvalidContent):
            state.decode(content, NODES)
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize("name", ["", "../2025-01-01T21_00_00.000000000Z.rcd.gz", "/etc/passwd", "block"])
def test_state_that_names_no_stream_file_is_damaged(name: str, tmp_path: Path) -> None:
    network = left(tmp_path)
    path = tmp_path / "network.state"
    path.write_bytes(path.read_bytes()[:VERSION_BYTES] + state.encode(network, name, None))

    with pytest.raises(LookupError, match="is damaged"):
        Publisher(tmp_path, NODES).resume()
