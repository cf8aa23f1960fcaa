"""What a block of code shows, on both sides: to the person by the kernel, to the model by us."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

RICHEST = (
    "application/vnd.plotly.v1+json",
    "application/vnd.jupyter.widget-view+json",
    "application/javascript",
    "text/html",
    "image/svg+xml",
    "image/png",
    "image/jpeg",
)
"""Of a bundle's types the one that a front end would take, about."""


@dataclass
class Sides:
    """One block: the kernel's own messages, and the chunks that were yielded."""

    messages: list[dict[str, Any]]
    chunks: list[dict[str, Any]]

    @property
    def kinds(self) -> list[str]:
        return [each["msg_type"] for each in self.messages]

    @property
    def person(self) -> list[str]:
        """The richest type of each bundle that the kernel has sent."""
        return [_richest(each["content"]["data"]) for each in self.messages]

    @property
    def sizes(self) -> list[int]:
        found = zip(self.messages, self.person, strict=True)
        return [len(str(each["content"]["data"][mime])) for each, mime in found]

    @property
    def images(self) -> list[dict[str, Any]]:
        return [each for each in self.chunks if each["type"] == "image"]

    @property
    def html(self) -> str:
        return "".join(c["content"] for c in self.chunks if c.get("format") == "html")

    @property
    def told(self) -> str:
        """The console text that the model may read."""
        return "".join(
            each["content"]
            for each in self.chunks
            if each.get("format") == "output" and each.get("recipient") != "user"
        )

    def chunk(self, type_: str) -> dict[str, Any]:
        """The only chunk of this type with content, but the line that runs."""
        (found,) = [
            each
            for each in self.chunks
            if each["type"] == type_ and each.get("format") != "active_line"
        ]
        return found


def both_sides(frontend: Any, code: str) -> Sides:
    """Run a block as a turn does."""
    cell = frontend.start(f"said = blocks({code!r})")
    messages = [
        each
        for each in frontend.finish(cell)
        if each["msg_type"] in ("display_data", "update_display_data", "execute_result")
    ]
    assert frontend.status == "ok", frontend.of(cell)
    (chunks,) = frontend.value("said")
    return Sides(messages, chunks)


def _richest(data: dict[str, Any]) -> str:
    return next((mime for mime in RICHEST if mime in data), next(iter(data)))
