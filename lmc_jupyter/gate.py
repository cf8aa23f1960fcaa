"""The approval gate: nothing runs without a grant for these very bytes.

One rule: code reaches a computer only through `Gate.run`, with a `Grant` that this gate made,
that is used once, is fresh, and is bound to the exact code. Policy is deny before ask before
allow; what policy cannot judge is asked.

The gate is a review step, not a sandbox: code that a person let run has that person's rights.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
import unicodedata
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Literal, Protocol

from lmc_jupyter.errors import GateError, LMCError
from lmc_jupyter.lmc import LANGUAGES, Chunk, canonical

Verdict = Literal["deny", "ask", "allow"]
Uses = Callable[[str, str], Collection[str]]
"""(language, code) -> every language that the code really runs; `!ls` in python uses shell."""

GRANT_SECONDS = 60.0
"""How long a grant lives between the decision and the run."""


class Runner(Protocol):
    """The part of a computer that the gate needs."""

    def run(self, language: str, code: str) -> Generator[Chunk, None, None]: ...


@dataclass(frozen=True)
class Policy:
    """What may run unasked, and what may never run.

    Parameters
    ----------
    allow, deny : languages, by any of their names; "*" is every language

    Denying a language also denies code of another one that uses it: a policy that denies
    shell refuses `!ls` in python.

    Raises
    ------
    GateError
        For a word that is a mistyped name of a language of the protocol: it would forbid nothing.
    """

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("allow", "deny"):
            words = _words(getattr(self, name))
            for word in words:
                _check_spelling(name, word)
            object.__setattr__(self, name, frozenset(canonical(word) for word in words))

    @classmethod
    def of(cls, run: bool | Collection[str], deny: Collection[str]) -> Policy:
        """The policy that lets these run unasked (True is every language) and denies those."""
        allow = ({"*"} if run else ()) if isinstance(run, bool) else run
        return cls(_words(allow), _words(deny))

    @property
    def runs_unasked(self) -> bool:
        """Whether there is code that it lets run unasked."""
        return bool(self.allow - self.deny) and "*" not in self.deny

    def verdict(self, uses: Collection[str]) -> tuple[Verdict, str]:
        """Judge code that uses these languages; the second value says why, for a person."""
        languages = {canonical(language) for language in uses}
        if denied := sorted(languages if "*" in self.deny else languages & self.deny):
            return "deny", f"your policy forbids {' and '.join(denied)}"
        if "*" in self.allow or languages <= self.allow:
            return "allow", "your policy lets it run unasked"
        return "ask", ""


def _words(words: Collection[str]) -> frozenset[str]:
    return frozenset({words} if isinstance(words, str) else words)


def _check_spelling(what: str, word: str) -> None:
    """Refuse what is nearly a language; any other unknown word may be one that comes later."""
    known = [each for name, aliases in LANGUAGES.items() for each in (name, *aliases)]
    said = word.strip().lower()
    near = get_close_matches(said, known, 1, 0.8) if said not in known else []
    if near:
        raise GateError(
            f"{word!r} is not a language that can be {_DONE[what]}: did you mean {near[0]!r}?"
        )


_DONE = {"allow": "let run unasked", "deny": "forbidden"}


@dataclass(frozen=True)
class Proposal:
    """Code that waits for a decision, held by the gate as the bytes that would run."""

    id: str
    turn: int
    block: int
    language: str
    code: str
    digest: str
    verdict: Verdict
    reason: str = ""
    edited: bool = False
    uses: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Decision:
    """The answer to a confirmation: run it, run this edit of it, or don't, and why."""

    run: bool
    code: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Grant:
    """The right to run one proposal once. Only a gate can make one that its gate will take."""

    id: str
    digest: str
    expires: float = field(repr=False)


class Gate:
    """Holds what is proposed, makes grants, and is the only way to a run.

    Parameters
    ----------
    policy : Policy
        Default: ask for everything.
    uses : callable, optional
        Tells which languages a piece of code runs; code that cannot be run at all raises
        `LMCError` and is denied, after any other failure it is asked for. Default: the
        language itself.
    clock : callable, optional
        Seconds, monotonic.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        uses: Uses | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._running = 0
        self._policy = policy or Policy()
        self.session = secrets.token_hex(16)
        self.pending: Proposal | None = None
        """What waits for a decision now; a view draws its question from this."""
        self.ran: Proposal | None = None
        """What was let run last; a view sees by it whether a yes was taken."""
        self._uses = uses or (lambda language, _: (language,))
        self._clock = clock
        self._lock = threading.RLock()  # an interrupt may leave it held: its thread goes on
        self._granted: dict[str, tuple[Grant, Proposal]] = {}

    @property
    def policy(self) -> Policy:
        """What may run unasked, and what never; it counts from the next proposal on.

        Raises
        ------
        GateError
            When it is set while code runs that this gate let run: no code lifts its own limits.
        """
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        if self._running:
            raise GateError(
                "code that a model wrote cannot change what may run: change it in a cell of your "
                "own"
            )
        self._policy = policy

    def propose(
        self, turn: int, block: int, language: str, code: str, *, asks: str = ""
    ) -> Proposal:
        """Take code in; nothing runs yet. Windows line ends become plain ones.

        Parameters
        ----------
        asks : why it is asked for even where policy lets it run; "" for no such reason
        """
        proposal = self._proposal(turn, block, language, code, asks)
        with self._lock:
            self._granted.clear()  # whatever was granted before belongs to an earlier question
            self.pending = proposal
        return proposal

    def grant(self, proposal: Proposal, code: str | None = None) -> Grant:
        """Say yes to what is pending, or to the person's own edit of it.

        Raises
        ------
        GateError
            When something else is pending by now, or policy denies the code or the edit.
        """
        if code is not None and _plain(code) != proposal.code:
            chosen = self._proposal(
                proposal.turn, proposal.block, proposal.language, code, edited=True
            )
        else:
            chosen = proposal
        with self._lock:
            if self.pending is not proposal:
                raise GateError("this code no longer waits for an answer: ask again")
            self._check_policy(proposal)
            if chosen.verdict == "deny":
                raise GateError(chosen.reason)
            grant = Grant(secrets.token_hex(16), chosen.digest, self._clock() + GRANT_SECONDS)
            self._granted[grant.id] = grant, chosen
            self.pending = None
        return grant

    def granted(self, grant: Grant) -> Proposal:
        """What this grant lets run; it is not used up by looking.

        Raises
        ------
        GateError
            When this gate did not make the grant, or it is used, withdrawn or expired.
        """
        with self._lock:
            return self._check(grant)

    def run(self, grant: Grant, computer: Runner) -> Generator[Chunk, None, None]:
        """Use the grant up and run exactly the code that it was made for.

        Raises
        ------
        GateError
            As `granted`. Nothing has run then.
        """
        with self._lock:
            proposal = self._check(grant)
            del self._granted[grant.id]
            self.ran = proposal
        run = getattr(computer, "granted", computer.run)  # a computer of somebody's own has none
        return self._watched(run(proposal.language, proposal.code))

    def _watched(self, pieces: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        self._running += 1
        try:
            yield from pieces
        finally:
            self._running -= 1

    def check_run(self, language: str, code: str) -> None:
        """As `check`, for code that is run past this gate."""
        if self._running:
            self.check({canonical(language), *self._uses(language, code)})

    def check_change(self, what: str) -> None:
        """Let somebody change what words mean, unless it is code that this gate let run.

        Raises
        ------
        GateError
            When such code is at work.
        """
        if self._running:
            raise GateError(
                f"{what}: code that a model wrote cannot do that, do it in a cell of your own"
            )

    def check(self, uses: Collection[str]) -> None:
        """Let code that runs use these languages too, as far as policy lets it.

        What a person does in a cell of their own is not asked for.

        Raises
        ------
        GateError
            When code that this gate let run is at work, and policy denies one of them, or would
            have had it asked for had it been known before.
        """
        if not self._running or self.ran is None:
            return
        verdict, reason = self.policy.verdict(uses)
        if verdict == "deny":
            raise GateError(reason)
        if verdict == "ask" and self.ran.verdict == "allow" and not set(uses) <= self.ran.uses:
            new = " and ".join(sorted(set(uses) - self.ran.uses))
            raise GateError(
                f"this code runs unasked and your policy wants to be asked about {new}: write "
                "that word itself into the code, so that it is seen before it runs"
            )

    def withdraw(self) -> None:
        """Forget what is pending and every grant: the turn was stopped or declined."""
        with self._lock:
            self.pending = None
            self._granted.clear()

    def _check(self, grant: Grant) -> Proposal:
        known = self._granted.get(grant.id)
        if known is None or known[0] != grant:
            raise GateError(
                "this code has no approval: the approval was used or withdrawn, or was never given"
            )
        if self._clock() > grant.expires:
            raise GateError(f"the approval is older than {GRANT_SECONDS:.0f} s: ask for it again")
        self._check_policy(known[1])
        return known[1]

    def _check_policy(self, proposal: Proposal) -> None:
        if self._digest(proposal) != proposal.digest:
            raise GateError("the policy was changed since this code was shown: ask for it again")

    def _digest(self, proposal: Proposal) -> str:
        """What a grant is bound to; under another policy it is another one."""
        bound = (
            self.session,
            proposal.turn,
            proposal.block,
            proposal.language,
            sorted(self.policy.allow),
            sorted(self.policy.deny),
            proposal.code,
        )
        return hashlib.sha256(repr(bound).encode("utf-8")).hexdigest()

    def _proposal(
        self,
        turn: int,
        block: int,
        language: str,
        code: str,
        asks: str = "",
        *,
        edited: bool = False,
    ) -> Proposal:
        language, code = canonical(language), _plain(code)
        verdict: Verdict
        uses = frozenset({language})
        try:
            uses |= {canonical(each) for each in self._uses(language, code)}
            verdict, reason = self.policy.verdict(uses)
        except LMCError as error:
            verdict, reason = "deny", str(error)
        except Exception as error:  # noqa: BLE001 - the border to code of others: any Language
            verdict, reason = self.policy.verdict(uses)
            if verdict != "deny":
                verdict, reason = "ask", f"what it uses cannot be told ({type(error).__name__})"
        if verdict == "allow" and not edited and (count := hidden(code)):
            asks = f"it has hidden characters ({count}), so you are asked"
        if verdict == "allow" and asks:
            verdict, reason = "ask", asks
        proposal = Proposal(
            secrets.token_hex(16), turn, block, language, code, "", verdict, reason, edited, uses
        )
        return replace(proposal, digest=self._digest(proposal))


def _plain(code: str) -> str:
    return code.replace("\r\n", "\n")


# What you see is what runs -----------------------------------------------------------------------

_INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Co", "Cs", "Cn"}
# drawn as nothing
_FILLERS = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC, 0x1D159}
_EMOJI_LETTERS = {  # emoji that Unicode counts as letters, punctuation or modifiers
    *"\u203c\u2049\u3030\u303d",  # not U+2139: a name may have a selector after it
    *map(chr, range(0x1F3FB, 0x1F400)),  # skin tones
}
_KEYCAP = "\u20e3"
# letters of Greek, Cyrillic, Armenian and phonetic script that look like Latin ones
_LOOK_ALIKES = re.compile(
    "[\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03f2\u03f3\u03f9\u037f"
    "\u0405\u0406\u0408\u0410\u0412\u0415\u0417\u041a\u041c-\u041e\u0420-\u0423\u0425\u0430\u0435\u043e\u0440\u0441\u0443\u0445"
    "\u0455\u0456\u0458\u04ae\u04af\u04ba\u04bb\u04c0\u04cf\u0501\u050c\u051a-\u051d\u0251\u0261\u03b1\u03bd\u03c1\u0555\u0570\u0578\u057d\u0585]"
)
_SYMBOLS = "\u03b1\u03bd\u03c1"  # alpha, nu, rho: at the edge of a word they are a formula's
_WORD = re.compile(r"\\[nrt]|%[-+ #0-9.]*[dfs]|([^\W\d_]+)")
_LATIN = re.compile("[A-Za-z]")
_OTHERS = re.compile("[^A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]")
_ODD_SPACES = {0x00A0, 0x1680, 0x202F, 0x205F, 0x3000, *range(0x2000, 0x200B)}


def revealed(code: str) -> Iterator[tuple[str, bool]]:
    """Split code into (text, hidden) parts: a hidden part is a mark such as `⟨U+202E⟩`.

    Hidden is every character that a page shows as nothing or as something else: control and
    format characters, bidirectional overrides, fillers, unassigned and private ones; and a
    letter of another script that looks like a Latin one, in a word with Latin letters and no
    other foreign ones. Marks are for a person's eyes; what runs is `code`. (security.md, 2.5)
    """
    plain = 0
    mixed = _mixed(code)
    for index, char in enumerate(code):
        if char < "\x7f" and (char >= " " or char in "\n\t"):
            continue
        if index not in mixed and not _is_hidden(code, index):
            continue
        if plain < index:
            yield code[plain:index], False
        yield f"⟨U+{ord(char):04X}⟩", True
        plain = index + 1
    if plain < len(code):
        yield code[plain:], False


def _mixed(code: str) -> frozenset[int]:
    """Where look-alikes stand in words that have Latin letters too, and no other foreign ones.

    `_`, a dot and digits part words, and so do escapes such as `\\n` and `%d`: a name in two
    scripts (`df_продажи`) is everyday code, and so is a letter of a formula at its edge.
    """
    if code.isascii() or not _LOOK_ALIKES.search(code):
        return frozenset()
    found: set[int] = set()
    for match in _WORD.finditer(code):
        word = (match[1] or "").rstrip(_SYMBOLS)
        start = match.start() + len(word)
        word = word.lstrip(_SYMBOLS)
        start -= len(word)
        others = [each.start() for each in _OTHERS.finditer(word) if each[0].isalpha()]
        if _LATIN.search(word) and all(_LOOK_ALIKES.match(word, at) for at in others):
            found.update(start + at for at in others)
    return frozenset(found)


def hidden(code: str) -> int:
    """How many hidden characters the code has."""
    return sum(is_hidden for _, is_hidden in revealed(code))


def _is_hidden(code: str, index: int) -> bool:
    char = code[index]
    point = ord(char)
    before = code[index - 1] if index else ""
    after = code[index + 1 : index + 2]
    if point == 0xFE0F:  # asks for the picture form of the emoji before it: plain to see
        return not (_is_emoji(before) or (before and before in "0123456789#*" and after == _KEYCAP))
    if point == 0x200D:  # joins two emoji into one
        return not ((_is_emoji(before) or before == "\ufe0f") and _is_emoji(after))
    if point in _FILLERS or point in _ODD_SPACES or 0xFE00 <= point <= 0xFE0E:
        return True
    if 0xE0100 <= point <= 0xE01EF or 0x180B <= point <= 0x180F:  # more variation selectors
        return True
    return unicodedata.category(char) in _INVISIBLE_CATEGORIES


def _is_emoji(char: str) -> bool:
    """Whether a selector or joiner beside it belongs to a picture: symbols outside ASCII."""
    if not char or char < "\x7f" or ord(char) in _FILLERS:
        return False
    return char in _EMOJI_LETTERS or unicodedata.category(char) in ("So", "Sm")
