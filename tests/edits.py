"""A network after one edit, for tests that build one in passing: edits themselves return None."""


def after(network, edit, *values, **settings):
    """Return the network itself, edited."""
    assert getattr(network, edit)(*values, **settings) is None
    return network
