"""Check a proof of a transaction in a block: one file for auditors, which imports nothing of this project.

    python -I verify_proof.py proof.json publication.bin

It needs Python and `py-arkworks-bls12381`. It covers proofs by a block's own signature or a later block's,
where the nodes of the first address book have signed the key (Schnorr); not WRAPS and record files, which
`manage.py verify-proof` checks, too. docs/proofs.md has the formulas. Every check raises Refused or passes.

The project itself takes Poseidon and the curve Baby Jubjub from here.
"""

import hashlib
import json
import sys
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar


class Refused(Exception):
    """Nothing is proved; the message says which check fails."""


def require(holds: object, cause: str) -> None:
    if not holds:
        raise Refused(cause)


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
        yield number, data[at : at + length]
        at += length


def field(data: bytes, *path: int, default: Any = b"") -> Any:
    """Return the value at a path of field numbers: the last one, as Protobuf has it."""
    for place, number in enumerate(path):
        found = [value for each, value in fields(data) if each == number]
        if not found:
            return default
        data = found[-1]
        require(place == len(path) - 1 or isinstance(data, bytes), "a field is no message")
    return data


def time_of(data: bytes) -> tuple[int, int]:
    return field(data, 1, default=0), field(data, 2, default=0)


# THE TREE OF A BLOCK (SHA-384): prefixes 0 for leaves, 1 for nodes with one child, 2 for those with two.

# BlockItem: field numbers, and the section of the block in which items of the kind are.
HEADER, SIGNED, RESULT, OUTPUT, CHANGES = 1, 4, 5, 6, 7
SECTIONS = {HEADER: 2, SIGNED: 1, RESULT: 2, OUTPUT: 2, CHANGES: 3}
ABOVE = 5


def sha384(data: bytes) -> bytes:
    return hashlib.sha384(data).digest()


def leaf(data: bytes) -> bytes:
    return sha384(b"\0" + data)


def node(left: bytes, right: bytes) -> bytes:
    return sha384(b"\2" + left + right)


def climb(digest: bytes, path: list[tuple[bytes, bool]]) -> bytes:
    for sibling, is_left in path:
        require(len(sibling) == 48 or not (sibling or is_left), "a step of a path is none")
        if not sibling:
            digest = sha384(b"\1" + digest)
        else:
            digest = node(sibling, digest) if is_left else node(digest, sibling)
    return digest


def path_of(item: dict[str, Any]) -> list[tuple[bytes, bool]]:
    return [(b64decode(step["hash"], validate=True), step["is_left"]) for step in item["path"]]


def check_path(kind: int, item: dict[str, Any], block: dict[str, Any], root: bytes) -> None:
    """Require that an item's path goes through the section of its kind, past the footer and the time."""
    data, path = b64decode(item["item"]), path_of(item)
    require([number for number, _ in fields(data)] == [kind], "an item is of another kind than it is called")
    place = 3 + SECTIONS[kind]
    wanted = [bool(place >> level & 1) for level in range(3)]
    require(len(path) >= ABOVE and all(sibling for sibling, _ in path[:-ABOVE]), "a path is too short")
    last = path[-ABOVE:]
    require(
        all(sibling and is_left == side for (sibling, is_left), side in zip(last[:3], wanted, strict=True))
        and not last[3][0]
        and last[4][0] == leaf(b64decode(block["timestamp"]))
        and last[4][1],
        "a path does not go where items of its kind are",
    )
    footer = [b64decode(block["footer"][name]) for name in (
        "previous_block_root_hash", "root_hash_of_all_block_hashes_tree", "start_of_block_state_root_hash"
    )]  # fmt: skip
    headers = b64decode(block["consensus_headers_root_hash"])
    require([len(each) for each in (*footer, headers)] == [48] * 4, "a hash of the footer has not 48 bytes")
    require(last[2][0] == node(node(*footer[:2]), node(footer[2], headers)), "a path passes another footer")
    require(climb(leaf(data), path) == root, "a path leads to another block")


def complete_roots(leaves: list[bytes]) -> list[bytes]:
    """Return the roots of the complete trees of some leaves, the largest first."""
    roots: list[bytes] = []
    for number, digest in enumerate(leaves, 1):
        while number & 1 == 0:
            digest, number = node(roots.pop(), digest), number >> 1
        roots.append(digest)
    return roots


# WHICH RESULT IS WHOSE: as many transactions as results are before the two.

BATCH, STATE_SIGNATURE = 74, 65
MAYBE_WITHOUT_RESULT = {66, 67, 68, 69, 70, 71, 72, 81}
NOT_DATA = {1, 2, 3, 4, 5, 6, 73, 1001, 1002}


def kind_of(body: bytes) -> int:
    kinds = [number for number, _ in fields(body) if number not in NOT_DATA]
    return kinds[-1] if kinds else 0


def check_order(items: dict[str, Any], before: dict[str, list[str]]) -> None:
    header, signed, result = (
        b64decode(items[name]["item"])
        for name in ("block_header", "signed_transaction", "transaction_result")
    )
    earlier = [b64decode(each) for each in before["signed_transaction"]]
    outputs = [b64decode(each) for each in before["outputs"]]
    require(all([number for number, _ in fields(each)] == [SIGNED] for each in earlier), "before is wrong")
    kinds = [[number for number, _ in fields(each)] for each in outputs]
    require(all(kind in ([RESULT], [OUTPUT]) for kind in kinds), "before holds other items than results")
    for name, leaves in (("signed_transaction", earlier), ("transaction_result", [header, *outputs])):
        path = path_of(items[name])[:-ABOVE]
        left = [sibling for sibling, is_left in reversed(path) if is_left]
        require(left == complete_roots(list(map(leaf, leaves))), f"before is not what is before the {name}")
    bodies = [field(each, SIGNED, 1) for each in (*earlier, signed)]
    require(kind_of(bodies[-1]) != STATE_SIGNATURE, "it is a signature of the state, which has no result")
    bodies = [body for body in bodies if kind_of(body) != STATE_SIGNATURE]
    after_batch, batches = False, []
    for body in bodies:
        kind, after_batch = kind_of(body), after_batch or kind_of(body) == BATCH
        require(kind and kind not in MAYBE_WITHOUT_RESULT, "a transaction before may be without a result")
        is_child = field(body, 1, 3, default=0) or field(body, 1, 4, default=0)
        require(not (after_batch and is_child), "a child after a batch hides which result is whose")
        batches.append(kind == BATCH)
    count, times = 0, set()
    for data in (each for each, kind in zip(outputs, kinds, strict=True) if kind == [RESULT]):
        parent = field(data, RESULT, 3, default=None)
        if parent is not None and time_of(parent) in times:
            continue
        if count < len(batches) and batches[count]:
            times.add(time_of(field(data, RESULT, 2)))
        count += 1
    parent = field(result, RESULT, 3, default=None)
    is_inner = parent is not None and time_of(parent) in times
    require(count == len(bodies) - 1 and not is_inner, "the items before do not tell which result is its own")


# THE SIGNATURE OF THE BLOCK, or of a later one.


def signed_root(proof: bytes, number: int, root: bytes) -> tuple[bytes, bytes]:
    """Return the root hash that is signed, and the threshold signature."""
    require(field(proof, 1, default=0) == number, "the block's proof is one of another block")
    if own := field(proof, 2, 1):
        return root, own
    state = field(proof, 3)
    paths = [value for each, value in fields(state) if each == 1]
    require(len(paths) == 3 and field(paths[1], 3) == root, "the way to the later block begins elsewhere")
    require(all(field(each, 2, default=0) == 2 for each in paths[:2]), "the paths do not meet")
    steps = [value for each, value in fields(paths[1]) if each == 1]
    way = [(field(step, 2), bool(field(step, 1, default=0))) for step in steps]
    # Five steps for each block on the way: the fourth is single, the fifth has the time on the left.
    form = [(at % 5 != 3, at % 5 == 4) for at in range(len(way))]
    require(
        len(way) % 5 == 4 and form == [(bool(sibling), left) for sibling, left in way] and field(paths[0], 6),
        "the way to the later block is written otherwise than by a network",
    )
    return climb(root, [*way, (leaf(field(paths[0], 6)), True)]), field(state, 2, 1)


# HINTS over BLS12-381

ORDER = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
KEY, SIGNATURE, SCHNORR = 1096, 1632, 192


def number_of(data: bytes, below: int) -> int:
    value = int.from_bytes(data, "little")
    require(value < below, "a number is greater than the order of its curve")
    return value


def scalar(number: int) -> Scalar:
    return Scalar.from_le_bytes((number % ORDER).to_bytes(32, "little"))


class Points:
    """Reads points and numbers one after another."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, length: int) -> bytes:
        part, self.data = self.data[:length], self.data[length:]
        require(len(part) == length and (length < 96 or any(part)), "a point or number is missing")
        return part

    def number(self) -> int:
        return number_of(self.take(32), ORDER)

    def g1(self) -> G1Point:
        data = self.take(96)
        return G1Point.identity() if data == b"\x40" + bytes(95) else G1Point.from_xy_bytes_be(data)

    def g2(self) -> G2Point:
        data = self.take(192)
        swapped = data[48:96] + data[:48] + data[144:] + data[96:144]
        return G2Point.identity() if data == b"\x40" + bytes(191) else G2Point.from_xy_bytes_be(swapped)


def challenge(content: bytes) -> int:
    """RFC 9380, expand_message_xmd with SHA-256 to 48 bytes, but 48 zeros in front instead of 64."""
    name = b"HINTS_SIG_BLS12381:FIAT_SHAMIR"
    tag = name + bytes([len(name)])
    first = hashlib.sha256(bytes(48) + content + b"\0\x30\0" + tag).digest()
    one = hashlib.sha256(first + b"\1" + tag).digest()
    two = hashlib.sha256(bytes(a ^ b for a, b in zip(first, one, strict=True)) + b"\2" + tag).digest()
    return int.from_bytes((one + two)[:48], "big") % ORDER


def check_hints(key: bytes, message: bytes, signature: bytes) -> tuple[int, int]:
    """Return the weight of the signers, and that of all nodes."""
    slots, read = int.from_bytes(key[:8], "little"), Points(key[8:])
    require(1 < slots <= 1 << 20 and slots & (slots - 1) == 0, "its slots are no power of two")
    total, g0, h0, h1 = read.number(), read.g1(), read.g2(), read.g2()
    last_lagrange, weights, keys, vanishing = read.g1(), read.g1(), read.g2(), read.g2()
    require(g0 == G1Point() and h0 == G2Point(), "the key has other generators than the curve's")
    read = Points(signature)
    aggregate, weight, summed = read.g1(), read.number(), read.g2()
    bitmap, qx, qx_tau, qz, sums, q1, q3, q2, q4, opening, opening_before = (read.g1() for _ in range(11))
    s_at, s_before, w_at, b_at, q1_at, q3_at, q2_at, q4_at = (read.number() for _ in range(8))
    require(total >= weight and 2 * weight > total, "the signers have not more than half of the weight")
    transcript: Any = (keys, h1, aggregate, weight, weights, bitmap, sums, qx, qz, qx_tau, q1, q2, q3, q4)
    r = challenge(b"".join(
        part.to_bytes(32, "little") if isinstance(part, int) else bytes(part.to_compressed_bytes())
        for part in transcript
    ))  # fmt: skip
    root = pow(7, (ORDER - 1) // slots, ORDER)
    last = pow(root, slots - 1, ORDER)
    require(r != last, "the challenge is a root of unity")
    zero = (pow(r, slots, ORDER) - 1) % ORDER
    lagrange = last * pow(slots, -1, ORDER) * zero * pow(r - last, -1, ORDER) % ORDER
    for relation in (
        s_at - s_before - w_at * b_at - q1_at * zero,
        lagrange * s_at - q3_at * zero,
        b_at * b_at - b_at - q2_at * zero,
        lagrange * (b_at - 1) - q4_at * zero,
    ):
        require(relation % ORDER == 0, "a relation of the polynomials does not hold")

    def equal(left: list[tuple[G1Point, G2Point]], right: list[tuple[G1Point, G2Point]], cause: str) -> None:
        pairs = [*left, *((-one, other) for one, other in right)]
        require(GT.pairing_check([one for one, _ in pairs], [other for _, other in pairs]), cause)

    point = G2Point.hash_to_curve(message, b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_")
    equal([(aggregate, point)], [(g0, summed)], "it is not a signature of this block")
    equal([(bitmap, keys)], [(qz, vanishing), (qx, h1), (aggregate, h0)], "it is not the sum of these keys")
    equal([(qx, h1)], [(qx_tau, h0)], "the degree of a polynomial is too high")
    opened = [(sums, s_at), (weights - last_lagrange * scalar(weight), w_at), (bitmap, b_at)]
    opened += [(q1, q1_at), (q3, q3_at), (q2, q2_at), (q4, q4_at)]
    combined, value = G1Point.identity(), 0
    for power, (commitment, at_r) in enumerate(opened):
        power_of_r = pow(r, power, ORDER)
        combined, value = combined + commitment * scalar(power_of_r), value + power_of_r * at_r
    before = r * pow(root, -1, ORDER) % ORDER
    for commitment, at_place, proof, place in (
        (combined, value, opening, r),
        (sums, s_before, opening_before, before),
    ):
        left = commitment - g0 * scalar(at_place) + proof * scalar(place)
        equal([(left, h0)], [(proof, h1)], "a commitment has another value")
    return weight, total


# POSEIDON over the scalar field of BN254: width 5, 8 full and 60 partial rounds, x^5.

FIELD = 21888242871839275222246405745257275088548364400416034343698204186575808495617


@cache
def poseidon_parameters() -> tuple[list[list[int]], list[list[int]]]:
    """Return the constants of the rounds and the matrix, by the Grain generator."""
    sizes = ((1, 2), (0, 4), (254, 12), (5, 12), (8, 10), (60, 10), ((1 << 30) - 1, 30))
    register = [int(bit) for value, length in sizes for bit in format(value, f"0{length}b")]

    def step() -> int:
        register.append(
            register[62] ^ register[51] ^ register[38] ^ register[23] ^ register[13] ^ register[0]
        )
        del register[0]
        return register[-1]

    def number(below: int) -> int:
        while True:
            value = 0
            for _ in range(254):
                while not step():
                    step()
                value = value << 1 | step()
            if value < below:
                return value

    for _ in range(160):
        step()
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


def add(one: Point, other: Point) -> Point:
    (a, b), (c, d) = one, other
    mixed = D * a * b * c * d % FIELD
    x, y = (a * d + b * c) * pow(1 + mixed, -1, FIELD), (b * d - a * c) * pow(1 - mixed, -1, FIELD)
    return x % FIELD, y % FIELD


def times(point: Point, factor: int) -> Point:
    # With a common denominator, only the result needs a division, which takes as long as six additions.
    total, doubled = (0, 1, 1), (*point, 1)
    while factor:
        if factor & 1:
            total = add_fractions(total, doubled)
        factor >>= 1
        if factor:
            doubled = add_fractions(doubled, doubled)
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


def check_schnorr(publication: bytes, key: bytes, proof: bytes) -> bytes:
    """Return the id of the ledger whose nodes have signed a key."""
    ledger_id = field(publication, 1)
    require(len(ledger_id) == 32, "the ledger's id has not 32 bytes")
    nodes = [value for number, value in fields(publication) if number == 3]
    book = sorted((field(each, 1, default=0), field(each, 2, default=0), field(each, 3)) for each in nodes)
    signed, response, stated = proof[:128], number_of(proof[128:160], GROUP), number_of(proof[160:], GROUP)
    require(
        len(book) <= 128 and set(signed) <= {0, 1} and not any(signed[len(book) :]),
        "its signers are no nodes",
    )
    signers = [each for each, has_signed in zip(book, signed, strict=False) if has_signed]
    total, weight = (sum(each for _, each, _ in nodes) for nodes in (book, signers))
    require(total and 2 * weight >= total, "less than half of the weight has signed the key")
    public: Point = (0, 1)
    for _, _, data in signers:
        x, y = (number_of(part, FIELD) for part in (data[:32], data[32:64]))
        require(len(data) >= 64 and (x * x + y * y - 1 - D * x * x * y * y) % FIELD == 0, "a key is no point")
        require(times((x, y), GROUP) == (0, 1), "a key is not of the group")
        public = add(public, (x, y))
    commitment = add(times(GENERATOR, response), times(public, stated))
    content = b"".join(each.to_bytes(32, "little") for each in (*public, *commitment))
    content += ledger_id + poseidon(key).to_bytes(32, "little")
    found = int.from_bytes(hashlib.blake2s(content).digest()[:31], "little") % GROUP
    require(found == stated, "the key is not signed by the nodes of the ledger")
    return bytes(ledger_id)


# ALL OF IT


def verify(document: dict[str, Any], publication: bytes) -> str:
    """Return what is proved, in words. Errors: Refused."""
    require(document["version"] == 7 and document["batch_position"] is None, "this kind is not covered")
    require(document["before"], "without the items before, a result is not proved")
    block, items = document["block"], document["items"]
    header, signed, result = (
        b64decode(items[name]["item"])
        for name in ("block_header", "signed_transaction", "transaction_result")
    )
    root = bytes.fromhex(block["hash"].removeprefix("0x"))
    singles = ((HEADER, "block_header"), (SIGNED, "signed_transaction"), (RESULT, "transaction_result"))
    for kind, name in singles:
        check_path(kind, items[name], block, root)
    for kind, name in ((OUTPUT, "transaction_output"), (CHANGES, "state_changes")):
        for item in items[name]:
            check_path(kind, item, block, root)
    version = tuple(field(header, HEADER, 1, each, default=0) for each in (1, 2))
    require(version >= (0, 71), "its tree is of the kind in which hashes may pass for items")
    require(field(header, HEADER, 4) == b64decode(block["timestamp"]), "its time is not that of its header")
    require(field(header, HEADER, 3, default=0) == block["number"], "its number is not that of its header")
    check_order(items, document["before"])
    stated = field(field(signed, SIGNED, 1), 1)
    account = [field(stated, 2, each, default=0) for each in (1, 2, 3)]
    seconds, nanos = time_of(field(stated, 1))
    at = "{}.{:09}".format(*time_of(field(result, RESULT, 2)))
    name = f"{'.'.join(map(str, account))}-{seconds}-{nanos:09}"
    found = name, field(stated, 4, default=0), field(result, RESULT, 5, default=None) is not None, at
    wanted = tuple(document[each] for each in ("transaction_id", "nonce", "scheduled", "consensus_timestamp"))
    require(found == wanted, "the transaction is not the one that the document states")
    message, signature = signed_root(b64decode(block["proof"]), block["number"], root)
    require(len(signature) == KEY + SIGNATURE + SCHNORR, "its key is not proved by Schnorr: not covered")
    ledger_id = check_schnorr(publication, signature[:KEY], signature[KEY + SIGNATURE :])
    weight, total = check_hints(signature[:KEY], message, signature[KEY:-SCHNORR])
    return (
        f"Proved: transaction {name} reached consensus at {at} with the result code "
        f"{field(result, RESULT, 1, default=0)}, in block {block['number']}, signed by nodes of ledger "
        f"0x{ledger_id.hex()} with a weight of {weight} of {total}."
    )


if __name__ == "__main__":
    try:
        print(verify(json.loads(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2]).read_bytes()))
    except (Refused, ValueError, KeyError, TypeError) as error:
        sys.exit(f"Not proved: {error}.")
