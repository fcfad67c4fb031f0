import pytest
from django.contrib.auth import get_user_model
from django.test import Client


@pytest.fixture
def pages(db: None) -> Client:
    """A browser in which an administrator is signed in."""
    client = Client()
    # Without a password, whose hash takes longer than the test.
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client
