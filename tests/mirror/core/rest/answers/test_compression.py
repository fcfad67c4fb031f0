import gzip
import zlib

import brotli
import pytest

BLOCKS = "/api/v1/blocks"
UNPACK = {"br": brotli.decompress, "gzip": gzip.decompress, "deflate": zlib.decompress}


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        *((name, name) for name in UNPACK),
        ("gzip, deflate, br", "br"),
        ("deflate, gzip", "gzip"),
        ("*", "br"),
        ("*, br;q=0", "gzip"),
        ("gzip;q=0.8, br;q=0.2", "gzip"),
        ("GZIP ; Q=1", "gzip"),
        ("identity;q=0.1, deflate;q=0.5", "deflate"),
        *((text, None) for text in ("", "identity", "zstd", "gzip;q=0", "*;q=0", "gzip;q=x", ";,=;q")),
        ("identity, gzip;q=0.5", None),
    ],
)
def test_a_body_is_packed_as_the_client_prefers(api, build, accepted, encoding):
    for number in range(7, 12):
        build.block(number)
    plain = api.get(BLOCKS)
    answer = api.get(BLOCKS, accept_encoding=accepted)
    assert "content-encoding" not in plain.headers
    assert answer.headers.pop("content-encoding", None) == encoding
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert (UNPACK[encoding](answer.body) if encoding else answer.body) == plain.body
    assert answer.headers | {"content-length": "0"} == plain.headers | {"content-length": "0"}


def test_a_short_body_is_not_packed(api, build):
    build.block(7)
    answer = api.get(BLOCKS, accept_encoding="gzip")
    assert len(answer.body) < 1024
    assert "content-encoding" not in answer.headers


def test_an_error_is_packed_too(api):
    answer = api.get(f"{BLOCKS}?{'&'.join(['x'] * 100)}", accept_encoding="gzip")
    assert (answer.status, answer.headers["content-encoding"]) == (400, "gzip")


def test_the_setting_switches_compression_off(build, settings_of, db):
    from tests.api import Api

    settings_of({"rest.response.compression": False})
    for number in range(7, 12):
        build.block(number)
    assert "content-encoding" not in Api().get(BLOCKS, accept_encoding="gzip").headers
