/**
 * What a person can do with a record, by the means of the panel.
 *
 * One rule: the kernel does it, or says in a sentence why not, which the panel shows.
 */

import type { Entry } from "../conversation";
import { textOf } from "../lmc";
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

/** Copy this; `said` is shown when it is done. */
function copyInstead(shared: Shared, text: string, button: HTMLElement, said = ""): void {
  copy(text, button).then(
    () => {
      shared.announce(WORDS.copied);
      button.classList.add("lmc-done");
      setTimeout(() => button.classList.remove("lmc-done"), 1_500);
      if (said) shared.say(said);
    },
    (error: unknown) => shared.say(sentenceOf(error), "error"),
  );
}

/** Whether the front end did it; else the code is copied, and this said. */
function hasDone(shared: Shared, name: string, asked: { code: string }, node: HTMLElement, said: string): boolean {
  const event = new CustomEvent(name, { bubbles: true, composed: true, cancelable: true, detail: asked });
  if (!node.dispatchEvent(event)) return true; // somebody took it
  copyInstead(shared, asked.code, node, said);
  return false;
}

/** Put the proposal of this record into a cell, by a press at `node`; the kernel is told. */
export async function take(shared: Shared, entry: Entry | undefined, how: Taken, node: HTMLElement): Promise<void> {
  const { transport, conversation, say } = shared;
  if (entry?.kind !== "message") return say(WORDS.proposalGone, "error");
  const { at, record } = entry;
  const { cell: number, content, format } = record.message;
  const code = textOf(content) + (record.tail ?? "");
  const done = (how: Taken) =>
    void transport.request({ kind: "take", at, how }).catch((error: unknown) => say(sentenceOf(error), "error"));
  const asked = { code, language: format ?? "", origin: conversation.originOf(at) };
  if (how === "inserted") {
    const detail: InsertCell = { ...asked, run: false };
    if (hasDone(shared, "lmc:insert-cell", detail, node, WORDS.insertCopied)) done(how);
    return;
  }
  const known = number ? await transport.request({ kind: "cell", number }).catch(() => "") : "";
  const detail: ReplaceCell = {
    ...asked,
    cell: known || conversation.about(at),
    number,
    runs: how === "ran",
    done: (isRun) => done(isRun ? "ran" : "replaced"),
  };
  hasDone(shared, "lmc:replace-cell", detail, node, WORDS.replaceCopied);
}

export function actsOf(
  shared: Shared,
  setOpen: (open: Open) => void,
  widget: ShowWidget | null,
  choice: () => Choice,
): Acts {
  const { transport, conversation, say, announce, trusted } = shared;
  const showError = (error: unknown) => say(sentenceOf(error), "error");
  return {
    announce,
    widget,
    copy: (text, button) => copyInstead(shared, text, button),
    insert: (asked, event) => {
      const button = event.currentTarget;
      if (!(button instanceof HTMLElement) || !trusted(event)) return;
      if (hasDone(shared, "lmc:insert-cell", asked, button, WORDS.insertCopied)) say(WORDS.inserted);
    },
    replace: (asked, button) => {
      hasDone(shared, "lmc:replace-cell", asked, button, WORDS.replaceCopied);
    },
    take: (entry, how, event) => {
      if (event.currentTarget instanceof HTMLElement && trusted(event)) void take(shared, entry, how, event.currentTarget);
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
