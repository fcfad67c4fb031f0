from django.db import migrations

_RENAME = """
    do $$ begin
        if to_regclass('{old}') is not null then
            alter table {old} rename to {new};
            alter table {new} rename constraint {old}_pkey to {new}_pkey;
        end if;
    end $$
"""


class Migration(migrations.Migration):
    """Tables of earlier commits under the names that they have now."""

    dependencies = [("mirror", "0014_loader_incidents")]

    operations = [
        migrations.RunSQL(_RENAME.format(old=old, new=new), migrations.RunSQL.noop)
        for old, new in (
            ("kept_place", "archive_location"),
            ("not_kept", "archive_failure"),
            ("passed_over", "skipped_transaction"),
        )
    ]
    operations += [
        migrations.RunSQL(
            "alter index if exists kept_place_location_7ff446ed_like "
            "rename to archive_location_location_9fe42dc5_like",
            migrations.RunSQL.noop,
        )
    ]
