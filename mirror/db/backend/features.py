from django.db.backends.postgresql import features


class DatabaseFeatures(features.DatabaseFeatures):
    # The oldest release that other software runs on with this schema.
    minimum_database_version = (15,)
