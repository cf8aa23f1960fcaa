"""Stand-ins of providers' wires, strict as their pages say: what was sent to us must come back.

One rule: a wire knows nothing of our code. It refuses with the provider's own sentence what the
provider would refuse, and counts it; all requests stay in `bodies`. A reply that `breaks` names has
its thoughts and its words, and then nothing comes; one that `lacks_end` names has all but its end.

Sources: https://docs.claude.com/en/docs/build-with-claude/extended-thinking,
https://api-docs.deepseek.com/guides/thinking_mode,
https://ai.google.dev/gemini-api/docs/thought-signatures,
https://platform.openai.com/docs/guides/reasoning.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

from model_server import (
    END,
    HEAD,
    STALL,
    Fault,
    Refusal,
    Request,
    Turn,
    chunked,
    reasoning,
    text,
)
from model_server import call as function_call

Step = tuple[str, str | tuple[str, ...] | None]
"""(words, code of a call or of several, or None for the last reply to a question)."""


_PROPOSED = re.compile(r"# for cell (\w+)\n")


def proposed(source: str, cell: int | str = "new") -> str:
    """The code of a step that is proposed for this cell."""
    return f"# for cell {cell}\n{source}"


def call_of(code: str) -> tuple[str, dict[str, Any]]:
    """The function that a step calls, and its arguments."""
    if found := _PROPOSED.match(code):
        return "propose_cell", {"cell": found[1], "source": code}
    return "execute", {"language": "python", "code": code}


class Wire:
    """One provider: it answers each request with the next step of its script."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps: Iterator[Step] = iter(steps)
        self.bodies: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        self.replies: list[Any] = []
        self.thoughts: list[str] = []
        """By reply what only its thoughts have; "" for one that broke off before they were whole.
        """
        self.breaks: set[int] = set()
        self.lacks_end: set[int] = set()
        self.count = 0

    def answer(self, request: Request) -> Any:
        body = request.body
        self.bodies.append(body)
        if why := self.refuse(body):
            self.refusals.append(why)
            return Refusal(400, why)
        self.count += 1
        words, code = next(self.steps, ("No more.", None))
        return self.reply(words, (code,) if isinstance(code, str) else code or ())

    def refuse(self, body: dict[str, Any]) -> str:
        """The provider's sentence; "" where it accepts."""
        raise NotImplementedError

    def reply(self, words: str, codes: tuple[str, ...]) -> Any:
        raise NotImplementedError

    def blocks(self, body: dict[str, Any]) -> Iterator[Any]:
        """What is read of a request, one after another."""
        raise NotImplementedError

    def text(self, body: dict[str, Any]) -> str:
        """The request as one text: whatever is added to a request is added to its end."""
        return "\n".join(map(_text, self.blocks(body)))

    def stream(self, begin: bytes, rest: bytes, end: bytes) -> Fault:
        """A reply, of which `begin` has the thoughts and the words, `rest` the calls."""
        if self.count in self.breaks:
            return Fault(HEAD + begin, stall=True)
        if self.count in self.lacks_end:
            return Fault(HEAD + begin + rest, stall=True)
        return Fault(HEAD + begin + rest + end + END)


def _text(block: Any) -> str:
    match block:
        case {"role": str(role), "content": str(text), **more} if not more:
            return f"{role}\n{text}"
        case {"role": str(role), "content": [*parts], **more} if more.keys() <= {"type"}:
            return "\n".join([role, *map(_text, parts)])
        case {"text": str(text), **more} if more.keys() <= {"type", "role"}:
            return "\n".join([more.get("role", ""), text]).lstrip("\n")
    return json.dumps(block)


def anthropic_event(kind: str, **fields: Any) -> bytes:
    return chunked(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())


class Anthropic(Wire):
    """Claude with thinking: `is_append_only` as its models with preserved thinking check it."""

    def __init__(self, steps: list[Step], *, is_append_only: bool) -> None:
        super().__init__(steps)
        self.is_append_only = is_append_only
        self.before: list[Any] = []  # by reply all that came before it

    def refuse(self, body: dict[str, Any]) -> str:
        theirs = [each["content"] for each in body["messages"] if each["role"] == "assistant"]
        for at, content in enumerate(theirs):
            blocks = without_marks(content if isinstance(content, list) else [])
            is_foreign = not any(each.get("input") in self._inputs() for each in blocks)
            matters = (self.is_append_only or at == len(theirs) - 1) and not is_foreign
            if matters and blocks not in self.replies:
                return (
                    f"messages.{2 * at + 1}.content.0.type: Expected `thinking` or "
                    "`redacted_thinking`, but found `tool_use`"
                )
        if self.is_append_only:
            for at, content in enumerate(body["messages"]):
                blocks = without_marks(content["content"])
                if blocks in self.replies and (
                    self.before[self.replies.index(blocks)] != _before(body, at)
                ):
                    return f"messages.{at}: `thinking` cannot be verified: what came before changed"
        self.before.append([*self.blocks(body)])
        return ""

    def _inputs(self) -> list[Any]:
        return [each["input"] for blocks in self.replies for each in blocks if "input" in each]

    def blocks(self, body: dict[str, Any]) -> Iterator[Any]:
        yield from _before(body, len(body["messages"]))

    def reply(self, words: str, codes: tuple[str, ...]) -> Any:
        thought = {
            "type": "thinking",
            "thinking": f"Step {self.count}.",
            "signature": f"s{self.count}==",
        }
        blocks: list[dict[str, Any]] = [thought, {"type": "text", "text": words}]
        for number, code in enumerate(codes):
            name, arguments = call_of(code)
            blocks.append(
                {
                    "type": "tool_use",
                    "id": f"toolu_{self.count}_{number}",
                    "name": name,
                    "input": arguments,
                }
            )
        is_broken = self.count in self.breaks
        self.replies.append(blocks[:2] if is_broken else blocks)
        self.thoughts.append(thought["signature"])
        usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 4}
        head = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}
        events = [[*_events(index, block)] for index, block in enumerate(blocks)]
        begin = anthropic_event("message_start", message={**head, "usage": usage})
        begin += b"".join(events[0] + events[1][:-1])
        rest = b"".join(each for more in (events[1][-1:], *events[2:]) for each in more)
        reason = "tool_use" if codes else "end_turn"
        end = anthropic_event("message_delta", delta={"stop_reason": reason}, usage=usage)
        return self.stream(begin, rest, end + anthropic_event("message_stop"))


def _before(body: dict[str, Any], at: int) -> list[Any]:
    """System, tools and all blocks before this message, one after another."""
    blocks: list[Any] = [without_marks(body.get("system")), without_marks(body.get("tools"))]
    for message in body["messages"][:at]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks += [{"role": message["role"], **each} for each in without_marks(parts)]
    return blocks


def _events(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    begin, deltas = {
        "thinking": (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": block.get("thinking", "")[:3]},
                {"type": "thinking_delta", "thinking": block.get("thinking", "")[3:]},
                {"type": "signature_delta", "signature": block.get("signature")},
            ],
        ),
        "text": ({"type": "text", "text": ""}, [{"type": "text_delta", "text": block.get("text")}]),
        "tool_use": (
            {**block, "input": {}},
            [{"type": "input_json_delta", "partial_json": json.dumps(block.get("input"))}],
        ),
    }[block["type"]]
    yield anthropic_event("content_block_start", index=index, content_block=begin)
    for delta in deltas:
        yield anthropic_event("content_block_delta", index=index, delta=delta)
    yield anthropic_event("content_block_stop", index=index)


def without_marks(value: Any) -> Any:
    """The value without `cache_control`, which is not compared."""
    if isinstance(value, list):
        return [without_marks(each) for each in value]
    if isinstance(value, dict):
        return {key: without_marks(each) for key, each in value.items() if key != "cache_control"}
    return value


class DeepSeek(Wire):
    """A chat in OpenAI's form that wants `reasoning_content` back with each call."""

    def refuse(self, body: dict[str, Any]) -> str:
        for each in body["messages"]:
            for call in each.get("tool_calls", ()):
                arguments = json.loads(call["function"]["arguments"])
                written = arguments.get("code", arguments.get("source"))
                own = [thought for thought, codes in self.replies if written in codes]
                thought = each.get("reasoning_content")
                if not thought or (own and thought not in own):
                    return (
                        "The `reasoning_content` in the thinking mode must be passed back to the "
                        "API."
                    )
        return ""

    def blocks(self, body: dict[str, Any]) -> Iterator[Any]:
        yield body.get("tools")
        yield from body["messages"]

    def reply(self, words: str, codes: tuple[str, ...]) -> Any:
        thought = f"I think of step {self.count}."
        self.replies.append((thought, codes))
        self.thoughts.append(thought)
        parts = [reasoning(thought), text(words)]
        if self.count in self.breaks:
            return Turn(*parts, STALL)
        for code in codes:
            name, arguments = call_of(code)
            parts.append(function_call(name, json.dumps(arguments)))
        return Turn(*parts, *([STALL] if self.count in self.lacks_end else ()))


class Gemini(Wire):
    """Gemini 3: each call comes with a signature that goes back on the part it came on.

    Google accepts its `skip_thought_signature_validator` in place of a signature, and thinks worse
    for it: here that is for calls of others alone.
    """

    DUMMIES = frozenset(
        base64.b64encode(word).decode()
        for word in (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")
    )

    def refuse(self, body: dict[str, Any]) -> str:
        calls: list[tuple[str, str]] = []
        for at, content in enumerate(body["contents"]):
            parts = [_camel(part) for part in content["parts"]]
            responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
            if calls != [(each["name"], each.get("id")) for each in responses]:
                return (
                    "Please ensure that the number of function response parts is equal to the "
                    "number of function call parts of the function call turn."
                )
            made = [
                (number, part, part["functionCall"])
                for number, part in enumerate(parts)
                if "functionCall" in part
            ]
            calls = [(call["name"], call.get("id")) for _, _, call in made]
            for number, part, call in made:
                known = [each for each in self.replies if _code_of(each) == call["args"]]
                signature = part.get("thoughtSignature")
                if signature is None and number == made[0][0]:
                    return (
                        f"Function call is missing a thought_signature in functionCall parts. "
                        f"contents.{at}, position {number}."
                    )
                if known and part not in known:
                    return f"Corrupted thought signature. contents.{at}, position {number}."
                if not known and number == made[0][0] and signature not in self.DUMMIES:
                    return f"Invalid thought signature. contents.{at}, position {number}."
        return ""

    def reply(self, words: str, codes: tuple[str, ...]) -> Any:
        parts: list[dict[str, Any]] = [
            {"text": f"Step {self.count}.", "thought": True},
            {"text": words},
        ]
        signature = base64.b64encode(f"signature {self.count}".encode()).decode()
        for number, code in enumerate(codes):
            name, arguments = call_of(code)
            made = {"name": name, "args": arguments, "id": f"id{self.count}_{number}"}
            parts.append({"functionCall": made})
        if not codes:  # the last part has it, which may have no text
            parts.append({"text": ""})
        parts[2]["thoughtSignature"] = signature  # of several calls the first one has it
        is_broken = self.count in self.breaks
        self.replies += [] if is_broken else parts[2:]
        self.thoughts.append("" if is_broken else signature)
        begin = b"".join(map(self._event, parts[:2]))
        rest = b"".join(map(self._event, parts[2:]))
        return self.stream(begin, rest, self._event({"text": ""}, "STOP"))

    def blocks(self, body: dict[str, Any]) -> Iterator[Any]:
        yield body.get("tools")
        yield body.get("system_instruction")
        for content in body["contents"]:
            yield {"role": content["role"], "content": content["parts"]}

    def _event(self, part: dict[str, Any], finish: str | None = None) -> bytes:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = finish
        usage = {
            "promptTokenCount": 10,
            "cachedContentTokenCount": 4,
            "candidatesTokenCount": 5,
            "totalTokenCount": 15,
        }
        data = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro"}
        return chunked(f"data: {json.dumps(data)}\r\n\r\n".encode())


def _camel(part: dict[str, Any]) -> dict[str, Any]:
    """A part by the names that Google's pages have; its servers take `function_call` as well."""
    return {
        "".join([first, *map(str.title, more)]): value
        for key, value in part.items()
        for first, *more in [key.split("_")]
    }


def _code_of(part: dict[str, Any]) -> Any:
    return part.get("functionCall", {}).get("args")


class Responses(Wire):
    """OpenAI's Responses interface for who keeps nothing there: reasoning comes encrypted, and each
    call goes back behind the reasoning that it came with."""

    def refuse(self, body: dict[str, Any]) -> str:
        if body.get("store") is not False or body.get("previous_response_id"):
            return "Store must be set to false, and no previous response can be used."
        if "reasoning.encrypted_content" not in body.get("include", ()):
            return "Reasoning items without their encrypted content cannot be used again."
        waiting: list[str] = []
        items = body["input"]
        for at, item in enumerate(items):
            kind = item["type"]
            if kind == "function_call_output":
                if item["call_id"] not in waiting:
                    return f"No tool call found for function call output {item['call_id']}."
                waiting.remove(item["call_id"])
            elif waiting and kind == "message":
                return f"No tool output found for function call {waiting[0]}."
            elif kind == "reasoning" and (why := self._refuse_reasoning(items, at)):
                return why
            elif kind == "function_call":
                waiting.append(item["call_id"])
                if why := self._refuse_call(items, at):
                    return why
        return f"No tool output found for function call {waiting[0]}." if waiting else ""

    def _refuse_reasoning(self, items: list[dict[str, Any]], at: int) -> str:
        id_ = items[at].get("id")
        if not any(items[at] == each for reply in self.replies for each in reply):
            return f"The encrypted content for item {id_} could not be verified."
        follows = items[at + 1]["type"] if at + 1 < len(items) else ""
        if follows not in ("message", "function_call"):
            return f"Item {id_!r} was provided without its required following item."
        return ""

    def _refuse_call(self, items: list[dict[str, Any]], at: int) -> str:
        call = items[at]
        own = {
            made["call_id"]: (thought, made["id"])
            for thought, _, *calls in self.replies
            for made in calls
            if json.loads(made["arguments"]) == json.loads(call["arguments"])
        }
        if not own:  # it is of another model
            return ""
        if call["call_id"] not in own:
            return f"No function call {call['call_id']} was made."
        thought, id_ = own[call["call_id"]]
        outputs = [n for n, each in enumerate(items[:at]) if each["type"] == "function_call_output"]
        if thought not in items[max(outputs, default=0) : at]:
            return (
                f"Item {id_!r} of type 'function_call' was provided without its required "
                f"'reasoning' item: {thought['id']!r}."
            )
        return ""

    def reply(self, words: str, codes: tuple[str, ...]) -> Any:
        count = self.count
        thought = {
            "type": "reasoning",
            "id": f"rs_{count}",
            "summary": [{"type": "summary_text", "text": f"Step {count}."}],
            "encrypted_content": f"encrypted {count}",
        }
        content = [{"type": "output_text", "text": words, "annotations": []}]
        items: list[dict[str, Any]] = [
            thought,
            {"type": "message", "id": f"msg_{count}", "role": "assistant", "content": content},
        ]
        for number, code in enumerate(codes):
            id_ = f"{count}_{number}"
            made = {"type": "function_call", "id": f"fc_{id_}", "call_id": f"call_x{id_}"}
            name, arguments = call_of(code)
            items.append({**made, "name": name, "arguments": json.dumps(arguments)})
        is_broken = self.count in self.breaks
        self.replies.append(items)  # LiteLLM has the reasoning of a reply at its end
        self.thoughts.append("" if is_broken else thought["encrypted_content"])
        usage = {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 15,
        }
        head = {"id": f"resp_{count}", "object": "response", "created_at": 1, "model": "gpt-5.4"}
        head |= {"output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        done = {**head, "status": "completed", "output": items, "usage": usage}
        events = [
            ("created", {"response": {**head, "status": "in_progress"}}),
            *_of_item(0, items[0]),
            *_of_item(1, items[1]),
        ]
        words_end = len(events) - 1
        for index, item in enumerate(items[2:], 2):
            events += _of_item(index, item)
        events.append(("completed", {"response": done}))
        data = [
            anthropic_event(f"response.{kind}", sequence_number=number, **fields)
            for number, (kind, fields) in enumerate(events)
        ]
        return self.stream(b"".join(data[:words_end]), b"".join(data[words_end:-1]), data[-1])

    def blocks(self, body: dict[str, Any]) -> Iterator[Any]:
        yield body.get("tools")
        yield from body["input"]


def _of_item(index: int, item: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The events of an item of a response."""
    at = {"item_id": item["id"], "output_index": index}
    part = {**at, "content_index": 0}
    begin, deltas = {
        "reasoning": (
            {"summary": [], "encrypted_content": ""},
            [
                ("reasoning_summary_text.delta", {**at, "summary_index": 0, "delta": each["text"]})
                for each in item.get("summary", ())
            ],
        ),
        "message": (
            {"content": [], "status": "in_progress"},
            [
                ("output_text.delta", {**part, "delta": each["text"]})
                for each in item.get("content", ())
            ],
        ),
        "function_call": (
            {"arguments": "", "status": "in_progress"},
            [
                ("function_call_arguments.delta", {**at, "delta": piece})
                for piece in (item.get("arguments", "")[:9], item.get("arguments", "")[9:])
            ],
        ),
    }[item["type"]]
    index_only = {"output_index": index}
    return [
        ("output_item.added", {**index_only, "item": {**item, **begin}}),
        *deltas,
        ("output_item.done", {**index_only, "item": {**item, "status": "completed"}}),
    ]
