"""LMC messages -> the chat messages of the OpenAI protocol.

One rule: whatever is in a conversation, what comes out is acceptable to a strict provider. The
conversion is in `messages`, what was sent in `sent`, a reply as its provider wrote it in
`provider`; `media` makes parts of images, sounds (`sounds`) and files (`files`).
"""

from lmc_jupyter.models.openai.media import AS_FILE
from lmc_jupyter.models.openai.messages import to_chat, tools_of
from lmc_jupyter.models.openai.provider import ProviderMessage
from lmc_jupyter.models.openai.sent import Abilities, Exchanges, Sent
from lmc_jupyter.models.openai.sounds import Recording, in_words, is_recording, unheard

__all__ = [
    "AS_FILE",
    "Abilities",
    "Exchanges",
    "ProviderMessage",
    "Recording",
    "Sent",
    "in_words",
    "is_recording",
    "to_chat",
    "tools_of",
    "unheard",
]
