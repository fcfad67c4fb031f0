import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.stream import record_names
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import read_sidecar_file
from ledger.stream.record_formats import read_record_file
from ledger.stream.signature.signature_file import read_signature_file

SECOND = 1_567_188_600


@pytest.mark.parametrize(
    ("name", "instant", "sidecar", "is_signature", "compressor"),
    [
        ("2019-08-30T18_10_00Z.rcd", SECOND * 10**9, None, False, ""),
        ("2019-08-30T18_10_00.419Z.rcd", SECOND * 10**9 + 419_000_000, None, False, ""),
        ("2019-08-30T18_10_00.419072Z.rcd_sig", SECOND * 10**9 + 419_072_000, None, True, ""),
        ("2019-08-30T18_10_00.000000001Z.rcd.gz", SECOND * 10**9 + 1, None, False, "gz"),
        ("2019-08-30T18_10_00.000000001Z_01.rcd.gz", SECOND * 10**9 + 1, 1, False, "gz"),
        ("2019-08-30T18_10_00Z.rcd.zst", SECOND * 10**9, None, False, "zst"),
    ],
)
def test_a_name_tells_time_kind_and_compressor(name, instant, sidecar, is_signature, compressor):
    parsed = record_names.parse(f"some/folder/{name}")

    assert (parsed.name, parsed.instant, parsed.sidecar, parsed.is_signature, parsed.compressor) == (
        name,
        instant,
        sidecar,
        is_signature,
        compressor,
    )


@pytest.mark.parametrize(
    "name",
    [
        "",
        "readme.txt",
        "2019-08-30T18_10_00Z.csv",
        "2019-08-30T18_10_00Z.rcd_signature",
        "2019-08-30T18_10_00Z_1.rcd",
        "2019-08-30T18_10_00Z_01.rcd_sig",
        "2019-13-30T18_10_00Z.rcd",
        "2019-02-30T18_10_00Z.rcd",
        "2019-08-30T18_10_00.0000000001Z.rcd",
        "2019-08-30T18:10:00Z.rcd",
        "1969-08-30T18_10_00Z.rcd",
        "2263-08-30T18_10_00Z.rcd",
        "2019-08-30T18_10_00Z.rcd\n",
    ],
)
def test_other_names_are_refused_with_an_example(name):
    with pytest.raises(StreamFileError, match=r"such as 2022-07-13T08_46_11\.304284003Z"):
        record_names.parse(name)


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (lambda name: read_record_file(name, b"data"), "2019-08-30T18_10_00Z.rcd_sig"),
        (lambda name: read_record_file(name, b"data"), "2019-08-30T18_10_00Z_01.rcd.gz"),
        (lambda name: read_sidecar_file(name, b"data", bytes(48)), "2019-08-30T18_10_00Z.rcd.gz"),
        (lambda name: read_signature_file(name, b"data"), "2019-08-30T18_10_00Z.rcd.gz"),
    ],
    ids=["signature as record", "sidecar as record", "record as sidecar", "record as signature"],
)
def test_a_reader_refuses_files_of_another_kind_by_name(read, name):
    with pytest.raises(StreamFileError, match="not the name of a"):
        read(name)


@given(st.integers(0, (1 << 63) - 1))
def test_the_name_of_a_time_reads_back_to_it(instant):
    assert record_names.parse(record_names.record_name(instant)).instant == instant
    assert record_names.parse(record_names.record_name(instant, version=5)).compressor == ""


@given(st.integers(0, 4_000_000_000), st.integers(0, 999_999_999), st.integers(0, 999_999_999))
def test_a_listing_goes_on_after_every_file_of_a_time_and_before_later_ones(second, nanos, more):
    name = record_names.record_name(second * 10**9 + nanos)
    after = record_names.parse(name).after

    assert after > name
    assert after > record_names.signature_name(name)
    assert after < record_names.record_name(second * 10**9 + nanos + 1 + more)


def test_names_that_belong_together_follow_from_each_other():
    time = "2022-07-13T08_46_11.304284003Z"

    assert record_names.sidecar_name(f"{time}.rcd.gz", 1) == f"{time}_01.rcd.gz"
    assert record_names.signature_name(f"{time}.rcd.gz") == f"{time}.rcd_sig"
    assert record_names.signature_name(f"{time}.rcd") == f"{time}.rcd_sig"
    assert record_names.data_name(f"{time}.rcd_sig", 6) == f"{time}.rcd.gz"
    assert record_names.data_name(f"{time}.rcd_sig", 5) == f"{time}.rcd"
    assert record_names.data_name(f"{time}.rcd_sig.gz", 2) == f"{time}.rcd.gz"
