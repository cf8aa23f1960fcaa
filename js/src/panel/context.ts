/**
 * What the parts of the panel share: the store, the way to the kernel, and a few acts.
 *
 * One rule: a part gets all it uses from here or as a property; it looks nowhere else, least of
 * all in the document, since the panel may stand in a shadow root.
 */

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

import type { Conversation, Happening } from "../conversation";
import type { Transport } from "../transport";
import { WORDS } from "../words";

export { sentenceOf } from "../render/rendering";

export interface Shared {
  conversation: Conversation;
  transport: Transport;
  /** Whether a person did it: a script's event decides nothing. */
  trusted(event: Event): boolean;
  /** Shows a sentence above the composer until it is dismissed or replaced; "" takes it away. */
  say(sentence: string, level?: "info" | "error"): void;
  /** Says it to a screen reader only. */
  announce(sentence: string): void;
}

const Context = createContext<Shared | null>(null);
export const Provide = Context.Provider;

export function useShared(): Shared {
  const sharedContext = useContext(Context);
  if (sharedContext === null) throw new Error("a part of the panel was drawn outside of it");
  return sharedContext;
}

/** Draws the component again when one of these has happened. */
export function useHappenings(conversation: Conversation, ...kinds: Happening["kind"][]): void {
  const [, again] = useState(0);
  useEffect(() => {
    again((n) => n + 1); // what happened before the first effect
    return conversation.watch((happening) => {
      if (kinds.includes(happening.kind)) again((n) => n + 1);
    });
  }, [conversation]);
}

/** To the clipboard, by the way that this browser and page allow. */
export async function copy(text: string, near: Element): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch {
    // plain http or no permission: the old way works there
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("readonly", "");
  area.className = "lmc-offscreen";
  near.append(area);
  area.select();
  const isCopied = typeof document.execCommand === "function" && document.execCommand("copy");
  area.remove();
  if (!isCopied) throw new Error(WORDS.copyFailed);
}

const TOGETHER_MS = 1_000;
const TOGETHER = 3;

/** Says sentences to screen readers; those that come together are read together, and none is lost. */
export function announcer(status: { current: HTMLElement | null }): (text: string) => void {
  let notices: { text: string; at: number }[] = [];
  return (text) => {
    if (!text || !status.current) return;
    const at = performance.now();
    notices = [...notices.filter((one) => at - one.at < TOGETHER_MS), { text, at }].slice(-TOGETHER);
    status.current.textContent = notices.map((one) => one.text).join("\n");
  };
}
