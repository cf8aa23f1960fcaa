/**
 * What a person can do with a record, by the means of the panel.
 *
 * One rule: the kernel does it, or says in a sentence why not, which the panel shows.
 */

import type { Choice, InsertCell, ReplaceCell, Taken, Turn } from "../protocol";
import type { ShowWidget } from "../widgets";
import { WORDS } from "../words";
import { copy, sentenceOf, type Shared } from "./context";
import type { Acts } from "./row";

/** The command that sends images to a model which is not known to see them. */
export const SEES = "config vision yes";

/** What is open before the panel. */
export type Open =
  | { kind: "image"; image: string; alt: string }
  | { kind: "sent"; turn: string }
  | { kind: "history" }
  | null;

export function actsOf(
  shared: Shared,
  setOpen: (open: Open) => void,
  widget: ShowWidget | null,
  choice: () => Choice,
): Acts {
  const { transport, conversation, say, announce, trusted } = shared;
  const showError = (error: unknown) => say(sentenceOf(error), "error");
  const confirmCopy = (button: HTMLElement) => {
    announce(WORDS.copied);
    button.classList.add("lmc-done");
    setTimeout(() => button.classList.remove("lmc-done"), 1_500);
  };
  /** Whether the front end did it; else the code is copied, and this said. */
  const hasDone = (name: string, code: string, detail: object, button: HTMLElement, sentence: string): boolean => {
    const event = new CustomEvent(name, { bubbles: true, composed: true, cancelable: true, detail });
    if (!button.dispatchEvent(event)) return true; // somebody took it
    copy(code, button).then(() => {
      confirmCopy(button);
      say(sentence);
    }, showError);
    return false;
  };
  return {
    announce,
    widget,
    copy: (text, button) => {
      copy(text, button).then(() => confirmCopy(button), showError);
    },
    insert: (asked, event) => {
      const button = event.currentTarget;
      if (!(button instanceof HTMLElement) || !trusted(event)) return;
      if (hasDone("lmc:insert-cell", asked.code, asked, button, WORDS.insertCopied)) say(WORDS.inserted);
    },
    replace: (asked, button) => {
      hasDone("lmc:replace-cell", asked.code, asked, button, WORDS.replaceCopied);
    },
    take: async (at, asked, how, event) => {
      const button = event.currentTarget;
      if (!(button instanceof HTMLElement) || !trusted(event)) return;
      const done = (how: Taken) => void transport.request({ kind: "take", at, how }).catch(showError);
      if (how === "inserted") {
        const detail: InsertCell = { ...asked, run: false };
        if (hasDone("lmc:insert-cell", asked.code, detail, button, WORDS.insertCopied)) done(how);
        return;
      }
      const { number } = asked;
      const cell = (number && (await transport.request({ kind: "cell", number }).catch(() => ""))) || asked.cell;
      const detail: ReplaceCell = {
        ...asked,
        cell,
        runs: how === "ran",
        done: (isRun) => done(isRun ? "ran" : "replaced"),
      };
      hasDone("lmc:replace-cell", asked.code, detail, button, WORDS.replaceCopied);
    },
    edit: async (turn, text) => {
      try {
        await transport.request({ kind: "edit", turn: turn.id, text, choice: choice() });
      } catch (error) {
        showError(error);
        throw error;
      }
    },
    retry: (turn: Turn) => {
      transport.request({ kind: "retry", turn: turn.id }).catch(showError);
    },
    sendFigures: (numbers) => {
      transport
        .request({ kind: "command", line: SEES })
        .then(() =>
          transport.request({ kind: "ask", text: WORDS.figureGoes(numbers), attachments: [], choice: choice() }),
        )
        .catch(showError);
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
