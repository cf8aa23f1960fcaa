/**
 * The buttons of code that the model's words only show: Run and Insert, for whoever wants it.
 *
 * One rule: what goes into the cell is the text that is drawn. Where that is not all of it, or has a
 * mark in it, there is no button.
 */

import { asCell } from "../cell";
import type { InsertCell, Origin } from "../protocol";
import { LANGUAGES } from "../render/code";
import { el } from "../render/rendering";
import { WORDS } from "../words";
import { INERT_MS, isShort } from "./look";

/** Draw them where they are missing; none at text that says nothing of its language. */
export function offerCells(
  words: HTMLElement,
  originOf: () => Origin,
  insert: (asked: InsertCell, event: Event) => void,
): void {
  for (const block of words.querySelectorAll<HTMLElement>(".lmc-md .lmc-codeblock")) {
    const language = LANGUAGES.get(block) ?? "";
    const code = (block.firstElementChild?.textContent ?? "").replace(/\n$/, "");
    if (!language || !code.trim() || asCell(code, language).type !== "code") continue;
    if (block.querySelector(".h, .lmc-rest, .lmc-fence")) continue;
    const row = el("div", "lmc-fence lmc-row");
    const add = (run: boolean, label: string, title: string) => {
      const button = el("button", "lmc-button", label);
      button.type = "button";
      button.title = title;
      button.disabled = true; // a press meant for what was here before must not run anything
      setTimeout(() => (button.disabled = false), INERT_MS);
      button.addEventListener("click", (event) => insert({ code, language, run, origin: originOf() }, event));
      row.append(button);
    };
    if (isShort(code)) add(true, WORDS.run, WORDS.runInCell);
    add(false, WORDS.insertShort, WORDS.insert);
    block.append(row);
  }
}
