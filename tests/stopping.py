"""What tests of a language share: run a block up to a word, and stop it from another thread."""

from __future__ import annotations

import threading


def stopped_after(language, code, word="on"):
    """Run until the word is there, stop from another thread; the text and whether it was told."""
    text, stopper = "", None
    try:
        for piece in language.run(code):
            text += str(piece.content)
            if word in text and stopper is None:
                stopper = threading.Thread(target=language.stop)
                stopper.start()
    except KeyboardInterrupt:
        return text, True
    finally:
        if stopper is not None:
            stopper.join()
    return text, False
