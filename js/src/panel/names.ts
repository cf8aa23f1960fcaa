/**
 * The names that a block of python made, changed and took away, as chips below its code.
 *
 * One rule: a name is the user's text and becomes nodes by `textContent` only; what restoring
 * does not bring back is said before anybody presses the button. What code that ran unasked has
 * done beside new names comes first, in bold.
 */

import type { Names } from "../protocol";
import { el } from "../render/rendering";
import { WORDS } from "../words";
import { stretches } from "./stretches";

const AT_ONCE = 12;

/**
 * The line below the code.
 *
 * @param names what the code did; null when it was restored
 * @param restore called with the button; the line is drawn anew when the kernel has done it
 */
export function namesLine(names: Names | null, restore: (button: HTMLButtonElement) => void): HTMLElement {
  const line = el("div", "lmc-names");
  line.setAttribute("role", "group");
  line.setAttribute("aria-label", WORDS.names);
  if (names === null) {
    line.append(el("span", "lmc-names-said", WORDS.restored));
    return line;
  }
  const list = el("ul", "lmc-changes");
  const chips = [
    ...names.new.map((name) => chip("new", "+", WORDS.nameNew, name)),
    ...names.changed.map((name) => chip("changed", "~", WORDS.nameChanged, name)),
    ...names.removed.map((name) => chip("removed", "−", WORDS.nameRemoved, name)),
  ];
  list.append(...chips.slice(0, AT_ONCE));
  const rest = chips.slice(AT_ONCE);
  if (rest.length > 0) list.append(el("li", "", more(list, rest)));
  if (names.breach) line.append(breach(names.breach));
  line.append(list);
  if (names.restorable) line.append(button(names, restore));
  else if (names.lost) line.append(el("span", "lmc-names-said", names.lost));
  return line;
}

function breach(what: string): HTMLElement {
  const words = stretches(WORDS.breach(what)).map(({ text, code }) => (code ? el("code", "", text) : text));
  return el("strong", "lmc-names-breach", ...words);
}

function chip(kind: string, sign: string, meaning: string, name: string): HTMLElement {
  const mark = el("span", "", sign);
  mark.setAttribute("aria-hidden", "true");
  const node = el("li", `lmc-change ${kind}`, mark, el("span", "lmc-offscreen", `${meaning} `), el("code", "", name));
  node.title = `${meaning} ${name}`;
  return node;
}

function more(list: HTMLElement, left: HTMLElement[]): HTMLButtonElement {
  const node = el("button", "lmc-link", WORDS.moreNames(left.length));
  node.type = "button";
  node.addEventListener("click", () => {
    node.parentElement?.remove();
    list.append(...left);
    const [first] = left;
    if (!first) return;
    first.tabIndex = -1; // the button goes, the focus must not go with it
    first.focus();
  });
  return node;
}

function button(names: Names, restore: (button: HTMLButtonElement) => void): HTMLButtonElement {
  const node = el("button", "lmc-link lmc-restore", WORDS.restore);
  node.type = "button";
  node.title = [WORDS.restoreHint, names.lost].filter(Boolean).join(" ");
  node.setAttribute("aria-label", `${WORDS.restoreLabel} ${names.lost}`.trim());
  node.addEventListener("click", () => restore(node));
  return node;
}
