from hypothesis import settings

# A busy machine is no reason for a property to fail.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
