"""Block nodes over TLS: only one whose certificate an authority has signed that is trusted."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mirror.demo.publish.block_node import BlockNodeServer

# In a process of its own, as gRPC reads the trusted authorities once.
ASK = """
import sys
from ledger.stream.source.block_node.assembly import Limits
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient, Endpoint

endpoint = Endpoint("localhost", int(sys.argv[1]), True)
client = BlockNodeClient(BlockNode(endpoint, endpoint), Limits())
print(client.available(300.0))
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


@pytest.mark.parametrize(("trusted", "expected"), [(True, "Available(first=7, last=7)"), (False, "None")])
def test_the_certificate_of_a_node_has_to_be_trusted(tmp_path: Path, trusted: bool, expected: str) -> None:
    key, signed = certificate()
    _, other = certificate()
    authorities = tmp_path / "authorities.pem"
    authorities.write_bytes(signed if trusted else other)
    server = BlockNodeServer()
    port = server._server.add_secure_port("localhost:0", grpc.ssl_server_credentials([(key, signed)]))
    with server:
        server.publish(7, b"")
        asked = subprocess.run(
            [sys.executable, "-c", ASK, str(port)],
            env=os.environ | {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(authorities)},
            capture_output=True,
            text=True,
            check=True,
        )

    assert asked.stdout.strip() == expected
