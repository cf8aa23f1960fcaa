"""Keys: where they come from, values that nobody sees, and text without them.

One rule: a key is plain text only in the arguments of the one call that needs it, and text that
leaves us has gone through the redactor.
"""

from lmc_jupyter.keys.keyring import NAME, SERVICE, forget, hold, keep, look_up, problem
from lmc_jupyter.keys.redactor import Redactor, address, redact
from lmc_jupyter.keys.secret import Secret, hide, is_secret, known_secrets, looks_like_key, reveal

__all__ = [
    "NAME",
    "SERVICE",
    "Redactor",
    "Secret",
    "address",
    "forget",
    "hide",
    "hold",
    "is_secret",
    "keep",
    "known_secrets",
    "look_up",
    "looks_like_key",
    "problem",
    "redact",
    "reveal",
]
