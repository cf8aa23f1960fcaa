/**
 * The numbers of closing words: what stands in no output is underlined, the others lead there.
 *
 * One rule: the kernel has found them; here they are only marked in what is drawn, and no text
 * changes.
 */

import type { Receipts } from "../protocol";
import { el } from "../render/rendering";
import { WORDS } from "../words";

const LEFT_ALONE = "pre, a, button, .katex, .lmc-tools";

/** Mark the numbers in this part of the page; `show` leads to the record where one stands. */
export function markNumbers(node: HTMLElement, receipts: Receipts, show: (at: number, number: string) => void): void {
  const numbers = Object.keys(receipts).sort((one, other) => other.length - one.length);
  if (!numbers.length) return;
  const any = numbers.map((number) => number.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_.])(?<!\\d,)(?:${any})(?!\\d|[.,]\\d)`, "gu");
  let isMissing = false;
  for (const text of textsIn(node)) {
    const parts: (string | HTMLElement)[] = [];
    let end = 0;
    for (const match of text.data.matchAll(pattern)) {
      const at = receipts[match[0]];
      if (at === undefined || (at !== null && at < 0)) continue;
      isMissing ||= at === null;
      parts.push(text.data.slice(end, match.index), at === null ? missing(match[0]) : link(match[0], at, show));
      end = match.index + match[0].length;
    }
    if (parts.length) text.replaceWith(...parts, text.data.slice(end));
  }
  if (isMissing) node.append(el("p", "lmc-hint lmc-missing-how", el("u", "lmc-missing", WORDS.underlined), `: ${WORDS.inNoOutput}`));
}

function textsIn(node: HTMLElement): Text[] {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode()) {
    const text = walker.currentNode as Text;
    if (!text.parentElement?.closest(LEFT_ALONE)) found.push(text);
  }
  return found;
}

function missing(number: string): HTMLElement {
  const node = el("u", "lmc-missing", number);
  node.title = WORDS.inNoOutput;
  return node;
}

function link(number: string, at: number, show: (at: number, number: string) => void): HTMLElement {
  const button = el("button", "lmc-number", number);
  button.type = "button";
  button.title = WORDS.whereItStands;
  button.addEventListener("click", () => show(at, number));
  return button;
}

/** Bring a record into sight, with what of it is folded over the number, and the focus to it. */
export function showRecord(list: Element | null, at: number, number: string): void {
  const record = list?.querySelector<HTMLElement>(`[data-at="${at}"]`);
  if (!record) return;
  for (const folded of record.querySelectorAll("details:not([open])")) {
    if (folded.textContent?.includes(number)) folded.setAttribute("open", "");
  }
  record.tabIndex = -1;
  record.focus({ preventScroll: true });
  record.scrollIntoView({ block: "center" });
}
