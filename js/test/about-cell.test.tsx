import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { AboutCell, Record as WireRecord, ShownCell } from "../src/protocol";
import { WORDS } from "../src/words";
import { hand, Page } from "./panel-page";

const CELL: ShownCell = { id: "c1", number: 12, source: "1 / 0", error: "ZeroDivisionError", hidden: false };
const FIXED: WireRecord[] = [
  { message: { role: "user", type: "message", content: "Fix @cell 12." }, about: "c1" },
  { message: { role: "assistant", type: "code", format: "python", content: "a = 1\nb = a / 2" } },
];

let page: Page;
let copied: string[];

beforeEach(() => {
  hand.trusted = true;
  copied = [];
  vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => void copied.push(text) } });
});
afterEach(() => {
  vi.unstubAllGlobals();
  page.close();
});

const about = (detail: AboutCell) =>
  page.soon(() => page.find(".lmc-panel").dispatchEvent(new CustomEvent("lmc:about-cell", { detail })));

describe("a button at a cell of the notebook", () => {
  it.each(["fix", "explain"] as const)("asks at once: %s", async (wish) => {
    page = await Page.open();
    page.kernel.answers.set(wish, () => ({ ok: true, value: null }));
    await about({ wish, cell: CELL });
    expect(page.kernel.heard(wish).map(({ cell }) => cell)).toEqual([CELL]);
    expect(page.input.value).toBe("");
  });

  it("says why nothing was asked", async () => {
    page = await Page.open();
    page.kernel.answers.set("fix", () => ({ ok: false, error: "this cell has the tag lmc-hide" }));
    await about({ wish: "fix", cell: CELL });
    expect(page.text("[role=alert]")).toContain("this cell has the tag lmc-hide");
  });

  it.each([true, false])("Hint says that it was sent once the kernel has it, and only then: %s", async (ok) => {
    page = await Page.open();
    page.kernel.answers.set("command", () => (ok ? { ok, value: "" } : { ok, error: "the kernel is busy" }));
    const sent = vi.fn();
    await about({ wish: "hint", exercise: "sum_to", expected: "it's 6", sent });
    expect(page.kernel.heard("command").map(({ line }) => line)).toEqual([`hint sum_to --expected='it'"'"'s 6'`]);
    expect(sent).toHaveBeenCalledTimes(ok ? 1 : 0);
    if (!ok) expect(page.text("[role=alert]")).toContain("the kernel is busy");
  });

  it("Ask puts a reference before what is written, and asks nothing", async () => {
    page = await Page.open();
    page.kernel.answers.set("point", () => ({ ok: true, value: "@cell 12 " }));
    await page.type("why?");
    await about({ wish: "ask", cell: CELL });
    expect(page.input.value).toBe("@cell 12 why?");
    expect(page.input.selectionStart).toBe("@cell 12 ".length);
    expect(document.activeElement).toBe(page.input);
    expect(page.kernel.heard("ask")).toEqual([]);
  });

  it("Ask puts the text of a cell that did not run below what is written", async () => {
    page = await Page.open();
    page.kernel.answers.set("point", () => ({ ok: true, value: "\n\n```python\nx\n```" }));
    await page.type("why?");
    await about({ wish: "ask", cell: { ...CELL, number: null } });
    expect(page.input.value).toBe("why?\n\n```python\nx\n```");
    expect(page.input.selectionStart).toBe("why?".length);
  });
});

describe("the code of an answer about a cell", () => {
  it("is handed to the front end, with the cell that the question is about", async () => {
    page = await Page.open({ records: FIXED });
    const taken: unknown[] = [];
    const take = (event: globalThis.Event) => {
      event.preventDefault();
      taken.push((event as CustomEvent).detail);
    };
    document.addEventListener("lmc:replace-cell", take);
    await page.press(WORDS.replace);
    document.removeEventListener("lmc:replace-cell", take);
    const origin = { model: "", turn: "", decision: "shown", edited: false };
    expect(taken).toEqual([{ cell: "c1", code: "a = 1\nb = a / 2", language: "python", origin }]);
    expect(copied).toEqual([]);
  });

  it("is copied where nobody can replace the cell", async () => {
    page = await Page.open({ records: FIXED });
    await page.press(WORDS.replace);
    expect(copied).toEqual(["a = 1\nb = a / 2"]);
    expect(page.text("[role=status]")).toContain(WORDS.replaceCopied);
  });

  it("has no such button where the question is about no cell", async () => {
    const [, code] = FIXED as [WireRecord, WireRecord];
    page = await Page.open({
      records: [...FIXED, { message: { role: "user", type: "message", content: "And now?" } }, code],
    });
    expect(page.buttons(WORDS.replace)).toHaveLength(1);
    expect(page.buttons(WORDS.insert)).toHaveLength(2);
  });
});
