from django.db.backends.postgresql import features


class DatabaseFeatures(features.DatabaseFeatures):
    # The ledger's tables are read and written with MERGE, which is new in 15.
    minimum_database_version = (15,)
