"""Check a proof of a transaction in a block: one file for auditors, which imports nothing of this project.

    python -I verify_proof.py proof.json publication.bin

It covers proofs by a block's own signature or a later block's, with the key proved by Schnorr; not WRAPS and
record files, which `manage.py verify-proof` checks, too. Every check raises Rejected or passes. The project
itself checks by these functions; docs/proofs.md has the formulas.
"""

import hashlib
import json
import sys
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar


class Rejected(Exception):
    """Nothing is proved; the message says which check fails."""


def require(holds: object, cause: str) -> None:
    if not holds:
        raise Rejected(cause)


# PROTOBUF: a message is a list of (field number, value); an int for varints, bytes for what has a length.


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            require(at < len(data) and shift < 70, "a message ends too early")
            byte, at = data[at], at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(data):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
            continue
        require(kind in (1, 2, 5), "a message has a field of an unknown kind")
        length = varint() if kind == 2 else {1: 8, 5: 4}[kind]
        require(at + length <= len(data), "a message ends too early")
        part = data[at : at + length]
        yield number, part if kind == 2 else int.from_bytes(part, "little")
        at += length


def field(data: bytes, *path: int, default: Any = b"") -> Any:
    """Return the value at a path of field numbers: the last one, as Protobuf has it."""
    value: Any = data
    for place, number in enumerate(path, 1):
        found = [each for each_number, each in fields(value) if each_number == number]
        if not found:
            return default
        value = found[-1]
        is_number = place == len(path) and isinstance(default, int)
        require(isinstance(value, int if is_number else bytes), "a field has a value of another type")
    return value


def repeated(data: bytes, number: int) -> list[bytes]:
    values = [value for each, value in fields(data) if each == number]
    require(all(isinstance(value, bytes) for value in values), "a field has a value of another type")
    return values


def time_of(data: bytes) -> tuple[int, int]:
    return field(data, 1, default=0), field(data, 2, default=0)


# THE TREE OF A BLOCK (SHA-384): prefixes 0 for leaves, 1 for nodes with one child, 2 for those with two.
# BlockItem: field numbers, and the section of the block in which items of the kind are.
HEADER, SIGNED, RESULT, OUTPUT, CHANGES = 1, 4, 5, 6, 7
SINGLES = {"block_header": HEADER, "signed_transaction": SIGNED, "transaction_result": RESULT}
LISTS = {"transaction_output": OUTPUT, "state_changes": CHANGES}
SECTIONS = {HEADER: 2, SIGNED: 1, RESULT: 2, OUTPUT: 2, CHANGES: 3}
FOOTER = (
    "previous_block_root_hash", "root_hash_of_all_block_hashes_tree", "start_of_block_state_root_hash"
)  # fmt: skip
# The steps from a section to the root hash, and the most that a path has.
ABOVE, MAX_STEPS = 5, 64


def sha384(data: bytes) -> bytes:
    return hashlib.sha384(data).digest()


def leaf(data: bytes) -> bytes:
    return sha384(b"\0" + data)


def node(left: bytes, right: bytes) -> bytes:
    return sha384(b"\2" + left + right)


def climb(digest: bytes, path: list[tuple[bytes, bool]]) -> bytes:
    for sibling, is_left in path:
        is_step = len(sibling) == 48 or not (sibling or is_left)
        require(is_step, f"a hash in a path has {len(sibling)} bytes")
        pair = sibling + digest if is_left else digest + sibling
        digest = sha384(b"\2" + pair if sibling else b"\1" + digest)
    return digest


def path_of(item: Any) -> list[tuple[bytes, bool]]:
    return [(step["hash"], step["is_left"]) for step in item["path"]]


def is_of_kind(item: bytes, *kinds: int) -> bool:
    """Return whether a BlockItem has one field alone, of these kinds."""
    found = list(fields(item))
    return len(found) == 1 and found[0][0] in kinds and isinstance(found[0][1], bytes)


def check_paths(document: Any) -> bytes:
    """Require that all items are in the block that is stated, and return its root hash."""
    block, items = document["block"], document["items"]
    header = items["block_header"]
    root = climb(leaf(header["item"]), path_of(header))
    for name, kind in SINGLES.items():
        check_path(kind, name, items[name], block, root)
    for name, kind in LISTS.items():
        for item in items[name]:
            check_path(kind, name, item, block, root)
    stated = block["hash"] == f"0x{root.hex()}"
    require(stated, f"they lead to the root hash 0x{root.hex()}, not to the block's")
    return root


def check_path(kind: int, name: str, item: Any, block: Any, root: bytes) -> None:
    """Require that an item's path goes through the section of its kind, past the footer and the time."""
    data, path = item["item"], path_of(item)
    require(is_of_kind(data, kind), f"what is called {name} is none")
    place = 3 + SECTIONS[kind]
    wanted = [*((True, bool(place >> level & 1)) for level in range(3)), (False, False), (True, True)]
    last = path[-ABOVE:]
    goes_there = [(bool(sibling), is_left) for sibling, is_left in last] == wanted
    goes_there = goes_there and all(sibling for sibling, _ in path[:-ABOVE]) and len(path) <= MAX_STEPS
    require(goes_there, f"that of the {name} does not go where such items are in a block")
    footer = [*(block["footer"][each] for each in FOOTER), block["consensus_headers_root_hash"]]
    require([len(each) for each in footer] == [48] * 4, "a hash of the footer has not 48 bytes")
    is_footer = last[2][0] == node(node(*footer[:2]), node(*footer[2:]))
    require(is_footer, f"that of the {name} does not pass the hashes of the block's footer")
    is_beside_time = last[4][0] == leaf(block["timestamp"])
    require(is_beside_time, f"that of the {name} does not end beside the block's time")
    require(climb(leaf(data), path) == root, f"that of the {name} leads to another block")


def check_header(header: bytes, block: Any) -> None:
    version = tuple(field(header, HEADER, 1, each, default=0) for each in (1, 2))
    is_newer = version >= (0, 71)
    require(is_newer, "its tree is of the kind before HAPI 0.71, in which hashes may pass for items")
    require(field(header, HEADER, 4) == block["timestamp"], "its time is not the one in its header")
    number = field(header, HEADER, 3, default=0)
    require(number == block["number"], f"its header says that it is block {number}, not {block['number']}")


def extend(roots: list[bytes], count: int, leaves: Iterable[bytes]) -> int:
    """Add leaves to the roots of the complete trees of the leaves before, the largest first."""
    for digest in leaves:
        count += 1
        for _ in range((count & -count).bit_length() - 1):
            digest = node(roots.pop(), digest)
        roots.append(digest)
    return count


# WHICH RESULT IS WHOSE: as many transactions as results are before the two.
BATCH, STATE_SIGNATURE = 74, 65
MAYBE_WITHOUT_RESULT = {66, 67, 68, 69, 70, 71, 72, 81}
NOT_DATA = {1, 2, 3, 4, 5, 6, 73, 1001, 1002}
# A kind that is not known may be without a result, too.
DATA = {*range(7, 30), *range(31, 61), *range(65, 82)} - NOT_DATA


def kind_of(body: bytes) -> int:
    """Return the number of the body's data; 0 if there is none, or a field that is not known."""
    kinds = [number for number, _ in fields(body) if number not in NOT_DATA]
    return kinds[-1] if kinds and DATA.issuperset(kinds) else 0


def check_order(items: Any, before: Any) -> None:
    """Require that these are all items before, and that they tell whose result it is."""
    earlier, outputs = before["signed_transaction"], before["outputs"]
    is_known = all(is_of_kind(each, SIGNED) for each in earlier)
    is_known = is_known and all(is_of_kind(each, RESULT, OUTPUT) for each in outputs)
    require(is_known, "before holds other items than transactions and their results")
    header, signed, result = (items[name] for name in SINGLES)
    check_positions({"signed_transaction": [signed]}, earlier)
    own = {"transaction_result": [result], "transaction_output": items["transaction_output"]}
    check_positions(own, [header["item"], *outputs])
    check_numbers([*earlier, signed["item"]], outputs, result["item"])


def check_positions(items: dict[str, list[Any]], before: list[bytes]) -> None:
    """Require that items follow each other, and that these are all before the first in their section."""
    roots: list[bytes] = []
    count = extend(roots, 0, map(leaf, before))
    for name, each in items.items():
        for item in each:
            left = [sibling for sibling, is_left in reversed(path_of(item)[:-ABOVE]) if is_left]
            require(left == roots, f"the items given are not those before the {name}")
            count = extend(roots, count, [leaf(item["item"])])


def check_numbers(signed: list[bytes], outputs: list[bytes], result: bytes) -> None:
    """Require that a result is of the last of these items, as their numbers tell it."""
    bodies = [(kind_of(body), body) for body in (field(each, SIGNED, 1) for each in signed)]
    require(bodies[-1][0] != STATE_SIGNATURE, "it is a signature of the state, which has no result")
    bodies = [(kind, body) for kind, body in bodies if kind != STATE_SIGNATURE]
    after_batch, batches = False, []
    for kind, body in bodies:
        after_batch = after_batch or kind == BATCH
        require(kind and kind not in MAYBE_WITHOUT_RESULT, "a transaction before may be without a result")
        is_child = field(body, 1, 3, default=0) or field(body, 1, 4, default=0)
        require(not (after_batch and is_child), "a child after a batch hides which result is whose")
        batches.append(kind == BATCH)
    count, times = 0, set()
    for data in (each for each in outputs if field(each, RESULT, default=None) is not None):
        parent = field(data, RESULT, 3, default=None)
        if parent is not None and time_of(parent) in times:
            continue
        if count < len(batches) and batches[count]:
            times.add(time_of(field(data, RESULT, 2)))
        count += 1
    parent = field(result, RESULT, 3, default=None)
    is_inner = parent is not None and time_of(parent) in times
    is_told = count == len(bodies) - 1 and not is_inner
    require(is_told, "the items before do not tell which result is this transaction's")


# THE SIGNATURE OF THE BLOCK, or of a later one.
NO_PATH = (1 << 32) - 1  # What the last path has as the next one.


def signed_root(proof: bytes, number: int, root: bytes) -> tuple[bytes, bytes]:
    """Return the root hash that is signed, and the threshold signature."""
    stated = field(proof, 1, default=0)
    require(stated == number, f"the block's proof is one of block {stated}")
    if own := field(proof, 2, 1):
        return root, own
    state = field(proof, 3)
    require(state, "the block's proof has no threshold signature")
    paths = repeated(state, 1)
    own_root = field(paths[1], 3) if len(paths) == 3 else b""
    require(own_root == root, f"its proof is one of another block: not of the root hash {root.hex()}")
    meet = [list(fields(paths[2])), *(field(each, 2, default=0) for each in paths[:2])]
    require(meet == [[(2, NO_PATH)], 2, 2], "the paths of its proof do not meet")
    way = [(field(step, 2), bool(field(step, 1, default=0))) for step in repeated(paths[1], 1)]
    # Five steps for each block on the way: the fourth is single, the fifth has the time on the left.
    form = [(at % 5 != 3, at % 5 == 4) for at in range(len(way))]
    time, is_way = field(paths[0], 6), form == [(bool(sibling), left) for sibling, left in way]
    is_way = is_way and len(way) % 5 == 4
    require(time and is_way, "the way to the later block is written otherwise than by a network")
    return climb(root, [*way, (leaf(time), True)]), field(state, 2, 1)


# HINTS over BLS12-381
ORDER = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
KEY, SIGNATURE, SCHNORR = 1096, 1632, 192
MESSAGE_TAG = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
UNPROVED = "its proof does not hold: these are not the keys and weights of its nodes"
NOT_SUM = "its proof does not hold: this is not the sum of its nodes' keys"
SIGNATURE_FORM = "1n2" + 11 * "1" + 8 * "n"
# Pairings of which the product has to be one: points of G1, their powers, and points of G2 by name.
Equation = list[tuple[G1Point, int, str]]


def number_of(data: bytes, below: int) -> int:
    value = int.from_bytes(data, "little")
    require(value < below, "a number in it is greater than the order of the curve")
    return value


def scalar(number: int) -> Scalar:
    return Scalar.from_le_bytes((number % ORDER).to_bytes(32, "little"))


def read(data: bytes, form: str) -> list[Any]:
    """Read numbers (n), points of G1 (1) and points of G2 (2) one after another."""
    values: list[Any] = []
    for kind in form:
        length = {"n": 32, "1": 96, "2": 192}[kind]
        part, data = data[:length], data[length:]
        group = G1Point if kind == "1" else G2Point
        if kind == "n":
            values.append(number_of(part, ORDER))
        elif part == b"\x40" + bytes(length - 1):
            values.append(group.identity())
        else:
            # The library takes zeros for infinity, too, and has the real parts of G2 first.
            require(any(part), "a point in it is missing, or has coordinates of zero")
            real_first = part[48:96] + part[:48] + part[144:] + part[96:144]
            try:
                values.append(group.from_xy_bytes_be(part if kind == "1" else real_first))
            except ValueError as error:
                raise Rejected(f"a point in it is not one of group G{kind} ({error})") from None
    return values


def key_parts(data: bytes) -> tuple[Any, ...]:
    """Return the commitments to the keys and weights of all nodes, behind the number of places for them."""
    require(len(data) == KEY, f"its verification key has {len(data)} bytes, not {KEY}")
    slots = int.from_bytes(data[:8], "little")
    is_power = 1 < slots <= 1 << 20 and slots & (slots - 1) == 0
    require(is_power, f"its verification key has {slots} slots, which is no power of two")
    parts = read(data[8:], "n1221122")
    require(parts[1:3] == [G1Point(), G2Point()], "its verification key has other generators than the curve")
    return slots, *parts


def challenge(key: tuple[Any, ...], signature: list[Any]) -> int:
    """RFC 9380, expand_message_xmd with SHA-256 to 48 bytes, but 48 zeros in front instead of 64."""
    _, _, _, _, h1, _, weights, keys, _ = key
    aggregate, weight, _, bitmap, qx, qx_tau, qz, sums, q1, q3, q2, q4, *_ = signature
    transcript: Any = (keys, h1, aggregate, weight, weights, bitmap, sums, qx, qz, qx_tau, q1, q2, q3, q4)
    content = b"".join(
        part.to_bytes(32, "little") if isinstance(part, int) else bytes(part.to_compressed_bytes())
        for part in transcript
    )
    tag = b"HINTS_SIG_BLS12381:FIAT_SHAMIR\x1e"
    first = hashlib.sha256(bytes(48) + content + b"\0\x30\0" + tag).digest()
    one = hashlib.sha256(first + b"\1" + tag).digest()
    two = hashlib.sha256(bytes(a ^ b for a, b in zip(first, one, strict=True)) + b"\2" + tag).digest()
    return int.from_bytes((one + two)[:48], "big") % ORDER


def signing_equation(message: bytes, aggregate: G1Point, summed: G2Point) -> tuple[dict[str, G2Point], Any]:
    """Return the equation of a message, by the sum of its signers' keys; the others prove that sum alone."""
    seconds = {"message": G2Point.hash_to_curve(message, MESSAGE_TAG), "summed": summed}
    equation = [(aggregate, 1, "message"), (-G1Point(), 1, "summed")]
    return seconds, ("it is not a signature of this block", equation)


def equations_of(key: tuple[Any, ...], message: bytes, data: bytes) -> tuple[dict[str, G2Point], list[Any]]:
    """Return the equations that remain to be checked, each with what is wrong if it does not hold."""
    slots, total, g0, h0, h1, last_lagrange, weights, keys, vanishing = key
    require(len(data) == SIGNATURE, f"it has {len(data)} bytes, not {SIGNATURE}")
    signature = read(data, SIGNATURE_FORM)
    aggregate, weight, summed, bitmap, qx, qx_tau, qz, sums, q1, q3, q2, q4 = signature[:12]
    opening, opening_before, s_at, s_before, w_at, b_at, q1_at, q3_at, q2_at, q4_at = signature[12:]
    have = f"nodes with a weight of {weight}"
    require(weight <= total, f"{have} have signed, but all nodes together have {total}")
    require(2 * weight > total, f"{have} of {total} have signed, which is not more than half")
    r, root = challenge(key, signature), pow(7, (ORDER - 1) // slots, ORDER)
    last, before = pow(root, slots - 1, ORDER), r * pow(root, -1, ORDER) % ORDER
    require(r != last, UNPROVED)
    zero = (pow(r, slots, ORDER) - 1) % ORDER
    lagrange = last * pow(slots, -1, ORDER) * zero * pow(r - last, -1, ORDER) % ORDER
    for relation in (
        s_at - s_before - w_at * b_at - q1_at * zero,
        lagrange * s_at - q3_at * zero,
        b_at * b_at - b_at - q2_at * zero,
        lagrange * (b_at - 1) - q4_at * zero,
    ):
        require(relation % ORDER == 0, UNPROVED)
    powers = [pow(r, power, ORDER) for power in range(7)]
    values = s_at, w_at, b_at, q1_at, q3_at, q2_at, q4_at
    value = sum(power * at_r for power, at_r in zip(powers, values, strict=True))
    opened = sums, weights, bitmap, q1, q3, q2, q4
    terms = [(commitment, power, "h0") for commitment, power in zip(opened, powers, strict=True)]
    # Of the weights the signers' sum is taken away at the last place.
    terms += [(last_lagrange, -r * weight, "h0"), (g0, -value, "h0"), (opening, r, "h0"), (opening, -1, "h1")]
    beside = [(opening_before, before, "h0"), (opening_before, -1, "h1")]
    seconds, signing = signing_equation(message, aggregate, summed)
    return seconds | {"h0": h0, "h1": h1, "keys": keys, "vanishing": vanishing}, [
        signing,
        (NOT_SUM, [(bitmap, 1, "keys"), (-qz, 1, "vanishing"), (qx, -1, "h1"), (aggregate, -1, "h0")]),
        (NOT_SUM, [(qx, 1, "h1"), (qx_tau, -1, "h0")]),
        (UNPROVED, terms),
        (UNPROVED, [(sums, 1, "h0"), (g0, -s_before, "h0"), *beside]),
    ]


def summed(points: Sequence[G1Point], powers: Sequence[int]) -> G1Point:
    if len(points) == 1:
        return points[0] if powers[0] == 1 else points[0] * scalar(powers[0])
    return G1Point.multiexp_unchecked(list(points), list(map(scalar, powers)))


def holds(equation: Equation, seconds: dict[str, G2Point]) -> bool:
    sums: dict[str, list[tuple[G1Point, int]]] = {}
    for point, power, second in equation:
        sums.setdefault(second, []).append((point, power))
    firsts = [summed(*zip(*each, strict=True)) for each in sums.values()]
    return bool(GT.pairing_check(firsts, [seconds[name] for name in sums]))


# POSEIDON over the scalar field of BN254: width 5, 8 full and 60 partial rounds, x^5.
FIELD = 21888242871839275222246405745257275088548364400416034343698204186575808495617


@cache
def poseidon_parameters() -> tuple[list[list[int]], list[list[int]]]:
    """Return the constants of the rounds and the matrix, by the Grain generator."""
    sizes = ((1, 2), (0, 4), (254, 12), (5, 12), (8, 10), (60, 10), ((1 << 30) - 1, 30))
    first = "".join(format(value, f"0{length}b") for value, length in sizes)

    def steps() -> Iterator[str]:
        register = int(first[::-1], 2)
        while True:
            # Bits 18 steps apart do not depend on each other.
            new = register ^ register >> 13 ^ register >> 23 ^ register >> 38 ^ register >> 51
            new = new & (1 << 18) - 1 ^ register >> 62
            register = register >> 18 | new << 62
            yield from format(new, "018b")[::-1]

    bits = islice(steps(), 160, None)
    chosen = (bit for choice, bit in zip(bits, bits, strict=True) if choice == "1")

    def number(below: int) -> int:
        while (value := int("".join(islice(chosen, 254)), 2)) >= below:
            pass
        return value

    constants = [[number(FIELD) for _ in range(5)] for _ in range(68)]
    rows, columns = ([number(1 << 254) % FIELD for _ in range(5)] for _ in range(2))
    return constants, [[pow(row + column, -1, FIELD) for column in columns] for row in rows]


def poseidon(data: bytes) -> int:
    constants, matrix = poseidon_parameters()
    numbers = [int.from_bytes(data[at : at + 32], "little") for at in range(0, len(data), 32)]
    state = [0] * 5
    for start in range(0, len(numbers), 4):
        for place, value in enumerate(numbers[start : start + 4], 1):
            state[place] = (state[place] + value) % FIELD
        for number, constant in enumerate(constants):
            state = [(value + added) % FIELD for value, added in zip(state, constant, strict=True)]
            in_full_round = not 4 <= number < 64
            state = [
                pow(value, 5, FIELD) if place == 0 or in_full_round else value
                for place, value in enumerate(state)
            ]
            state = [sum(a * b for a, b in zip(row, state, strict=True)) % FIELD for row in matrix]
    return state[1]


# SCHNORR on Baby Jubjub: the nodes of the first address book have signed the key.
D = 9706598848417545097372247223557719406784115219466060233080913168975159366771
GROUP = 2736030358979909402780800718157159386076813972158567259200215660948447373041
GENERATOR = (
    19698561148652590122159747500897617769866003486955115824547446575314762165298,
    19298250018296453272277890825869354524455968081175474282777126169995084727839,
)
Point = tuple[int, int]
NEUTRAL: Point = (0, 1)
SIGNERS = 128  # The most nodes that an address book of this kind has.


def add(one: Point, other: Point) -> Point:
    (a, b), (c, d) = one, other
    mixed = D * a * b * c * d % FIELD
    x, y = (a * d + b * c) * pow(1 + mixed, -1, FIELD), (b * d - a * c) * pow(1 - mixed, -1, FIELD)
    return x % FIELD, y % FIELD


def times(point: Point, factor: int) -> Point:
    # With a common denominator, only the result needs a division, which takes as long as six additions.
    total, (x, y, z) = (0, 1, 1), (*point, 1)
    while factor:
        if factor & 1:
            # By the digits 1, 0 and -1, of which two thirds are 0.
            digit = 2 - (factor & 3)
            factor -= digit
            total = add_fractions(total, (digit * x, y, z))
        factor >>= 1
        square_x, square_y = x * x % FIELD, y * y % FIELD
        both = square_x + square_y
        rest = both - 2 * z * z % FIELD
        x, y, z = 2 * x * y * rest % FIELD, both * (square_x - square_y) % FIELD, both * rest % FIELD
    x, y, denominator = total
    inverse = pow(denominator, -1, FIELD)
    return x * inverse % FIELD, y * inverse % FIELD


def add_fractions(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    """Add points, each given by two numerators and their denominator."""
    (x1, y1, z1), (x2, y2, z2) = one, other
    z, x, y = z1 * z2 % FIELD, x1 * x2 % FIELD, y1 * y2 % FIELD
    mixed, square = D * x * y % FIELD, z * z % FIELD
    less, more = square - mixed, square + mixed
    crossed = (x1 + y1) * (x2 + y2) - x - y
    return z * less * crossed % FIELD, z * more * (y - x) % FIELD, less * more % FIELD


def check_schnorr(nodes: list[tuple[int, int, bytes]], ledger_id: bytes, key: bytes, proof: bytes) -> None:
    """Require that nodes (id, weight, key) with at least half of the weight have signed the ledger's key."""
    require(len(ledger_id) == 32, f"the ledger's id has {len(ledger_id)} bytes, not 32")
    book = sorted(nodes)
    require(len(book) <= SIGNERS, f"the address book has {len(book)} nodes; at most {SIGNERS} can sign a key")
    signed = proof[:SIGNERS]
    is_of_book = set(signed) <= {0, 1} and not any(signed[len(book) :])
    require(is_of_book, "the proof of its key names signers who are not in the address book")
    signers = [each for each, has_signed in zip(book, signed, strict=False) if has_signed]
    total, weight = (sum(each for _, each, _ in those) for those in (book, signers))
    have = f"nodes with a weight of {weight} of {total} have signed its key"
    require(total and 2 * weight >= total, f"{have}, which is less than half")
    response, stated = (number_of(part, GROUP) for part in (proof[SIGNERS:-32], proof[-32:]))
    public: Point = NEUTRAL
    for node_id, _, data in signers:
        x, y = (int.from_bytes(part, "little") for part in (data[:32], data[32:64]))
        is_on_curve = (x * x + y * y - 1 - D * x * x * y * y) % FIELD == 0
        is_point = len(data) >= 64 and max(x, y) < FIELD and is_on_curve
        require(is_point, f"the key of node {node_id} is no point of the curve")
        is_of_group = times((x, y), GROUP) == NEUTRAL
        require(is_of_group, f"the key of node {node_id} is not one of the generator's group")
        public = add(public, (x, y))
    commitment = add(times(GENERATOR, response), times(public, stated))
    found = schnorr_challenge(public, commitment, ledger_id + poseidon(key).to_bytes(32, "little"))
    require(found == stated, "its key is not signed by the nodes of the ledger")


def schnorr_challenge(public: Point, commitment: Point, message: bytes) -> int:
    content = b"".join(each.to_bytes(32, "little") for each in (*public, *commitment)) + message
    return int.from_bytes(hashlib.blake2s(content).digest()[:31], "little") % GROUP


# ALL OF IT
def decoded(value: Any, name: str = "") -> Any:
    """Return a document with bytes for its base64."""
    if isinstance(value, dict):
        return {key: decoded(each, "step" if "is_left" in value else key) for key, each in value.items()}
    if isinstance(value, list):
        return [decoded(each, name) for each in value]
    is_text = not isinstance(value, str) or name in ("transaction_id", "consensus_timestamp", "hash")
    return value if is_text else b64decode(value, validate=True)


def verify(document: Any, publication: bytes) -> str:
    """Return what is proved, in words. Errors: Rejected."""
    document = decoded(document)
    require(document["version"] == 7 and document["batch_position"] is None, "this kind is not covered")
    require(document["before"], "without the items before, a result is not proved")
    block, items = document["block"], document["items"]
    root = check_paths(document)
    header, signed, result = (items[name]["item"] for name in SINGLES)
    check_header(header, block)
    check_order(items, document["before"])
    stated, time = field(field(signed, SIGNED, 1), 1), time_of(field(result, RESULT, 2))
    for change in items["state_changes"]:
        is_of_time = time_of(field(change["item"], CHANGES, 1)) == time
        require(is_of_time, "a change of the state in the document is of another time")
    account = [field(stated, 2, each, default=0) for each in (1, 2, 3)]
    at = "{}.{:09}".format(*time)
    name = "{}.{}.{}-{}-{:09}".format(*account, *time_of(field(stated, 1)))
    found = name, field(stated, 4, default=0), field(result, RESULT, 5, default=None) is not None, at
    wanted = tuple(document[each] for each in ("transaction_id", "nonce", "scheduled", "consensus_timestamp"))
    require(found == wanted, "the transaction is not the one that the document states")
    message, signature = signed_root(block["proof"], block["number"], root)
    require(len(signature) == KEY + SIGNATURE + SCHNORR, "its key is not proved by Schnorr: not covered")
    ledger_id, key = field(publication, 1), signature[:KEY]
    nodes = repeated(publication, 3)
    book = [(field(each, 1, default=0), field(each, 2, default=0), field(each, 3)) for each in nodes]
    check_schnorr(book, ledger_id, key, signature[KEY + SIGNATURE :])
    others, equations = equations_of(key_parts(key), message, signature[KEY:-SCHNORR])
    for cause, equation in equations:
        require(holds(equation, others), cause)
    total, weight = (int.from_bytes(signature[at : at + 32], "little") for at in (8, KEY + 96))
    return (
        f"Proved: transaction {name} reached consensus at {at} with the result code "
        f"{field(result, RESULT, 1, default=0)}, in block {block['number']}, signed by nodes of ledger "
        f"0x{ledger_id.hex()} with a weight of {weight} of {total}."
    )


if __name__ == "__main__":
    try:
        print(verify(json.loads(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2]).read_bytes()))
    except (Rejected, ValueError, KeyError, TypeError) as error:
        sys.exit(f"Not proved: {error}.")
