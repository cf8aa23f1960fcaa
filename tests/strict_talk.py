"""A talk of ten questions with a strict provider, in which happens what happens to a person.

One rule: it knows our public session alone. What the provider refused stands in the wire, why a
request did not begin with the one before in `reasons`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from model_server import ModelServer
from scripted import ScriptedModel, code, drive, said
from strict_wires import Anthropic, DeepSeek, Gemini, Responses, Step, Wire

from lmc_jupyter.errors import Stopped
from lmc_jupyter.gate import Decision
from lmc_jupyter.models.request import Request
from lmc_jupyter.session import Session

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
FIGURE = (
    "import base64; from IPython.display import Image, display\n"
    f"display(Image(base64.b64decode({PNG!r}), format='png'))"
)
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048}

WIRES: dict[str, tuple[Callable[[list[Step]], Wire], str, str, dict[str, Any]]] = {
    # the wire, the name of its model, the end of its address, more options
    "Claude with budgets": (
        partial(Anthropic, is_append_only=False), "anthropic/claude-sonnet-4-5", "", THINKING,
    ),
    "Claude with preserved thinking": (
        partial(Anthropic, is_append_only=True), "anthropic/claude-sonnet-4-5", "", THINKING,
    ),
    "DeepSeek": (DeepSeek, "openai/deepseek-v4", "/v1", {}),
    "Gemini": (Gemini, "gemini/gemini-3-pro-preview", "", {}),
    "OpenAI": (Responses, "openai/responses/gpt-5.4", "/v1", {}),
}  # fmt: skip


@dataclass
class Talk:
    """A conversation with one of `WIRES`, at the server of this machine."""

    server: ModelServer
    of: str
    wire: Wire = field(init=False)
    session: Session = field(init=False)
    reasons: list[str] = field(default_factory=list)
    """By request why it does not begin with the one before."""

    def __post_init__(self) -> None:
        make, name, end, more = WIRES[self.of]
        self.wire = make([])
        self.server.answer = self.wire.answer
        self.model = {
            "model": name, "api_base": self.server.root + end, "api_key": "none", "tools": True,
            "vision": True, **more,
        }  # fmt: skip
        self.session = Session(**self.model)
        self._hear()

    def _hear(self) -> None:
        record = self.session.spending.record

        def hear(request: Request) -> None:
            self.reasons.append(request.renewal)
            record(request)

        self.session.spending.record = hear

    def ask(self, number: int, *answers: Decision, first: str = "", more: int = 2) -> None:
        """A question; its answer runs `first`, then so many short blocks."""
        self._script(number, first, more)
        drive(self.session.ask(f"Question {number}?"), *answers or [Decision(True)] * 3)

    def _script(self, number: int, first: str = "", more: int = 2) -> None:
        names = [f"{'abc'[each]}_{number}" for each in range(more)]
        codes = [first] if first else []
        codes += [f"{name} = {number}" for name in names]
        self.wire.steps = iter([*((f"I run {code[:9]}.", code) for code in codes), ("Done.", None)])

    def edit(self, number: int) -> str:
        """The first block of this question, as the person edits it."""
        return f"a_{number} = {number}{number}"

    def ask_again(self, number: int) -> None:
        self._script(number)
        drive(self.session.retry(self.session.turns[-1]), Decision(True), Decision(True))

    def stop(self, number: int, *, in_thought: bool = False) -> None:
        """A question, and Stop in the middle of the words of its answer, or of what is thought."""
        self._script(number)
        self.wire.breaks.add(self.wire.count + 1)
        answer = self.session.ask(f"Question {number}?")
        with suppress(Stopped):
            for chunk in answer:
                if chunk.content and (chunk.recipient == "user") == in_thought:
                    self.session.stop()

    def stop_at_the_end(self, number: int) -> None:
        """A question, and Stop once a call has come whole, before the reply has ended."""
        self._script(number)
        self.wire.lacks_end.add(self.wire.count + 1)
        with suppress(Stopped):
            for chunk in self.session.ask(f"Question {number}?"):
                if chunk.type == "code" and chunk.content:
                    self.session.stop()

    def ask_another(self) -> None:
        """Another model answers a question, with code too; then it is this one's turn again."""
        self.session.choose_model(ScriptedModel([code("z = 1")], [said("From another.")]))
        drive(self.session.ask("What does another say?"), Decision(True))
        name = {key: value for key, value in self.model.items() if key != "model"}
        self.session.choose_model(str(self.model["model"]), **name)

    def restart(self, forget: Callable[[], Any]) -> None:
        """A new kernel goes on with the conversation.

        Parameters
        ----------
        forget : what the kernel loses
        """
        id_ = self.session.journal.id
        self.session.close()
        forget()
        self.session = Session(**self.model)
        self._hear()
        self.session.conversation.open(id_)


def whole(talk: Talk, forget: Callable[[], Any]) -> None:
    """Ten questions of three steps."""
    run, decline = Decision(True), Decision(False, reason="not now")
    talk.ask(0)
    talk.ask(1, first=FIGURE)
    talk.ask(2)
    talk.ask(3, Decision(True, code=talk.edit(3)), run)
    talk.stop(4)
    talk.stop(4, in_thought=True)
    talk.ask(5, run, decline)
    talk.ask_another()
    talk.ask(6)
    talk.ask(7)
    talk.ask_again(7)
    talk.ask(8)
    talk.restart(forget)
    talk.ask(9)
    talk.session.close()
