"""GLM chat histories as YAML; the dictionary is made in `dictionary`.

One rule: only the text is decided here. What a stranger wrote goes through `strict_yaml`; of the
tags of other programs only those are taken that older versions of the format's own program wrote,
and PyYAML's own tuple: they become the word, or the list, that they hold.
"""

from __future__ import annotations

from typing import Any

import yaml

from lmc_jupyter.conversation import Conversation
from lmc_jupyter.errors import FormatError
from lmc_jupyter.formats import strict_yaml
from lmc_jupyter.formats.glm.counts import document_of
from lmc_jupyter.formats.glm.settings import conversation_of

NAME = "glm-yaml"
EXTENSIONS = (".glm.yaml", ".glm.yml", ".yaml", ".yml", ".glm")


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Plain values without aliases; a text of several lines as a block, for people."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    lines = text.split("\n")
    block = len(lines) > 1 and text[:1] not in ("", " ", "\n") and all(map(str.isprintable, lines))
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block else None)


_Dumper.add_representer(str, _text)


def read(data: bytes) -> Conversation:
    """The conversation of a file of any of the shapes in docs/glm.md.

    Raises
    ------
    FormatError
        When it is no YAML that is taken, or no GLM chat history.
    """
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"the file is no text in UTF-8 (byte {error.start}): it is not YAML, or damaged"
        ) from None
    return conversation_of(strict_yaml.load(text, "the file", _TAGS))


def write(conversation: Conversation) -> tuple[bytes, list[str]]:
    """The specification's dictionary in block style, as people write it."""
    document, losses = document_of(conversation)
    text: str = yaml.dump(
        document,
        Dumper=_Dumper,
        allow_unicode=True,
        default_flow_style=False,
        sort_keys=False,
        width=1 << 30,
    )
    if strict_yaml.events(document) > strict_yaml.MAX_EVENTS:
        losses.append(
            f"As YAML it has more than {strict_yaml.MAX_EVENTS:,} values, and so many are not read "
            "back: write it as .glm.json too."
        )
    return text.encode(), losses


def _role(value: Any) -> str:
    """`!ConversationRole USER`, or the call `[USER]` of its class: the word."""
    word = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(word, str):  # the loader says it with the line
        raise ValueError("the tag of a role stands at something that is no word")  # noqa: TRY004
    return word.lower()


def _tuple(value: Any) -> list[Any]:
    """`!!python/tuple [$$, $$]`, as PyYAML writes the specification's ("$$", "$$"): its list."""
    if not isinstance(value, list):  # the loader says it with the line
        raise ValueError("the tag of a tuple stands at something that is no list")  # noqa: TRY004
    return value


_TAGS: dict[str, strict_yaml.Tag] = {
    "tag:yaml.org,2002:python/tuple": _tuple,
    "!ConversationRole": _role,
    **{
        f"tag:yaml.org,2002:python/object/apply:{module}.ConversationRoles": _role
        for module in ("GLM.glm", "glm.glm", "pyalm.alm", "pyalm.glm", "PyALM.alm")
    },
}
