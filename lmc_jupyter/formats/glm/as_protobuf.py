"""GLM chat histories as protobuf; the dictionary is made in `dictionary`, the schema is glm.proto.

One rule: glm.proto is the one definition. glm.descriptor.pb is what protoc makes of it; there is no
generated code, which would ask for one version of the protobuf runtime.

The runtime itself refuses lengths that are none and messages deeper than a hundred; `MAX_BYTES`
bounds what it builds (about thirty times the bytes), `MAX_VALUES` what is made of that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats.glm.counts import document_of
from lmc_jupyter.formats.glm.settings import conversation_of

NAME = "glm-protobuf"
EXTENSIONS = (".glm.pb", ".glm.binpb", ".pb", ".binpb")

MAX_BYTES = 16 << 20
MAX_VALUES = 400_000
"""What the lists and mappings of a file hold; an entry has about fifteen."""
MAX_DEPTH = 28
"""Levels of a dictionary that is written: a level of a Struct is three messages, and runtimes read
a hundred within each other."""
_EXACT = 1 << 53
"""Whole numbers up to here are exact in a Struct."""

_STRUCT = "google.protobuf.Struct"
_VALUE = "google.protobuf.Value"
_LIST = "google.protobuf.ListValue"

Losses = dict[str, None]


def read(data: bytes) -> Conversation:
    """The conversation of a file in the schema of glm.proto.

    Raises
    ------
    FormatError
        When it is none, or the protobuf runtime is not installed.
    """
    document, unknown = _document(data)
    conversation = conversation_of({"history": [], **document})
    if unknown:
        conversation.losses.insert(
            0, f"{unknown:,} of its bytes are fields that glm.proto has not: they were left out."
        )
    return conversation


def write(conversation: Conversation) -> tuple[bytes, list[str]]:
    """The specification's dictionary as a ChatHistory.

    Raises
    ------
    FormatError
        When the protobuf runtime is not installed.
    """
    message = _chat_history()()
    document, losses = document_of(conversation, MAX_DEPTH)
    large: Losses = {}
    _fill(message, document, large)
    data: bytes = message.SerializeToString(deterministic=True)
    losses += large
    try:
        _document(data)
    except FormatError as error:
        losses.append(f"It could not be read back here: {error}. Write it as .glm.json too.")
    return data, losses


def _document(data: bytes) -> tuple[dict[str, Any], int]:
    """The dictionary of a file, and how many bytes of it the schema has no field for."""
    message = _chat_history()()
    if len(data) > MAX_BYTES:
        raise FormatError(
            f"the file has {len(data):,} bytes, and {MAX_BYTES:,} are the most that are read"
        )
    from google.protobuf.message import DecodeError

    try:
        message.ParseFromString(data)
    except (DecodeError, RecursionError) as error:
        raise FormatError(
            f"the file is not a GLM chat history in protobuf, or damaged: {error}"
        ) from None
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return _ProtobufReader().value(message), size - message.ByteSize()


@cache
def _chat_history() -> Any:
    """The class of a ChatHistory."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2
    except ImportError:
        raise FormatError(
            "protobuf files need the protobuf runtime, which is not installed: "
            "pip install 'lmc-jupyter[protobuf]'"
        ) from None
    pool = descriptor_pool.DescriptorPool()  # its own: nobody else's names are in it
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    schema = resources.files(__package__).joinpath("glm.descriptor.pb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(schema).file:
        pool.AddSerializedFile(file.SerializeToString())
    name = "lmc_jupyter.glm.ChatHistory"
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


# Dictionary -> message ----------------------------------------------------------------------------


def _fill(message: Any, value: Any, losses: Losses) -> None:
    """Fill a message with a plain value; what no field fits goes into `more`."""
    kind = message.DESCRIPTOR.full_name
    if kind == _STRUCT:
        for key, each in value.items():
            _fill(message.fields[key], each, losses)
    elif kind == _LIST:
        for each in value:
            _fill(message.values.add(), each, losses)
    elif kind == _VALUE:
        _fill_value(message, value, losses)
    else:
        fields, more = message.DESCRIPTOR.fields_by_name, {}
        for key, each in value.items():
            if key not in fields or key == "more" or not _fits(fields[key], each):
                more[key] = each
            elif fields[key].message_type is None:
                setattr(message, key, each)
            elif _is_list(fields[key]):
                for one in each:
                    _fill(getattr(message, key).add(), one, losses)
            else:
                getattr(message, key).SetInParent()
                _fill(getattr(message, key), each, losses)
        if more:
            _fill(message.more, more, losses)


def _fill_value(to: Any, value: Any, losses: Losses) -> None:
    if isinstance(value, int) and abs(value) > _EXACT:
        sentence = f"Protobuf cannot hold an integer exactly: it was saved as text: {value}"
        losses[sentence[:160]] = None
        value = str(value)
    if value is None:
        to.null_value = 0
    elif isinstance(value, bool):
        to.bool_value = value
    elif isinstance(value, str):
        to.string_value = value
    elif isinstance(value, (int, float)):
        to.number_value = value
    else:
        within = to.struct_value if isinstance(value, Mapping) else to.list_value
        within.SetInParent()
        _fill(within, value, losses)


def _fits(field: Any, value: Any) -> bool:
    """Whether the field can say all that the value says."""
    if field.message_type is not None:
        kind = field.message_type.full_name
        shape = list if kind == _LIST else dict
        if _is_list(field):
            return isinstance(value, list) and value != [] and all(type(v) is shape for v in value)
        return kind == _VALUE or isinstance(value, shape)
    if field.cpp_type == field.CPPTYPE_DOUBLE:
        return type(value) is float or (type(value) is int and abs(value) <= _EXACT)
    if field.cpp_type == field.CPPTYPE_INT64:
        return type(value) is int and abs(value) < 1 << 63
    return type(value) is (bool if field.cpp_type == field.CPPTYPE_BOOL else str)


def _is_list(field: Any) -> bool:
    is_repeated = getattr(field, "is_repeated", None)  # before 6.31 it has a label
    return bool(field.label == field.LABEL_REPEATED if is_repeated is None else is_repeated)


# Message -> dictionary ----------------------------------------------------------------------------


class _ProtobufReader:
    """Makes plain values of messages, and counts what is in their lists and mappings."""

    def __init__(self) -> None:
        self._values = 0

    def value(self, message: Any) -> Any:
        """What a message says.

        Raises
        ------
        FormatError
            When there are more than `MAX_VALUES`, and for a number that is none.
        """
        kind = message.DESCRIPTOR.full_name
        if kind == _STRUCT:
            self._count(message.fields)
            return {key: self.value(each) for key, each in message.fields.items()}
        if kind == _LIST:
            return self._list(message.values)
        if kind == _VALUE:
            which = message.WhichOneof("kind")
            return None if which in (None, "null_value") else self._plain(getattr(message, which))
        values: dict[str, Any] = {}
        for field, value in message.ListFields():
            values[field.name] = self._list(value) if _is_list(field) else self._plain(value)
        more = values.pop("more", {})
        return {**values, **more}

    def _list(self, values: Any) -> list[Any]:
        self._count(values)
        return [self.value(each) for each in values]

    def _count(self, values: Any) -> None:
        self._values += len(values)
        if self._values > MAX_VALUES:
            raise FormatError(
                f"the file has more than {MAX_VALUES:,} values, the most that are read"
            )

    def _plain(self, value: Any) -> Any:
        if isinstance(value, float):
            if not math.isfinite(value):
                raise FormatError(f"the file has a number that is none, {value}")
            return int(value) if value.is_integer() and abs(value) <= _EXACT else value
        return value if isinstance(value, (str, int)) else self.value(value)
