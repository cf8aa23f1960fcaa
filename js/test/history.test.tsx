import axe from "axe-core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { facts } from "../src/panel/history";
import type { ConversationEntry, Record as WireRecord } from "../src/protocol";
import { when, WORDS } from "../src/words";
import { type FakeKernel, SETTINGS } from "./panel-kernel";
import { hand, Page } from "./panel-page";

const kept = (id: string, more: Partial<ConversationEntry> = {}): ConversationEntry => ({
  id,
  title: `Title of ${id}`,
  notebook: "work/one.ipynb",
  model: "m",
  changed: "2026-01-02T03:04:05Z",
  messages: 3,
  current: false,
  here: false,
  held: false,
  found: "",
  ...more,
});
const RECORDS: WireRecord[] = [
  { message: { role: "user", type: "message", content: "What is 6 × 7?" } },
  { message: { role: "assistant", type: "message", content: "42" } },
];
const SETTINGS_OF_A = { ...SETTINGS, title: "Title of a" };

/** Until it holds; how long that takes on a loaded machine is nobody's affair. */
const until = (holds: () => unknown) => vi.waitFor(holds, { timeout: 60_000 });

let page: Page;
let list: ConversationEntry[];

const answering = ({ answers }: FakeKernel): void => {
  answers.set("history", (said) => {
    if (said.kind !== "history") return null;
    const fits = list.filter((one) => one.title.includes(said.search) && (one.here || !said.here));
    return { ok: true, value: fits.slice(0, said.most) };
  });
  answers.set("open", () => ({ ok: true, value: "" }));
  answers.set("fork", () => ({ ok: true, value: "This is a copy." }));
  answers.set("rename", () => ({ ok: true, value: null }));
  answers.set("delete", (said) => {
    if (said.kind === "delete") list = list.filter((one) => one.id !== said.conversation);
    return { ok: true, value: "" };
  });
};
const open = async (): Promise<void> => {
  page = new Page({ records: RECORDS, settings: SETTINGS_OF_A }, undefined, answering);
  await page.soon();
  page.find(".lmc-head-title").focus(); // jsdom's click does not
  await page.press(WORDS.historyOf("Title of a"));
  await until(() => expect(page.all(".lmc-kept").length + page.all(".lmc-history [role=alert]").length).toBeGreaterThan(0));
};
const lines = () => page.all(".lmc-kept-title").map((title) => title.textContent);
const focused = () => document.activeElement as HTMLElement;
const search = async (text: string): Promise<void> => {
  await page.type(text, page.find<HTMLInputElement>("input[type=search]"));
  await until(() => expect(page.kernel.heard("history").at(-1)).toMatchObject({ search: text }));
  await page.soon();
};

beforeEach(() => {
  hand.trusted = true;
  list = [
    kept("a", { current: true, held: true, here: true }),
    kept("b", { held: true, messages: 1 }),
    kept("c", { title: "<img src=x onerror=alert(1)>", notebook: "" }),
  ];
});
afterEach(() => {
  page.close();
});

describe("the list of conversations", () => {
  it("says of each what, where, when, by whom and how long; names are text", async () => {
    await open();
    expect(page.kernel.heard("history").at(-1)).toMatchObject({ search: "", here: false });
    expect(lines()).toEqual(["Title of a", "Title of b", "<img src=x onerror=alert(1)>"]);
    expect(page.root.querySelector(".lmc-kept img")).toBeNull();
    const [a, b, c] = page.all(".lmc-kept-facts").map((one) => one.textContent?.replaceAll("\u00a0", " "));
    const time = when("2026-01-02T03:04:05Z");
    expect(page.all(".lmc-kepts > .lmc-menu-label").map((one) => one.textContent)).toEqual([
      WORDS.here,
      WORDS.elsewhere,
    ]);
    expect(a).toBe(`${time} · m · 3 messages`);
    expect(b).toBe(`one.ipynb · ${time} · m · 1 message`);
    expect(c).toBe(`${time} · m · 3 messages`);
  });

  it("marks the one that is open here, and those that another kernel writes", async () => {
    await open();
    const marks = page.all(".lmc-kept").map((one) => one.querySelector(".lmc-kept-mark")?.textContent ?? "");
    expect(marks).toEqual([WORDS.current, WORDS.held, ""]);
    expect(page.all("[aria-current=true]")).toHaveLength(1);
  });

  it("begins in the search field, and gives the focus back where it was", async () => {
    await open();
    expect(focused().getAttribute("aria-label")).toBe(WORDS.search);
    await page.key("Escape", {}, focused());
    expect(page.root.querySelector(".lmc-history")).toBeNull();
    expect(focused()).toBe(page.find(".lmc-head-title"));
  });

  it("opens one: the list closes, and the focus is where one writes", async () => {
    await open();
    await page.soon(() => page.all(".lmc-kept-open")[1]?.click());
    expect(page.kernel.heard("open")).toMatchObject([{ conversation: "b" }]);
    expect(page.root.querySelector(".lmc-history")).toBeNull();
    expect(focused()).toBe(page.input);
  });

  it("closes when the one that is open already is opened, and asks nobody", async () => {
    await open();
    await page.soon(() => page.all(".lmc-kept-open")[0]?.click());
    expect(page.kernel.heard("open")).toEqual([]);
    expect(page.root.querySelector(".lmc-history")).toBeNull();
  });

  it("opens a copy, and says what the kernel says of it", async () => {
    await open();
    await page.press("Open a copy: Title of b");
    expect(page.kernel.heard("fork")).toMatchObject([{ conversation: "b" }]);
    expect(page.text(".lmc-notice")).toContain("This is a copy.");
  });

  it("stays, and says why, when it cannot be opened", async () => {
    await open();
    page.kernel.answers.set("open", () => ({ ok: false, error: "an answer is in progress: stop it first" }));
    await page.soon(() => page.all(".lmc-kept-open")[1]?.click());
    expect(page.text(".lmc-history [role=alert]")).toBe("an answer is in progress: stop it first");
    expect(lines()).toHaveLength(3);
  });

  it("says why there is no list, and that a new one is empty", async () => {
    page = new Page({ records: RECORDS, settings: SETTINGS_OF_A }, undefined, ({ answers }) => {
      answers.set("history", () => ({ ok: false, error: "they are not kept" }));
    });
    await page.soon();
    await page.press(WORDS.historyOf("Title of a"));
    await until(() => expect(page.text(".lmc-history [role=alert]")).toBe("they are not kept"));
    expect(page.text(".lmc-history")).not.toContain(WORDS.historyNone);
    page.close();
    list = [];
    page = new Page({ records: RECORDS, settings: SETTINGS_OF_A }, undefined, answering);
    await page.soon();
    await page.press(WORDS.historyOf("Title of a"));
    await until(() => expect(page.text(".lmc-history")).toContain(WORDS.historyNone));
  });

  it("has no fault in its structure: the list, a new title, a deletion", async () => {
    const check = async () => {
      const { violations } = await axe.run(page.host, {
        rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
      });
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
    };
    await open();
    await check();
    await page.press("Rename: Title of b");
    await check();
    await page.key("Escape", {}, focused());
    await page.press("Delete: Title of b");
    await check();
  });
});

describe("looking for one", () => {
  it("asks the kernel once for what was typed together, and marks what was found", async () => {
    await open();
    const before = page.kernel.heard("history").length;
    const field = page.find<HTMLInputElement>("input[type=search]");
    for (const text of ["T", "Ti", "Title"]) await page.type(text, field);
    list = list.map((one) => ({ ...one, found: "… the TITLE <b>of</b> it …" }));
    await until(() => expect(page.all(".lmc-kept-found")).toHaveLength(2));
    expect(page.kernel.heard("history").slice(before)).toMatchObject([{ search: "Title" }]);
    expect(page.find(".lmc-kept-found mark").textContent).toBe("TITLE");
    expect(page.text(".lmc-kept-found")).toBe("… the TITLE <b>of</b> it …");
    expect(page.root.querySelector(".lmc-kept-found b")).toBeNull();
  });

  it("says when nothing was found, and Escape empties the field before it closes the list", async () => {
    await open();
    await search("nowhere");
    await until(() => expect(page.text(".lmc-history")).toContain(WORDS.foundNone("nowhere")));
    await page.key("Escape", {}, page.find("input[type=search]"));
    await until(() => expect(lines()).toHaveLength(3));
    expect(page.find<HTMLInputElement>("input[type=search]").value).toBe("");
  });

  it("never shows what was looked for before in place of what is looked for now", async () => {
    await open();
    const late: (() => void)[] = [];
    page.kernel.answers.set("history", (said) => {
      if (said.kind !== "history") return null;
      const value = [kept(said.search)];
      late.push(() => page.kernel.say({ kind: "reply", of: said.id, ok: true, value }));
      return null;
    });
    await search("first");
    await search("second");
    await page.soon(() => late[1]?.());
    await page.soon(() => late[0]?.());
    expect(lines()).toEqual(["Title of second"]);
  });

  it("draws so many at a time, and more at a press", async () => {
    list = Array.from({ length: 120 }, (_, number) => kept(`n${number}`));
    await open();
    expect(lines()).toHaveLength(50);
    await page.press(WORDS.more);
    await until(() => expect(lines()).toHaveLength(100));
    expect(focused().textContent).toContain("Title of n49");
    await page.press(WORDS.more);
    await until(() => expect(lines()).toHaveLength(120));
    expect(page.buttons(WORDS.more)).toEqual([]);
  });
});

describe("by keys alone", () => {
  it("arrows walk through the list and back to the field, and only one line takes Tab", async () => {
    await open();
    await page.key("ArrowDown", {}, focused());
    expect(focused().textContent).toContain("Title of a");
    await page.key("ArrowDown", {}, focused());
    expect(focused().textContent).toContain("Title of b");
    expect(page.all(".lmc-kept-open").map((one) => one.tabIndex)).toEqual([-1, 0, -1]);
    await page.key("End", {}, focused());
    await page.key("ArrowDown", {}, focused());
    expect(focused().textContent).toContain("<img");
    await page.key("Home", {}, focused());
    await page.key("ArrowUp", {}, focused());
    expect(focused().getAttribute("aria-label")).toBe(WORDS.search);
  });

  it("F2 renames in place, and the focus is on the line again", async () => {
    await open();
    await page.key("ArrowDown", {}, focused());
    await page.key("ArrowDown", {}, focused());
    await page.key("F2", {}, focused());
    const field = page.find<HTMLInputElement>(".lmc-kept-ask input");
    expect(focused()).toBe(field);
    await page.type("  Another title ", field);
    await page.press("Rename");
    expect(page.kernel.heard("rename")).toMatchObject([{ conversation: "b", title: "Another title" }]);
    expect(lines()[1]).toBe("Another title");
    expect(focused().textContent).toContain("Another title");
  });

  it("Escape leaves the renaming, not the list; an empty title changes nothing", async () => {
    await open();
    await page.press("Rename: Title of b");
    await page.key("Escape", {}, focused());
    expect(page.root.querySelector(".lmc-kept-ask")).toBeNull();
    expect(focused().textContent).toContain("Title of b");
    await page.press("Rename: Title of b");
    await page.type(" ", page.find<HTMLInputElement>(".lmc-kept-ask input"));
    await page.press("Rename");
    expect(page.kernel.heard("rename")).toEqual([]);
    expect(lines()[1]).toBe("Title of b");
  });

  it("Delete asks in place, on the button that keeps it; then the next one has the focus", async () => {
    await open();
    await page.key("ArrowDown", {}, focused());
    await page.key("ArrowDown", {}, focused());
    await page.key("Delete", {}, focused());
    expect(page.text(".lmc-kept-ask")).toContain("Delete “Title of b” permanently?");
    expect(focused().textContent).toBe(WORDS.keep);
    await page.key("Escape", {}, focused());
    expect(page.kernel.heard("delete")).toEqual([]);
    expect(focused().textContent).toContain("Title of b");
    await page.key("Delete", {}, focused());
    await page.press("Delete");
    expect(page.kernel.heard("delete")).toMatchObject([{ conversation: "b" }]);
    await until(() => expect(lines()).toEqual(["Title of a", "<img src=x onerror=alert(1)>"]));
    expect(focused().textContent).toContain("<img");
  });

  it("deletes all that it shows and nobody has open, once it has said how many", async () => {
    list.push(kept("d"), kept("e", { held: true }), kept("f"));
    await open();
    await page.press(WORDS.deleteAll);
    expect(page.text(".lmc-kept-ask")).toContain(WORDS.deleteAllAsk(3));
    expect(focused().textContent).toBe(WORDS.keep);
    await page.key("Escape", {}, focused());
    expect(page.root.querySelector(".lmc-kept-ask")).toBeNull();
    expect(page.kernel.heard("delete")).toEqual([]);
    await page.press(WORDS.deleteAll);
    await page.press(WORDS.delete);
    await until(() => expect(page.kernel.heard("delete").map((said) => said.conversation)).toEqual(["c", "d", "f"]));
    await until(() => expect(lines()).toEqual(["Title of a", "Title of b", "Title of e"]));
    expect(page.root.querySelector(".lmc-history")?.textContent).not.toContain(WORDS.deleteAll);
  });

  it("deletes nothing for a script, and says why when it cannot", async () => {
    await open();
    await page.press("Delete: Title of b");
    hand.trusted = false;
    await page.press("Delete");
    expect(page.kernel.heard("delete")).toEqual([]);
    hand.trusted = true;
    page.kernel.answers.set("delete", () => ({ ok: false, error: "another kernel uses this conversation" }));
    await page.press("Delete");
    expect(page.text(".lmc-history [role=alert]")).toContain("another kernel uses");
    expect(page.text(".lmc-kept-ask")).toContain("Title of b");
  });
});

describe("the first-run screen", () => {
  it("offers the last conversations of this notebook, and goes on with one at a press", async () => {
    list = [kept("a", { here: true, title: "The last one" }), kept("b", { title: "Of another" })];
    page = new Page({}, undefined, answering);
    await page.soon();
    expect(page.kernel.heard("history")).toMatchObject([{ search: "", here: true }]);
    expect(page.all(".lmc-before .lmc-offer b").map((one) => one.textContent)).toEqual(["Continue “The last one”"]);
    await page.soon(() => page.find(".lmc-before .lmc-offer").click());
    expect(page.kernel.heard("open")).toMatchObject([{ conversation: "a" }]);
  });

  it("stands there beside a line that says which model answers, and not beside a failure", async () => {
    list = [kept("a", { here: true })];
    page = new Page({ records: [{ note: "Model: m", level: "info" }] }, undefined, answering);
    await page.soon();
    expect(page.text(".lmc-before")).toContain("Continue “Title of a”");
    page.close();
    page = new Page({ records: [{ note: "It failed.", level: "error" }] }, undefined, answering);
    await page.soon();
    expect(page.root.querySelector(".lmc-before")).toBeNull();
    expect(page.text(".lmc-log")).toContain("It failed.");
  });

  it("says why it cannot go on with it", async () => {
    list = [kept("a", { here: true })];
    page = new Page({}, undefined, answering);
    await page.soon();
    page.kernel.answers.set("open", () => ({ ok: false, error: "there is no conversation 'a' any more" }));
    await page.soon(() => page.find(".lmc-before .lmc-offer").click());
    expect(page.text(".lmc-notice")).toContain("any more");
    expect(page.find<HTMLButtonElement>(".lmc-before .lmc-offer").disabled).toBe(false);
  });

  it("offers nothing where there is nothing", async () => {
    list = [];
    page = new Page({}, undefined, answering);
    await page.soon();
    expect(page.root.querySelector(".lmc-before")).toBeNull();
  });
});

describe("a time, as a person says it", () => {
  const now = new Date(2026, 2, 11, 15, 30); // a Wednesday
  it.each([
    [new Date(2026, 2, 11, 15, 29, 30), "just now"],
    [new Date(2026, 2, 11, 14, 45), "45 min ago"],
    [new Date(2026, 2, 11, 9, 5), "9:05"],
    [new Date(2026, 2, 10, 23, 59), "yesterday 23:59"],
    [new Date(2026, 2, 6, 8, 0), "Friday 8:00"],
    [new Date(2026, 2, 4, 8, 0), "4 Mar"],
    [new Date(2025, 11, 24, 8, 0), "24 Dec 2025"],
    [new Date(2026, 2, 11, 18, 0), "18:00"], // by a clock that is ahead
  ])("%s is %s", (time, said) => {
    expect(when(time.toISOString(), now)).toBe(said);
  });

  it("what is no time is not said", () => {
    expect(when("yesterday", now)).toBe("");
    expect(facts(kept("a", { changed: "", model: "", notebook: "C:\\work\\x.ipynb" }))).toBe("x.ipynb\u00a0· 3 messages");
  });
});
