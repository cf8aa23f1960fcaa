"""Where keys come from: typed in this process, else the keyring of the person's system.

One rule: we write no key into any file: only the keyring of the system saves keys.
"""

from __future__ import annotations

import re
import threading

from lmc_jupyter.errors import ModelError
from lmc_jupyter.keys.redactor import redact
from lmc_jupyter.keys.secret import Secret

SERVICE = "lmc-jupyter"
"""The name of our entries in the keyring; the user of each is the key's own name."""

NAME = re.compile(r"[A-Z][A-Z0-9_]{2,63}")
"""What a key may be called: as in the environment, OPENAI_API_KEY."""

_lock = threading.Lock()
_secrets: dict[str, Secret | None] = {}
"""The keys that were typed or looked up in this process; None: the keyring has none."""
_problem: list[str] = []


def look_up(name: str) -> Secret | None:
    """The key of this name, typed in this process or from the keyring; None where there is none."""
    with _lock:
        if name not in _secrets:
            value, problem = _read_keyring(name)
            _problem[:] = [problem] if problem else []
            _secrets[name] = Secret(value, name) if value and value.strip() else None
        return _secrets[name]


def problem() -> str:
    """Why the keyring could not be asked the last time; "" when it could, or there is none."""
    return _problem[0] if _problem else ""


def _read_keyring(name: str) -> tuple[str | None, str]:
    import keyring
    from keyring.errors import NoKeyringError

    try:
        return keyring.get_password(SERVICE, name), ""
    except NoKeyringError:
        return None, ""  # this machine has none: its person keeps no key there
    except Exception as error:  # noqa: BLE001 - a backend of anybody's
        return None, f"the keyring cannot be read: {_why(error)}"


def hold(name: str, value: str) -> Secret:
    """Remember a key that the person typed, until this process ends."""
    secret = Secret(value, name)
    with _lock:
        _secrets[name] = secret
    return secret


def keep(secret: Secret) -> None:
    """Put a key into the keyring.

    Raises
    ------
    ModelError
        Where there is no keyring, or it refuses.
    """
    import keyring
    from keyring.errors import NoKeyringError

    try:
        keyring.set_password(SERVICE, secret.name, secret.reveal())
    except NoKeyringError:
        raise ModelError(
            f"this machine has no keyring: {secret.name} stays in memory until the kernel "
            "ends and is not saved; put it into an environment variable to have it in every kernel"
        ) from None
    except Exception as error:  # noqa: BLE001 - a backend of anybody's
        raise ModelError(
            f"the keyring did not take {secret.name} ({_why(error)}): it stays in memory until "
            "the kernel ends and is not saved"
        ) from None


def forget(name: str) -> bool:
    """Remove a key from this process and from the keyring; returns whether there was one.

    Raises
    ------
    ModelError
        When the keyring cannot be reached, or refuses.
    """
    import keyring
    from keyring.errors import NoKeyringError

    with _lock:
        there = _secrets.pop(name, None) is not None
    try:
        if keyring.get_password(SERVICE, name) is None:
            return there
        keyring.delete_password(SERVICE, name)
    except NoKeyringError:
        return there
    except Exception as error:  # noqa: BLE001 - a backend of anybody's
        raise ModelError(
            f"the keyring did not remove {name} ({_why(error)}): remove it with the tool of "
            f"your system, where it stands as {SERVICE}"
        ) from None
    return True


def _why(error: BaseException) -> str:
    """The backend's error as text, without keys."""
    return redact(f"{type(error).__name__}: {error}"[:200])
