"""Reading of record files of every format."""

from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError
from ledger.stream.record import names, v1_v2, v5, v6
from ledger.stream.record.reader import Reader
from ledger.stream.record.record_file import RecordFile

_READERS = {
    **dict.fromkeys(v1_v2.VERSIONS, v1_v2.read),
    v5.VERSION: v5.read,
    v6.VERSION: v6.read,
}


def read_record_file(name: str, data: bytes) -> RecordFile:
    """Read the record file stored as `data` under `name` (a folder before the name is ignored).

    Errors: StreamFileError when it is no record file, corrupt, or of an unknown format; never another
    exception.
    """
    parsed = names.parse(name)
    if parsed.is_signature or parsed.sidecar is not None:
        raise names.invalid(name, names.RECORD)
    content = content_of(parsed, data)
    version = Reader(parsed.name, content).int32("format version")
    reader = _READERS.get(version)
    if reader is None:
        known = ", ".join(map(str, sorted(_READERS)))
        raise StreamFileError(parsed.name, 0, f"record file format {version} is unknown; known are {known}")
    file = reader(parsed, content, len(data))
    file.original = data
    return file
