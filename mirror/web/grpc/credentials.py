"""TLS of the gRPC API: the certificate of the settings, read again once its file has changed."""

from pathlib import Path
from typing import Any

import grpc

from mirror.core import config
from mirror.core.config.errors import OperatorError

CERTIFICATE, KEY = "grpc.tls.certificate", "grpc.tls.key"


class _Files:
    """The files of a certificate and its key."""

    def __init__(self, certificate: str, key: str) -> None:
        self._certificate, self._key = Path(certificate), Path(key)
        self._read = 0

    def read(self) -> Any:
        """Return the configuration of a handshake. Errors: OSError."""
        self._read = self._certificate.stat().st_mtime_ns
        pair = (self._key.read_bytes(), self._certificate.read_bytes())
        return grpc.ssl_server_certificate_configuration([pair])

    def changed(self) -> Any:
        """Return the same if the certificate has changed, else None; the library calls it."""
        try:
            return self.read() if self._certificate.stat().st_mtime_ns != self._read else None
        except OSError:
            return None


def configured() -> Any:
    """Return the credentials of the server; None without TLS. Errors: OperatorError."""
    certificate, key = config.value(CERTIFICATE), config.value(KEY)
    if not (certificate or key):
        return None
    if not (certificate and key):
        names = " and ".join(config.lookup(name).variable for name in (CERTIFICATE, KEY))
        raise OperatorError(f"TLS of the gRPC API needs both {names}.")
    files = _Files(certificate, key)
    try:
        first = files.read()
    except OSError as error:
        raise OperatorError(f"The file {error.filename} of the gRPC API: {error.strerror}.") from error
    return grpc.dynamic_ssl_server_credentials(first, files.changed)
