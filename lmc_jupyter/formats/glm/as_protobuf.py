"""GLM chat histories as protobuf; the dictionary is made in `dictionary`, the schema is glm.proto.

One rule: glm.proto is the one definition. Its descriptor is made of it here, by any version of
the protobuf runtime; there is no generated code, which would ask for one of its own.

A file is walked before the runtime sees it: how many values it has, how deep they are and that
they end where they say is known before anything is built of it. (security.md, 2.10)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats.glm.counts import document_of
from lmc_jupyter.formats.glm.settings import conversation_of

NAME = "glm-protobuf"
EXTENSIONS = (".glm.pb", ".glm.binpb", ".pb", ".binpb")

MAX_BYTES = 64 << 20
MAX_FIELDS = 400_000
"""Fields of all the messages of a file; an entry has about fifteen."""
MAX_DEPTH = 28
"""Levels of a dictionary that is written: a level of a Struct is three messages, and runtimes read
a hundred within each other."""
MAX_NESTING = 98
"""Messages within each other that are read."""
_EXACT = 1 << 53
"""Whole numbers up to here are exact in a Struct."""

_STRUCT = "google.protobuf.Struct"
_VALUE = "google.protobuf.Value"
_LIST = "google.protobuf.ListValue"
_ROOT = "lmc_jupyter.glm.ChatHistory"


def read(data: bytes) -> Conversation:
    """The conversation of a file in the schema of glm.proto.

    Raises
    ------
    FormatError
        When it is none, or the protobuf runtime is not installed.
    """
    schema = _schema()
    lost = schema.check(data)
    message = schema.message(_ROOT)
    try:
        message.ParseFromString(data)
    except schema.decode_error as error:
        raise FormatError(f"the file is not a GLM chat history in protobuf: {error}") from None
    document = _read(message)
    if "history" not in document:
        document["history"] = []
    conversation = conversation_of(document)
    conversation.lost[:0] = lost
    return conversation


def write(conversation: Conversation) -> tuple[bytes, list[str]]:
    """The specification's dictionary as a ChatHistory.

    Raises
    ------
    FormatError
        When the protobuf runtime is not installed.
    """
    schema = _schema()
    document, lost = document_of(conversation, MAX_DEPTH)
    large: dict[str, None] = {}
    message = _filled(schema.message(_ROOT), document, large)
    lost += large
    data: bytes = message.SerializeToString(deterministic=True)
    try:
        schema.check(data)
    except FormatError as error:
        lost.append(f"It could not be read back here: {error}. Write it as .glm.json too.")
    return data, lost


# Dictionary <-> message ---------------------------------------------------------------------------


def _filled(message: Any, values: Mapping[str, Any], lost: dict[str, None]) -> Any:
    """The message with these values; what no field is for goes into `more`."""
    more: dict[str, Any] = {}
    fields = message.DESCRIPTOR.fields_by_name
    for key, value in values.items():
        field = fields.get(key)
        if field is None or key == "more" or not _put(message, field, value, lost):
            more[key] = value
    if more:
        _put_struct(message.more, more, lost)
    return message


def _put(message: Any, field: Any, value: Any, lost: dict[str, None]) -> bool:
    """Put a value into a field, if it is all that the value says."""
    if field.message_type is None:
        if not _fits(value, field):
            return False
        setattr(message, field.name, value)
        return True
    kind = field.message_type.full_name
    if _is_list(field):
        each_fits = list if kind == _LIST else dict
        if not (isinstance(value, list) and value):
            return False
        if not all(isinstance(each, each_fits) for each in value):
            return False
        for each in value:
            _put_message(getattr(message, field.name).add(), each, lost)
        return True
    if kind != _VALUE and not isinstance(value, list if kind == _LIST else dict):
        return False
    within = getattr(message, field.name)
    within.SetInParent()
    _put_message(within, value, lost)
    return True


def _put_message(message: Any, value: Any, lost: dict[str, None]) -> None:
    kind = message.DESCRIPTOR.full_name
    if kind == _STRUCT:
        _put_struct(message, value, lost)
    elif kind == _LIST:
        for each in value:
            _put_value(message.values.add(), each, lost)
    elif kind == _VALUE:
        _put_value(message, value, lost)
    else:
        _filled(message, value, lost)


def _put_struct(struct: Any, values: Mapping[str, Any], lost: dict[str, None]) -> None:
    for key, value in values.items():
        _put_value(struct.fields[key], value, lost)


def _put_value(to: Any, value: Any, lost: dict[str, None]) -> None:
    if value is None:
        to.null_value = 0
    elif isinstance(value, bool):
        to.bool_value = value
    elif isinstance(value, str):
        to.string_value = value
    elif isinstance(value, (int, float)):
        if isinstance(value, int) and abs(value) > _EXACT:
            to.string_value = str(value)
            lost[
                f"Protobuf cannot hold an integer exactly: it was saved as text: {value}"[:160]
            ] = None
        else:
            to.number_value = value
    elif isinstance(value, Mapping):
        to.struct_value.SetInParent()
        _put_struct(to.struct_value, value, lost)
    else:
        to.list_value.SetInParent()
        for each in value:
            _put_value(to.list_value.values.add(), each, lost)


def _fits(value: Any, field: Any) -> bool:
    if field.cpp_type == field.CPPTYPE_STRING:
        return isinstance(value, str)
    if field.cpp_type == field.CPPTYPE_BOOL:
        return isinstance(value, bool)
    if field.cpp_type == field.CPPTYPE_INT64:
        return type(value) is int and abs(value) < 1 << 63
    return type(value) is float or (type(value) is int and abs(value) <= _EXACT)


def _is_list(field: Any) -> bool:
    repeated = getattr(field, "is_repeated", None)  # before 6.31 it has a label
    return bool(field.label == field.LABEL_REPEATED if repeated is None else repeated)


def _read(message: Any) -> Any:
    """What a message says, as plain values."""
    kind = message.DESCRIPTOR.full_name
    if kind == _STRUCT:
        return {key: _read(value) for key, value in message.fields.items()}
    if kind == _LIST:
        return [_read(value) for value in message.values]
    if kind == _VALUE:
        return _read_value(message)
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.name == "more":
            continue
        if field.message_type is None:
            found[field.name] = _number(value) if isinstance(value, float) else value
        elif _is_list(field):
            found[field.name] = [_read(each) for each in value]
        else:
            found[field.name] = _read(value)
    if message.HasField("more"):
        found.update(_read(message.more))
    return found


def _read_value(message: Any) -> Any:
    kind = message.WhichOneof("kind")
    if kind in (None, "null_value"):
        return None
    value = getattr(message, kind)
    if kind == "number_value":
        return _number(value)
    return value if kind in ("string_value", "bool_value") else _read(value)


def _number(value: float) -> int | float:
    if value != value or abs(value) == float("inf"):
        raise FormatError(f"the file has a number that is none, {value}")
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value


# The schema ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Schema:
    """Classes for the messages of glm.proto, and what is needed to walk a file."""

    pool: Any
    make: Any
    decode_error: type[Exception]
    within: Mapping[str, Mapping[int, str]]  # message -> number of a field -> its message, or ""

    def message(self, name: str) -> Any:
        return self.make(self.pool.FindMessageTypeByName(name))()

    def check(self, data: bytes) -> list[str]:
        """Walk the whole file without building anything; says what is not known in it."""
        if len(data) > MAX_BYTES:
            raise FormatError(
                f"the file has {len(data):,} bytes, and {MAX_BYTES:,} are the most that are read"
            )
        unknown = _walk(data, self.within)
        if not unknown:
            return []
        return [f"{unknown} of its fields are not in glm.proto: they were left out."]


def _walk(data: bytes, within: Mapping[str, Mapping[int, str]]) -> int:
    """Check every length and count, from the outside to the inside; returns the unknown fields."""
    fields = unknown = 0
    todo = [(0, len(data), _ROOT, 1)]
    while todo:
        at, end, name, depth = todo.pop()
        known = within[name]
        while at < end:
            fields += 1
            if fields > MAX_FIELDS:
                raise FormatError(
                    f"the file has more than {MAX_FIELDS:,} fields, the most that are read"
                )
            key, at = _varint(data, at, end)
            wire = key & 7
            number = key >> 3
            if wire == 2:
                size, at = _varint(data, at, end)
                below = known.get(number)
                if below:
                    if depth >= MAX_NESTING:
                        raise FormatError(f"the file is nested deeper than {MAX_NESTING} messages")
                    todo.append((at, at + size, below, depth + 1))
                at += size
            elif wire == 0:
                _, at = _varint(data, at, end)
            elif wire in (1, 5):
                at += 8 if wire == 1 else 4
            else:
                raise _broken(f"byte {at} begins a field of the kind {wire}")
            if at > end:
                raise _broken(f"a field ends behind byte {end}, where its message does")
            unknown += number not in known
    return unknown


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    if at < end and data[at] < 0x80:
        return data[at], at + 1
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            raise _broken(f"a number goes on behind byte {end}, where its message ends")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _broken(f"a number before byte {at} is longer than any")


def _broken(why: str) -> FormatError:
    return FormatError(f"the file is not a GLM chat history in protobuf, or damaged: {why}")


@cache
def _schema() -> _Schema:
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2
        from google.protobuf.message import DecodeError
    except ImportError:
        raise FormatError(
            "protobuf files need the protobuf runtime, which is not installed: "
            "pip install 'lmc-jupyter[protobuf]'"
        ) from None
    struct = struct_pb2.DESCRIPTOR.serialized_pb
    pool = descriptor_pool.DescriptorPool()  # its own: nobody else's names are in it
    pool.AddSerializedFile(struct)
    definition = descriptor_pb2.FileDescriptorProto()
    _define(definition, descriptor_pb2.FieldDescriptorProto, proto())
    pool.AddSerializedFile(definition.SerializeToString())
    within: dict[str, dict[int, str]] = {}
    todo = [_ROOT]
    while todo:
        name = todo.pop()
        if name in within:
            continue
        within[name] = {
            field.number: field.message_type.full_name if field.message_type else ""
            for field in pool.FindMessageTypeByName(name).fields
        }
        todo += filter(None, within[name].values())
    return _Schema(pool, message_factory.GetMessageClass, DecodeError, within)


def proto() -> str:
    """The text of glm.proto."""
    return resources.files(__package__).joinpath("glm.proto").read_text("utf-8")


def _define(definition: Any, field_type: Any, text: str) -> None:
    """The descriptor of a .proto that has messages of plain fields, as protoc makes it."""
    text = re.sub(r"//.*", "", text)
    definition.name = "lmc_jupyter/formats/glm/glm.proto"
    definition.syntax = _one(r'syntax = "(\w+)";', text)
    definition.package = _one(r"package ([\w.]+);", text)
    definition.dependency.append(_one(r'import "([\w./]+)";', text))
    for name, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.S):
        message = definition.message_type.add(name=name)
        for label, kind, field_name, number in _fields(body):
            field = message.field.add(name=field_name, number=int(number))
            field.json_name = re.sub(r"_(\w)", lambda found: found[1].upper(), field_name)
            repeated = label == "repeated"
            field.label = field_type.LABEL_REPEATED if repeated else field_type.LABEL_OPTIONAL
            plain = getattr(field_type, f"TYPE_{kind.upper()}", None)
            field.type = field_type.TYPE_MESSAGE if plain is None else plain
            if plain is None:
                field.type_name = f".{kind}" if "." in kind else f".{definition.package}.{kind}"
            if label == "optional":
                field.proto3_optional = True
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field_name}")


def _fields(body: str) -> Iterator[tuple[str, str, str, str]]:
    for found in re.finditer(r"(?:(optional|repeated) )?([\w.]+) (\w+) = (\d+);", body):
        yield found[1] or "", found[2], found[3], found[4]


def _one(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, f"glm.proto has no {pattern}"
    return found[1]
