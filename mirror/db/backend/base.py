from django.db.backends.postgresql import base

from mirror.db.backend.features import DatabaseFeatures
from mirror.db.backend.schema import DatabaseSchemaEditor


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = DatabaseSchemaEditor
    features_class = DatabaseFeatures
