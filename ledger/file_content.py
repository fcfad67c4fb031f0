"""The content of a file at a time, as one statement for writers and readers.

It is no part of the models, as the processes that simulate calls read files without loading Django's apps.
"""

from mirror.core.values.hapi.transaction_types import NUMBERS


def content_parts(beginning: str, part: str) -> str:
    """Return the statement for the parts of a file's content, with the time of each.

    The content starts with a create, or with an update that is not empty, and goes on with the appends after
    it. `beginning` has conditions on its first part, `part` on all parts (table `f`). The values are the
    file's id and those of `beginning`, then the file's id and those of `part`.
    """
    # Index: file_data__id_timestamp (entity_id, consensus_timestamp).
    return f"""
        with beginning as (
            select consensus_timestamp from file_data
            where entity_id = %s {beginning} and (transaction_type = {NUMBERS["FILECREATE"]}
                or (transaction_type = {NUMBERS["FILEUPDATE"]} and length(file_data) > 0))
            order by consensus_timestamp desc limit 1
        )
        select f.file_data, f.consensus_timestamp
        from beginning b join file_data f
            on f.entity_id = %s and f.consensus_timestamp >= b.consensus_timestamp {part}
        where f.consensus_timestamp = b.consensus_timestamp or f.transaction_type = {NUMBERS["FILEAPPEND"]}
        order by f.consensus_timestamp
        """
