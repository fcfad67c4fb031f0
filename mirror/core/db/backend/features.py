from django.db.backends.postgresql import features


class DatabaseFeatures(features.DatabaseFeatures):
    # The oldest release that the schema is known to work on.
    minimum_database_version = (15,)
