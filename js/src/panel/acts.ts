/**
 * What a person can do with a record, by the means of the panel.
 *
 * One rule: the kernel does it, or says in a sentence why not, which the panel shows.
 */

import type { Turn } from "../protocol";
import type { ShowWidget } from "../widgets";
import { WORDS } from "../words";
import { copy, sentenceOf, type Shared } from "./context";
import type { Acts } from "./row";

/** What is open before the panel. */
export type Open =
  | { kind: "image"; image: string; alt: string }
  | { kind: "sent"; turn: string }
  | { kind: "history" }
  | null;

export function actsOf(shared: Shared, setOpen: (open: Open) => void, widget: ShowWidget | null): Acts {
  const { transport, conversation, say, announce } = shared;
  const showError = (error: unknown) => say(sentenceOf(error), "error");
  const confirmCopy = (button: HTMLElement) => {
    announce(WORDS.copied);
    button.classList.add("lmc-done");
    setTimeout(() => button.classList.remove("lmc-done"), 1_500);
  };
  return {
    announce,
    widget,
    copy: (text, button) => {
      copy(text, button).then(() => confirmCopy(button), showError);
    },
    insert: (code, language, button) => {
      const event = new CustomEvent("lmc:insert-cell", {
        bubbles: true,
        composed: true,
        cancelable: true,
        detail: { code, language },
      });
      if (!button.dispatchEvent(event)) {
        say(WORDS.inserted); // somebody took it
        return;
      }
      copy(code, button).then(() => {
        confirmCopy(button);
        say(WORDS.insertCopied);
      }, showError);
    },
    edit: async (turn, text) => {
      try {
        await transport.request({ kind: "edit", turn: turn.id, text });
      } catch (error) {
        showError(error);
        throw error;
      }
    },
    retry: (turn: Turn) => {
      transport.request({ kind: "retry", turn: turn.id }).catch(showError);
    },
    undo: () => {
      transport.request({ kind: "command", line: "undo" }).then((said) => said && say(said), showError);
    },
    restore: (at, button) => {
      button.disabled = true;
      transport
        .request({ kind: "restore", at })
        .then((said) => say(said), showError)
        .finally(() => {
          button.disabled = false;
        });
    },
    rate: (at, rating) => {
      transport.request({ kind: "rate", at, rating }).catch(showError);
    },
    sent: (turn) => setOpen({ kind: "sent", turn: turn.id }),
    host: (at) => ({
      asset: async (name) => {
        let file: ArrayBuffer | undefined;
        await transport.request({ kind: "asset", name }, (buffers) => {
          file = buffers[0];
        });
        if (!file) throw new Error(WORDS.noFile(name));
        return file;
      },
      openImage: (image) => setOpen({ kind: "image", image: image.src, alt: image.alt }),
      page: () => {
        const entry = conversation.entries[at];
        const mark = entry?.kind === "message" ? entry.record.page : null;
        return mark === "awaited" ? (page) => void transport.tell({ kind: "page", at, page }) : (mark ?? null);
      },
      wholeConsole: () => transport.request({ kind: "console", at: conversation.entries[at]?.at ?? at }),
    }),
  };
}
