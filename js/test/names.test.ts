import axe from "axe-core";
import { afterEach, describe, expect, it } from "vitest";

import type { Names, Record as WireRecord } from "../src/protocol";
import { WORDS } from "../src/words";
import { Page } from "./panel-page";

const NAMES: Names = { new: ["df", "fig"], changed: ["x"], removed: ["y"], lost: "", restorable: true };
const code = (more: object): WireRecord => ({
  message: { role: "assistant", type: "code", format: "python", content: "df = 1" },
  fate: "ran",
  ...more,
});

let page: Page;
const open = async (names?: Names | null): Promise<Page> => {
  page = await Page.open({ records: [code(names === undefined ? {} : { names })] });
  return page;
};
const chips = () => page.all(".lmc-change").map((chip) => chip.textContent);
const button = () => page.find<HTMLButtonElement>(".lmc-restore");

afterEach(() => page.close());

describe("the names that code changed", () => {
  it("come as chips when the code has run, below it", async () => {
    await open();
    expect(page.all(".lmc-names")).toHaveLength(0);
    await page.events({ names_changed: { at: 0, names: NAMES } });
    expect(chips()).toEqual(["+new: df", "+new: fig", "~changed: x", "−removed: y"]);
    expect(page.find(".lmc-code-card").lastElementChild).toBe(page.find(".lmc-names"));
    const found = await axe.run(page.find(".lmc-names"), { rules: { "color-contrast": { enabled: false } } });
    expect(found.violations).toEqual([]);
  });

  it("come behind what code that ran unasked did beside new names", async () => {
    await open();
    const breach = "`x` was changed and `<b>.csv` was made";
    await page.events({ names_changed: { at: 0, names: { ...NAMES, breach } } });
    expect(page.find(".lmc-names").firstElementChild?.textContent).toBe(WORDS.breach(breach).replaceAll("`", ""));
    expect(page.all(".lmc-names strong code").map(({ textContent }) => textContent)).toEqual(["x", "<b>.csv"]);
    expect(button().disabled).toBe(false);
  });

  it("are restored by the kernel, which says what it brought back", async () => {
    await open(NAMES);
    page.kernel.answers.set("restore", () => ({ ok: true, value: "Restored `x`." }));
    await page.soon(() => button().click());
    expect(page.kernel.heard("restore").map(({ at }) => at)).toEqual([0]);
    expect(page.find(".lmc-notice").textContent).toContain("Restored x.");
    button().focus();
    await page.events({ names_restored: { at: 0, names: null } });
    expect(page.all(".lmc-change")).toHaveLength(0);
    expect(page.find(".lmc-names").textContent).toBe(WORDS.restored);
    expect(document.activeElement).toBe(page.find(".lmc-names"));
    expect(page.find(".lmc-panel > .lmc-offscreen").textContent).toContain(WORDS.restored);
  });

  it("are pressed once while the kernel is at it, and may be pressed again when it says no", async () => {
    await open(NAMES);
    await page.soon(() => button().click());
    expect(button().disabled).toBe(true);
    button().click();
    const [asked, ...more] = page.kernel.heard("restore");
    expect(more).toEqual([]);
    page.kernel.say({ kind: "reply", of: asked?.id ?? "", ok: false, error: "a cell is running" });
    await page.soon();
    expect(button().disabled).toBe(false);
    expect(page.find(".lmc-notice.error").textContent).toContain("a cell is running");
  });

  it("say what is not brought back before they are pressed, and after there is no button", async () => {
    const lost = "Changes inside `big` cannot be undone.";
    await open({ ...NAMES, lost });
    expect(button().title).toContain(lost);
    expect(button().title).toContain("Files");
    expect(button().getAttribute("aria-label")).toContain(lost);
    await page.events({ names_changed: { at: 0, names: { ...NAMES, lost, restorable: false } } });
    expect(page.all(".lmc-restore")).toHaveLength(0);
    expect(page.find(".lmc-names-said").textContent).toBe(lost);
  });

  it("are text, whatever they are called", async () => {
    const name = "<img src=x onerror=alert(1)>";
    await open({ ...NAMES, new: [name], changed: [name], removed: [name] });
    expect(page.all(".lmc-names img")).toHaveLength(0);
    expect(page.find(".lmc-change code").textContent).toBe(name);
  });

  it("are a few at once, and all of them when they are asked for", async () => {
    await open({ ...NAMES, new: Array.from({ length: 30 }, (_, at) => `n${at}`), changed: [], removed: [] });
    expect(chips()).toHaveLength(12);
    const more = page.find<HTMLButtonElement>(".lmc-changes button");
    expect(more.textContent).toBe(WORDS.moreNames(18));
    more.click();
    expect(chips()).toHaveLength(30);
    expect(document.activeElement?.textContent).toBe("+new: n12");
  });

  it("of a snapshot that says the same stay, and another is drawn", async () => {
    await open(NAMES);
    const before = page.find(".lmc-names");
    page.kernel.say({ ...page.kernel.state, epoch: "e2", records: [code({ names: { ...NAMES } })] });
    await page.soon();
    expect(page.find(".lmc-names")).toBe(before);
    page.kernel.say({ ...page.kernel.state, epoch: "e3", records: [code({ names: null })] });
    await page.soon();
    expect(page.find(".lmc-names").textContent).toBe(WORDS.restored);
  });
});
