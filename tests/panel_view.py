"""A front end of the panel for the tests: the protocol of js/src/protocol.ts, and its numbering.

It keeps what `conversation.ts` keeps, in its own words: it may drop batches, and then asks.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any


class Records:
    """What the events and snapshots add up to."""

    def __init__(self) -> None:
        self.epoch, self.next = "", 0
        self.records: list[dict[str, Any]] = []  # {} where one has not come yet
        self.first = 0  # the records before it are asked for
        self.turns: list[dict[str, Any]] = []
        self.ask: dict[str, Any] | None = None
        self.input: dict[str, Any] | None = None
        self.cell = 0
        self.queued: list[dict[str, str]] = []
        self.state: dict[str, Any] = {"state": ""}
        self.settings: dict[str, Any] = {}
        self.line: int | None = None
        self.open = False
        self.behind = False
        self.states: list[str] = []
        self.tables: dict[str, Any] = {}

    def take(self, message: dict[str, Any]) -> None:
        if message["kind"] == "snapshot":
            self._snapshot(message)
        elif message["kind"] == "events":
            self._events(message)
        elif message["kind"] == "earlier":
            self._earlier(message)

    def _snapshot(self, it: dict[str, Any]) -> None:
        if it["epoch"] == self.epoch and it["seq"] < self.next:
            return
        self.epoch, self.next, self.behind = it["epoch"], it["seq"], False
        self._fill(it["first"], it["records"])
        self.turns, self.ask, self.input = list(it["turns"]), it["ask"], it["input"]
        self.settings, self.line, self.open = it["settings"], it["line"], it["open"]
        self.queued = it["queued"]
        self.tables = it.get("tables", {})  # those of the panel, not of its mirror alone
        self._state(it["state"])

    def _fill(self, first: int, records: list[dict[str, Any]]) -> None:
        shown = [{**r, "message": dict(r["message"])} if "message" in r else r for r in records]
        self.records, self.first = [{} for _ in range(first)] + shown, first

    def _earlier(self, it: dict[str, Any]) -> None:
        if it["epoch"] != self.epoch or it["seq"] != self.next:
            self.behind = True
            return
        if it["first"] < self.first <= it["first"] + len(it["records"]):
            later = self.records[self.first :]
            self._fill(it["first"], it["records"][: self.first - it["first"]])
            self.records += later

    def _events(self, it: dict[str, Any]) -> None:
        if it["epoch"] != self.epoch or it["seq"] > self.next:
            self.behind = True
            return
        self.behind = False
        for event in it["events"][max(0, self.next - it["seq"]) :]:
            self.next += 1
            self._event(event)

    def _event(self, event: dict[str, Any]) -> None:
        ((name, value),) = [e for e in event.items() if e[0] not in ("skipped", "first")]
        if name == "grown":
            self._chunk(value, event.get("skipped", 0))
        elif name == "appended":
            assert not self.open, "a record begins while a message is open"
            self.records.append(value)
        elif name == "rewritten":
            if value["at"] >= self.first:  # else it comes with this content
                self.records[value["at"]]["message"]["content"] = value["content"]
        elif name in ("marked", "became", "names_changed", "names_restored"):
            marks = dict(value)
            record = self.records[at := marks.pop("at")]
            if at < self.first:
                return  # it comes with this mark
            record.update(marks)
            if marks.get("partial") and record is self.records[-1]:
                self.open = False
        elif name == "waits":
            self.ask = value
        elif name == "answered":
            assert self.ask is not None
            assert self.ask["proposal"] == value
            self.ask = None
        elif name == "input":
            self.input = value
        elif name == "queued":
            self.queued = value
        elif name == "state":
            self._state(value)
        elif name in ("began", "ended"):
            known = [turn["id"] for turn in self.turns]
            if value["id"] in known:
                self.turns[known.index(value["id"])] = value
            else:
                self.turns.append(value)
        elif name == "cut":
            assert value <= len(self.records)
            del self.records[value:]
            self.first = min(self.first, value)
            self.turns = [turn for turn in self.turns if turn["at"] < value]
            self.open = False
        elif name == "replaced":
            self.turns, self.open = [], False
            self._fill(event["first"], value)
        elif name == "configured":
            self.settings = value
        elif name == "cell":
            self.cell = value
        else:
            raise AssertionError(f"an unknown event: {event}")

    def _chunk(self, chunk: dict[str, Any], cut: int) -> None:
        if chunk.get("start"):
            assert not self.open, "a message begins in another"
            head = {
                key: chunk[key] for key in ("role", "type", "format", "recipient") if key in chunk
            }
            self.records.append({"message": {**head, "content": ""}})
            self.open = True
        assert self.open, f"a chunk without a message: {chunk}"
        record = self.records[-1]
        if chunk.get("format") == "active_line":
            self.line = chunk["content"]
        elif "content" in chunk:
            if "cut" in record or cut:
                if "cut" not in record:
                    record["cut"], record["tail"] = 0, ""
                if cut:
                    record["cut"] += cut + len(record["tail"])
                    record["tail"] = ""
                record["tail"] += chunk["content"]
            else:
                record["message"]["content"] += chunk["content"]
        if chunk.get("end"):
            self.open, self.line = False, None

    def _state(self, state: dict[str, Any]) -> None:
        self.state = state
        if not self.states or self.states[-1] != state["state"]:
            self.states.append(state["state"])
        if state["state"] in ("idle", "done", "stopped", "failed"):
            self.open = False


class Panel:
    """Somebody in front of the panel, by a real kernel's channels."""

    def __init__(self, frontend: Any, model_id: str, way: str = "control") -> None:
        self.frontend, self.id, self.way = frontend, model_id, way
        self.at = len(frontend.messages)
        self.view = Records()
        self.replies: dict[str, tuple[dict[str, Any], list[Any]]] = {}
        self.acks: set[str] = set()
        self.decided: set[str] = set()
        self.drop: Callable[[dict[str, Any]], bool] = lambda _: False
        self.sync()

    def look(self) -> None:
        messages = self.frontend.messages
        while self.at < len(messages):
            message, self.at = messages[self.at], self.at + 1
            content = message["content"]
            if message["msg_type"] != "comm_msg" or content["comm_id"] != self.id:
                continue
            custom = content["data"].get("content", {})
            if custom.get("kind") == "reply":
                self.replies[custom["of"]] = custom, message.get("buffers", [])
            elif custom.get("kind") == "ack":
                self.acks.add(custom["of"])
            elif custom and not self.drop(custom):
                self.view.take(custom)

    def until(self, true: Callable[[], Any], what: str) -> Any:
        def looked() -> Any:
            self.look()
            if self.view.behind:
                self.view.behind = False
                self.tell({"kind": "sync", "epoch": self.view.epoch, "have": self.view.next})
            if self.view.first not in (0, asked[-1]):
                asked.append(self.view.first)
                self.tell({"kind": "earlier", "before": self.view.first})
            return true()

        asked = [0]

        return self.frontend.until(looked, what)

    def tell(self, content: dict[str, Any]) -> str:
        content = {"id": uuid.uuid4().hex, **content}
        if self.way == "control":
            reply = self.frontend.control("lmc_request", {"comm_id": self.id, "content": content})
            assert reply["status"] == "ok", reply
        else:
            data = {"method": "custom", "content": content}
            self.frontend.send("comm_msg", {"comm_id": self.id, "data": data})
        return str(content["id"])

    def wait_for_shell(self) -> None:
        """Wait until the kernel has read what was sent on the shell channel, as cells are."""
        id = uuid.uuid4().hex
        data = {"method": "custom", "content": {"kind": "hello", "id": id}}
        self.frontend.send("comm_msg", {"comm_id": self.id, "data": data})
        self.until(lambda: id in self.acks, "what was sent on the shell channel")

    def sync(self) -> None:
        self.tell({"kind": "sync", "epoch": "", "have": 0})
        self.until(lambda: self.view.epoch, "a snapshot")

    def request(self, kind: str, **content: Any) -> tuple[dict[str, Any], list[Any]]:
        """Ask for something; the reply and its buffers."""
        said = self.tell({"kind": kind, **content})
        found: tuple[dict[str, Any], list[Any]] = self.until(
            lambda: self.replies.get(said), f"the reply to {kind}"
        )
        return found

    def value(self, kind: str, **content: Any) -> Any:
        reply, _ = self.request(kind, **content)
        assert reply["ok"], reply["error"]
        return reply["value"]

    def refused(self, kind: str, **content: Any) -> str:
        reply, _ = self.request(kind, **content)
        assert not reply["ok"], reply
        return str(reply["error"])

    def ask(self, text: str = "Go.", attachments: list[dict[str, str]] | None = None) -> None:
        self.begin("ask", text=text, attachments=attachments or [])

    def begin(self, kind: str, **content: Any) -> None:
        """Ask, retry or edit, and wait until the turn is seen."""
        known = {turn["id"] for turn in self.view.turns}
        assert self.value(kind, **content) is None
        self.until(lambda: {turn["id"] for turn in self.view.turns} - known, "the turn")

    def question(self, *but: str) -> dict[str, Any]:
        """Wait for a question; none that was decided, or whose proposal is given."""
        known = self.decided.union(but)
        found: dict[str, Any] = self.until(
            lambda: (
                self.view.ask if self.view.ask and self.view.ask["proposal"] not in known else None
            ),
            "a question",
        )
        return found

    def decide(self, question: dict[str, Any], decision: str = "run", **more: Any) -> None:
        answer = {key: question[key] for key in ("proposal", "digest")}
        self.decided.add(question["proposal"])
        self.tell({"kind": "decision", "decision": decision, **answer, **more})

    def over(self, state: str = "done") -> None:
        """Wait for the end of the last turn."""

        def ended() -> bool:
            turns = self.view.turns
            return bool(turns) and turns[-1]["over"] and self.view.state["state"] == state

        self.until(ended, f"the end of the turn as {state!r}")

    def texts(self) -> list[str]:
        """What stands in the list: contents of messages, and notes."""
        return [
            each["note"] if "note" in each else each["message"]["content"]
            for each in self.view.records
        ]

    def fates(self) -> list[str]:
        return [
            each.get("fate", "")
            for each in self.view.records
            if "message" in each
            and each["message"]["type"] == "code"
            and each["message"]["role"] == "assistant"
        ]
