"""Address books: the nodes of the network, as the files 0.0.101 and 0.0.102 list them."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import KeylessTable


class AddressBook(models.Model):
    """One version of an address book file, and the time it was valid.

    Written by FILECREATE, FILEUPDATE and FILEAPPEND of the two files, once their content is complete.
    """

    # Computed from other tables, not from one transaction.
    compared = None

    start_consensus_timestamp = fields.AddressBookTimestampField(domain="nanos_timestamp", primary_key=True)
    end_consensus_timestamp = fields.NanosTimestampField(domain="nanos_timestamp", null=True)
    file_id = fields.EntityIdField(domain="entity_id")
    node_count = models.IntegerField(null=True)
    file_data = fields.TextBytesField()

    class Meta:
        db_table = "address_book"


class AddressBookEntry(models.Model):
    """One node of an address book. Written with address_book."""

    # Computed from other tables, not from one transaction.
    compared = None

    pk = models.CompositePrimaryKey("consensus_timestamp", "node_id")
    consensus_timestamp = fields.AddressBookTimestampField(domain="nanos_timestamp")
    memo = models.CharField(max_length=128, null=True)
    public_key = models.CharField(max_length=1024, null=True)
    node_id = fields.IdentifierField()
    node_account_id = fields.EntityIdField(domain="entity_id")
    node_cert_hash = fields.TextBytesField(null=True)
    description = models.CharField(max_length=100, null=True)
    stake = fields.TinybarField(null=True)

    class Meta:
        db_table = "address_book_entry"
        verbose_name_plural = "address book entries"
        indexes = [
            Index(fields=["consensus_timestamp"], name="address_book_entry__timestamp"),
        ]


class AddressBookServiceEndpoint(KeylessTable, models.Model):
    """One address of a node in an address book.

    Written with address_book; a missing IP address or domain name is an empty string.
    """

    # Computed from other tables, not from one transaction.
    compared = None

    pk = models.CompositePrimaryKey("consensus_timestamp", "node_id", "ip_address_v4", "domain_name", "port")
    consensus_timestamp = fields.AddressBookTimestampField()
    ip_address_v4 = models.CharField(max_length=15, db_default="")
    node_id = fields.IdentifierField()
    port = models.IntegerField()
    domain_name = models.CharField(max_length=253, db_default="")

    class Meta:
        db_table = "address_book_service_endpoint"
        indexes = [
            Index(
                fields=["consensus_timestamp", "node_id"],
                name="address_book_service_endpoint__timestamp_node_id",
            ),
        ]
