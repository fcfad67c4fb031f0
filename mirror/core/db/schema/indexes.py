"""Django's index classes with names of up to 63 characters, PostgreSQL's limit, instead of Django's 30."""

from django.contrib.postgres import indexes
from django.db import models

MAX_NAME = 63


class Index(models.Index):
    max_name_length = MAX_NAME


class GinIndex(indexes.GinIndex):
    max_name_length = MAX_NAME


class GistIndex(indexes.GistIndex):
    max_name_length = MAX_NAME


class HashIndex(indexes.HashIndex):
    max_name_length = MAX_NAME
