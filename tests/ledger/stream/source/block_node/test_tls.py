"""Block nodes over TLS: only one whose certificate an authority has signed that is trusted."""

import os
import socket
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.stream.block.blocks import BlockStream

# In a process of its own, as gRPC reads the trusted authorities once.
CLIENT = """
import socket
import sys
from ledger.stream.source.block_node.assembly import BlockNodeFailure, Limits
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient, Endpoint

if "both" in sys.argv:
    # As where localhost has an IPv4 and an IPv6 address; gRPC itself may know the first alone.
    look_up = socket.getaddrinfo
    socket.getaddrinfo = lambda host, *more, **named: [
        *look_up("127.0.0.1", *more, **named), *look_up("::1", *more, **named)
    ]
endpoint = Endpoint("localhost", int(sys.argv[1]), True)
client = BlockNodeClient(BlockNode(endpoint, endpoint, registered="registered" in sys.argv), Limits())
print(client.poll(300.0).answer().text("It"))
try:
    print(client.subscribe(7, 7, seconds_per_block=300.0).next(300.0).number)
except BlockNodeFailure as failure:
    print(failure)
client.close()
"""


def certificate() -> tuple[bytes, bytes]:
    """Return a key, and a certificate for localhost that is signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    of_key = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return of_key, signed.public_bytes(serialization.Encoding.PEM)


def said_of(port: int, folder: Path, authority: bytes, *options: str) -> list[str]:
    """Return what a client that trusts an authority says of the node's status, and of its stream."""
    authorities = folder / "authorities.pem"
    authorities.write_bytes(authority)
    return subprocess.run(
        [sys.executable, "-c", CLIENT, str(port), *options],
        env=os.environ
        | {
            "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(authorities),
            "SVC_MIRROR_IMPORTER_BLOCK_ALLOWEDNETWORKS": "127.0.0.1,::1",
        },
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()


def has_ipv6() -> bool:
    with socket.socket(socket.AF_INET6) as tried, suppress(OSError):
        tried.bind(("::1", 0))
        return True
    return False


# The connection to a registered node is made to its address, and its certificate has its name.
@pytest.mark.parametrize("options", [(), ("registered",)], ids=["settings", "registered"])
@pytest.mark.parametrize("trusted", [True, False])
def test_the_certificate_of_a_node_has_to_be_trusted(
    tmp_path: Path, trusted: bool, options: tuple[str, ...]
) -> None:
    key, signed = certificate()
    stream_of_blocks = BlockStream(first_block=7)
    stream_of_blocks.happen("cryptoTransfer")
    server = BlockNodeServer()
    port = server._server.add_secure_port("localhost:0", grpc.ssl_server_credentials([(key, signed)]))
    with server:
        server.publish(7, stream_of_blocks.block().content)
        status, stream = said_of(port, tmp_path, signed if trusted else certificate()[1], *options)

    if trusted:
        assert (status, stream) == ("It has blocks 7 to 7", "7")
    else:
        assert status == "It: its certificate can't be verified"
        assert "has failed: its certificate can't be verified" in stream


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("open_address", ["[::1]", "127.0.0.1"])
def test_a_refused_address_does_not_hide_a_bad_certificate(tmp_path: Path, open_address: str) -> None:
    key, signed = certificate()
    server = BlockNodeServer()
    credentials = grpc.ssl_server_credentials([(key, signed)])
    port = server._server.add_secure_port(f"{open_address}:0", credentials)
    with server:
        status, stream = said_of(port, tmp_path, certificate()[1], "both")

    assert status == "It: its certificate can't be verified"
    assert "has failed: its certificate can't be verified" in stream
