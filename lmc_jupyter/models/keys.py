"""Keys: where they come from, held so that nobody sees them, taken out of what anybody reads.

One rule: a key is plain text only in the arguments of the one call that needs it. We write none
into any file: what is kept is kept by the keyring of the person's system.
"""

from __future__ import annotations

import html
import json
import os
import re
import threading
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import quote, quote_plus

from lmc_jupyter.errors import ModelError

_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASS", re.IGNORECASE)
_CREDENTIALS = re.compile(r"CREDENTIAL", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:sk|rk|pplx|xai|nvapi|glpat)-(?=[A-Za-z0-9_\-]*\d)[A-Za-z0-9_\-]{12,}"
    r"|\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|\b(?:gsk|hf|r8|gh[a-z]|fw)_[A-Za-z0-9]{12,}"  # with `_` it would be a name: hf_hub_download
    r"|\bgithub_pat_[A-Za-z0-9_]{12,}"
    r"|\bxox[a-z]-[A-Za-z0-9\-]{12,}"
    r"|\bAIza[A-Za-z0-9_\-]{20,}"
    r"|\bA[KS]IA[A-Z0-9]{16}\b"
    r"|\beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]+"
    r"|(?<=Bearer )[A-Za-z0-9_\-.~+/]{8,}"
)
"""What looks like a key of somebody's; names that a program has are none."""
_SHORTEST = 6  # a shorter word is no key: `none`, `x`
_SURE = 12
_MOST_LINES = 100
_TELLS = re.compile(r".*(?:KEY|TOKEN|SECRET|PASS|PASSWORD|PASSWD|PASSPHRASE)S?")
_OF_DATA = re.compile(r"CACHE|FOREIGN|GROUP|INDEX|PARTITION|PRIMARY|PUBLIC|ROW|SORT|UNIQUE")
_NAME_ONLY = re.compile(r"[a-z_]+|[A-Z_]+")
_PLAIN = re.compile(
    r"[\d.,:_+-]*"  # a number, a date
    r"|[A-Za-z]*[-_]?v?\d+(?:\.\d+)+"  # python3.11
    r"|(?:~|\.{0,2})(?:/[A-Z]?[a-z0-9_.-]+)+/?"  # a path
    r"|\w+://[^@?\s]*|localhost(?::\d+)?"
    r"|(?:%-?[A-Za-z]|[-/:.,T])*"  # the format of a date
)
"""What other text has as well; names and words too."""
_PAIR = re.compile(r"\s*[\"']?[\w.-]+[\"']?\s*[:=]\s+(\S+?)[,;]?\s*")


class Secret:
    """A key that neither print, a traceback nor pickle shows; `reveal` gives it.

    Parameters
    ----------
    value : the key; blanks around it are none of it
    name : what it is called where it was taken out: OPENAI_API_KEY
    """

    __slots__ = ("__weakref__", "_value", "name")

    def __init__(self, value: str, name: str = "api_key") -> None:
        self._value, self.name = value.strip(), name
        _alive.add(self)

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "<secret>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "<secret>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a <secret> cannot be pickled or copied to a file: pass the key again")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self


_alive: weakref.WeakSet[Secret] = weakref.WeakSet()
"""Every key that somebody holds, to know it where it turns up."""


def known() -> dict[str, str]:
    """The secrets of the environment, and those that are held: text -> name, the longest first.

    Of each there are the forms in which a program, a page or a file would write it.
    """
    secrets = [(value, name) for name, value in os.environ.items() if _NAMES.search(name)]
    secrets += [  # what a server of one's own takes for a key may be any word
        (value, each.name) for each in list(_alive) if len(value := each.reveal()) >= _SURE
    ]
    found: dict[str, str] = {}
    for value, name in secrets:
        for part in _parts(value, name):
            for form in _forms(part):
                found.setdefault(form, name)
    return dict(sorted(found.items(), key=lambda each: -len(each[0])))


def _parts(value: str, name: str) -> Iterator[str]:
    """The value and lines of it, as far as each is a secret wherever it stands.

    A value of 12 characters is one, unless it is a name and its own name says no more than that
    it has to do with keys (SECRET_NAME). A shorter one, and a line, has to look like a key too.
    """
    bare, tells = value.strip(_AROUND), _tells(name)
    is_sure = len(bare) >= _SURE and (tells or not _NAME_ONLY.fullmatch(bare))
    if is_sure or (tells and _looks_like_key(bare)):
        yield value
    lines = value.splitlines()
    if len(lines) > 1 and (tells or "-----BEGIN " in value):
        for line in lines[:_MOST_LINES]:
            pair = _PAIR.fullmatch(line)
            part = line if pair is None else pair[1]
            if _looks_like_key(part.strip(_AROUND)):
                yield part


def _tells(name: str) -> bool:
    """Whether the last word of the name says that its value is a secret."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper().rstrip("_0123456789").split("_")
    of_data = words[-1].startswith("KEY") and _OF_DATA.fullmatch("".join(words[-2:-1]))
    return _TELLS.fullmatch(words[-1]) is not None and not of_data and not name.startswith("BASH_")


def _looks_like_key(text: str) -> bool:
    """Whether this is one word that other text is not likely to have: no name, path or number."""
    if text.isdigit():
        return len(text) >= 8
    text = text.rstrip("()[]{};,:")
    words = re.split(r"[-_./*]+", text)
    if all(not word or (word.isalpha() and _is_one_case(word)) for word in words):
        return False
    is_word = not re.search(r"\s", text)
    return len(text) >= _SHORTEST and is_word and not _PLAIN.fullmatch(text)


def _is_one_case(word: str) -> bool:
    return word.islower() or word.isupper() or word.istitle()


def _forms(value: str) -> set[str]:
    """The value as it is, and as repr, JSON, HTML and addresses write it."""
    bare = value.strip(_AROUND)
    if bare.isascii() and bare.isalnum():
        return {value, bare}
    forms = {value, value.strip(), bare}
    for each in list(forms):
        clean = each.encode("utf-8", "replace").decode("utf-8")
        forms |= {
            repr(each)[1:-1],
            json.dumps(each)[1:-1],
            json.dumps(each, ensure_ascii=False)[1:-1],
        }
        forms |= {
            repr(clean.encode())[2:-1],
            html.escape(each),
            quote(clean, safe=""),
            quote_plus(clean),
        }
    return {form for form in forms if len(form) >= _SHORTEST}


_AROUND = " \t\r\n\"'`\u201c\u201d\u2018\u2019\xab\xbb"
"""What is copied along with a key."""


def without_known(text: str, secrets: Mapping[str, str]) -> str:
    """The text with each of these values replaced by the name of its variable."""
    for value, name in secrets.items():
        if value in text:
            text = text.replace(value, f"[redacted: {name}]")
    return text


def unfinished(
    text: str, secrets: Collection[str], at: int | None = None, shortest: int = 1
) -> int:
    """Where a secret may begin whose end is still to come; the length where there is none.

    What stands before can be written: no whole secret reaches over this place either.

    Parameters
    ----------
    at : where something else begins that waits
    shortest : so many characters of a secret are recognised as its beginning
    """
    at = len(text) if at is None else at
    for secret in secrets:
        first = secret[:shortest]
        start = text.find(first, max(0, len(text) - len(secret) + 1))
        while 0 <= start < at:
            if secret.startswith(text[start:]):
                at = start
            else:
                start = text.find(first, start + 1)
    end = len(text) + 1
    while at < end:
        end = at
        for secret in secrets:
            start = text.find(secret, max(0, at - len(secret) + 1), at + len(secret) - 1)
            at = start if 0 <= start < at else at
    return at


def is_secret(name: str, value: object) -> bool:
    """Whether an option of this name holds a key, such as `aws_secret_access_key`."""
    if _CREDENTIALS.search(name):
        return value is not None
    return isinstance(value, str) and _NAMES.search(name) is not None


def held(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with each key held so that nobody sees it; `plain` gives them to the call."""
    return {name: _held(name, value) for name, value in options.items()}


def _held(name: str, value: Any) -> Any:
    if isinstance(value, str):
        secret = bool(value) and (is_secret(name, value) or _IN_HEADERS.search(name) is not None)
        return Secret(value, name) if secret else value
    if isinstance(value, Mapping) and not isinstance(value, Secret):
        return {key: _held(str(key), each) for key, each in value.items()}
    return value


_IN_HEADERS = re.compile(r"^authorization$|^cookie$|^proxy-authorization$", re.IGNORECASE)


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the one call needs them."""
    return {name: _plain(value) for name, value in options.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return value.reveal()
    if type(value) is dict and any(isinstance(each, (Secret, dict)) for each in value.values()):
        return {key: _plain(each) for key, each in value.items()}
    return value


def redacted(
    text: str, held: Iterable[Secret] = (), environment: Mapping[str, str] | None = None
) -> str:
    """The text without any key: those held, those known, and what looks like one.

    Parameters
    ----------
    environment : what `known` gave, for many texts in a row
    """
    for secret in held:
        if len(secret.reveal()) >= _SHORTEST:
            text = text.replace(secret.reveal(), "[redacted]")
    return _SHAPES.sub(
        "[redacted]", without_known(text, known() if environment is None else environment)
    )


def address(url: str) -> str:
    """An address to be shown: without a password in it, and without what its query says."""
    bare = re.sub(r"(?<=://)[^/@\s]*@", "", url)
    at, mark, query = bare.partition("?")
    if mark:
        query = re.sub(r"=[^&#]*", "=…", query)
    return redacted(f"{at}{mark}{query}")


# Where keys come from -----------------------------------------------------------------------------

SERVICE = "lmc-jupyter"
"""The name of our entries in the keyring; the user of each is the key's own name."""

NAME = re.compile(r"[A-Z][A-Z0-9_]{2,63}")
"""What a key may be called: as in the environment, OPENAI_API_KEY."""

_lock = threading.Lock()
_found: dict[str, Secret | None] = {}
"""What was typed, or looked up in the keyring, in this process; None: it is not there."""
_problem: list[str] = []


def stored(name: str) -> Secret | None:
    """The key of this name that was typed in this process, else that of the keyring."""
    with _lock:
        if name not in _found:
            value, problem = _look_up(name)
            _problem[:] = [problem] if problem else []
            _found[name] = Secret(value, name) if value and value.strip() else None
        return _found[name]


def problem() -> str:
    """Why the keyring could not be asked the last time; "" when it could, or there is none."""
    return _problem[0] if _problem else ""


def _look_up(name: str) -> tuple[str | None, str]:
    import keyring
    from keyring.errors import KeyringError, NoKeyringError

    try:
        return keyring.get_password(SERVICE, name), ""
    except NoKeyringError:
        return None, ""  # this machine has none: its person keeps no key there
    except KeyringError as error:
        return None, f"the keyring cannot be read: {_why(error)}"
    except Exception as error:  # noqa: BLE001 - a backend of anybody's
        return None, f"the keyring cannot be read: {_why(error)}"


def hold(name: str, value: str) -> Secret:
    """Remember a key that the person typed, until this process ends."""
    secret = Secret(value, name)
    with _lock:
        _found[name] = secret
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
    """Remove a key from this process and from the keyring; whether there was one.

    Raises
    ------
    ModelError
        When the keyring cannot be reached, or refuses.
    """
    import keyring
    from keyring.errors import NoKeyringError

    with _lock:
        there = _found.pop(name, None) is not None
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
    """What a backend says, without what it was given."""
    return redacted(f"{type(error).__name__}: {error}"[:200])
