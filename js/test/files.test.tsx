import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { MAX_BYTES } from "../src/panel/attach";
import type { Record as WireRecord, Turn } from "../src/protocol";
import { WORDS } from "../src/words";
import { IDLE, SETTINGS } from "./panel-kernel";
import { hand, Page } from "./panel-page";

const RECORDS: WireRecord[] = [
  { message: { role: "user", type: "message", content: "What is 6 × 7?" } },
  { message: { role: "assistant", type: "message", content: "42" } },
];
const TURN: Turn = {
  id: "t1",
  at: 0,
  where: "panel",
  model: "m",
  over: true,
  seconds: 1,
  prompt_tokens: 1,
  completion_tokens: 1,
  cached_tokens: null,
  estimate: null,
  cost: null,
  requests: 1,
  left_out: "",
};
const until = (holds: () => unknown) => vi.waitFor(holds, { timeout: 60_000 });

let page: Page;
/** What the browser was told to save: name, and address of the bytes. */
let saved: { name: string; href: string }[];
let blobs: Blob[];

beforeEach(() => {
  hand.trusted = true;
  saved = [];
  blobs = [];
  vi.stubGlobal(
    "URL",
    Object.assign(URL, {
      createObjectURL: (blob: Blob) => `blob:${blobs.push(blob)}`,
      revokeObjectURL: () => undefined,
    }),
  );
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    saved.push({ name: this.download, href: this.href });
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  page.close();
});

const menu = (): Promise<void> => page.press(WORDS.files);
const item = (name: string): HTMLButtonElement => {
  const found = page.all("[role=menuitem]").find((one) => one.textContent?.startsWith(name));
  if (!(found instanceof HTMLButtonElement)) throw new Error(`there is no ${name}`);
  return found;
};
const pick = async (...files: File[]): Promise<void> => {
  const input = page.find<HTMLInputElement>(".lmc-head input[type=file]");
  Object.defineProperty(input, "files", { value: files, configurable: true });
  await page.soon(() => input.dispatchEvent(new Event("change", { bubbles: true })));
};

describe("the head", () => {
  it("says which conversation this is, and follows its title", async () => {
    page = await Page.open({ records: RECORDS, settings: { ...SETTINGS, title: "Six by <b>seven</b>" } });
    expect(page.text(".lmc-head-title")).toBe("Six by <b>seven</b>");
    await page.events({ configured: { ...SETTINGS, title: "Renamed" } });
    expect(page.text(".lmc-head-title")).toBe("Renamed");
  });

  it("begins a new conversation, and says that this one stays", async () => {
    page = await Page.open({ records: RECORDS });
    expect(page.button(WORDS.newChat).title).toContain("stays in the history");
    await page.press(WORDS.newChat);
    expect(page.kernel.heard("command")).toMatchObject([{ line: "reset" }]);
    expect(document.activeElement).toBe(page.input);
    await page.events({ cut: 0 });
    expect(page.button(WORDS.newChat).disabled).toBe(true);
    expect(page.text(".lmc-head-title")).toBe(WORDS.newChat);
  });

  it("begins none while an answer is given", async () => {
    page = await Page.open({ records: RECORDS, state: { ...IDLE, state: "writing" } });
    expect(page.button(WORDS.newChat).disabled).toBe(true);
  });
});

describe("saving", () => {
  it("hands the kernel's bytes to the browser under the kernel's name, and says what they lack", async () => {
    page = await Page.open({ records: RECORDS });
    const bytes = new TextEncoder().encode("{}");
    page.kernel.answers.set("export", (said) => {
      const value = { name: "six.ipynb", mime: "application/x-ipynb+json", lost: ["The thumbs are left out."] };
      page.kernel.say({ kind: "reply", of: said.id, ok: true, value }, [bytes.buffer as ArrayBuffer]);
      return null;
    });
    await menu();
    expect(document.activeElement).toBe(item("Notebook"));
    await page.soon(() => item("Notebook").click());
    expect(page.kernel.heard("export")).toMatchObject([{ format: "notebook" }]);
    expect(saved).toEqual([{ name: "six.ipynb", href: "blob:1" }]);
    expect(await blobs[0]?.text()).toBe("{}");
    expect(page.root.querySelector("a[download]")).toBeNull();
    expect(page.text(".lmc-notice")).toContain("Saved as six.ipynb");
    expect(page.text(".lmc-notice")).toContain("The thumbs are left out.");
    expect(document.activeElement).toBe(page.button(WORDS.files));
  });

  it("offers the formats that the kernel knows by these names", async () => {
    page = await Page.open({ records: RECORDS });
    await menu();
    for (const each of ["Notebook", "Markdown", "LMC JSON", "GLM YAML", "OpenAI JSON"]) {
      await page.soon(() => item(each).click());
      await menu();
    }
    const names = page.kernel.heard("export").map(({ format }) => format);
    expect(names).toEqual(["notebook", "markdown", "lmc", "glm-yaml", "openai"]);
  });

  it("says why it could not, and when the kernel sent nothing", async () => {
    page = await Page.open({ records: RECORDS });
    page.kernel.answers.set("export", () => ({ ok: false, error: "a message is damaged" }));
    await menu();
    await page.soon(() => item("Markdown").click());
    expect(page.text(".lmc-notice.error")).toContain("a message is damaged");
    page.kernel.answers.set("export", () => ({ ok: true, value: { name: "x.md", mime: "text/markdown", lost: [] } }));
    await menu();
    await page.soon(() => item("Markdown").click());
    expect(page.text(".lmc-notice.error")).toContain("sent nothing for x.md");
    expect(saved).toEqual([]);
  });

  it("saves nothing of an empty conversation; a file can be opened", async () => {
    page = await Page.open();
    await menu();
    expect(item("Notebook").disabled).toBe(true);
    expect(item("Open a file").disabled).toBe(false);
    expect(document.activeElement).toBe(item("Open a file"));
  });
});

describe("opening a file", () => {
  it("hands its bytes to the kernel, and says what could not be carried over", async () => {
    page = await Page.open({ records: RECORDS });
    page.kernel.answers.set("import", () => ({ ok: true, value: ["Two pictures could not be read."] }));
    await pick(new File(["[1]"], "old chat.json"));
    await until(() => expect(page.text(".lmc-notice")).toContain("Two pictures could not be read."));
    expect(page.kernel.heard("import")).toMatchObject([{ name: "old chat.json", data: btoa("[1]") }]);
    expect(page.text(".lmc-notice")).toContain("is in the history");
    expect(document.activeElement).toBe(page.input);
  });

  it("says the kernel's sentence of a bad one, and keeps what there is", async () => {
    page = await Page.open({ records: RECORDS });
    page.kernel.answers.set("import", () => ({ ok: false, error: "line 3 is no JSON" }));
    await pick(new File(["<html>"], "page.json"));
    await until(() => expect(page.text(".lmc-notice.error")).toContain(WORDS.fileRefused("page.json", "line 3 is no JSON")));
    expect(page.all("article")).toHaveLength(2);
  });

  it("refuses what is too large for the way before it goes out", async () => {
    page = await Page.open({ records: RECORDS });
    const big = new File([], "big.json");
    Object.defineProperty(big, "size", { value: MAX_BYTES + 1 });
    await pick(big);
    await until(() => expect(page.text(".lmc-notice.error")).toContain("/load big.json"));
    expect(page.kernel.heard("import")).toEqual([]);
  });
});

describe("thumbs", () => {
  const pressed = () => page.all(".lmc-thumb").map((one) => one.getAttribute("aria-pressed"));

  it("are on each whole answer, and on nothing else", async () => {
    page = await Page.open({
      records: [
        ...RECORDS,
        { message: { role: "assistant", type: "message", content: "hm", recipient: "user" } },
        { message: { role: "assistant", type: "code", format: "python", content: "1" } },
        { message: { role: "computer", type: "console", format: "output", content: "1" } },
      ],
    });
    expect(page.buttons(WORDS.good)).toHaveLength(1);
    expect(page.buttons(WORDS.good)[0]?.closest("article")?.dataset["at"]).toBe("1");
  });

  it("are told, shown when the kernel has them, and taken back by a second press", async () => {
    page = await Page.open({ records: RECORDS });
    page.kernel.answers.set("rate", () => ({ ok: true, value: null }));
    expect(pressed()).toEqual(["false", "false"]);
    await page.press(WORDS.good);
    expect(pressed()).toEqual(["false", "false"]);
    await page.events({ marked: { at: 1, feedback: "up" } });
    expect(pressed()).toEqual(["true", "false"]);
    expect(page.all("article")[1]?.classList.contains("lmc-rated")).toBe(true);
    await page.press(WORDS.bad);
    await page.events({ marked: { at: 1, feedback: "down" } });
    await page.press(WORDS.bad);
    await page.events({ marked: { at: 1, feedback: null } });
    expect(pressed()).toEqual(["false", "false"]);
    expect(page.all("article")[1]?.classList.contains("lmc-rated")).toBe(false);
    const ratings = page.kernel.heard("rate").map(({ at, rating }) => [at, rating]);
    expect(ratings).toEqual([[1, "up"], [1, "down"], [1, null]]);
  });

  it("come with a snapshot, and a refusal is said", async () => {
    page = await Page.open({ records: [RECORDS[0], { ...RECORDS[1], feedback: "down" }] as WireRecord[] });
    expect(pressed()).toEqual(["false", "true"]);
    page.kernel.answers.set("rate", () => ({ ok: false, error: "wait until it is whole" }));
    await page.press(WORDS.good);
    expect(page.text(".lmc-notice.error")).toContain("wait until it is whole");
  });
});

describe("what a person should know of this conversation", () => {
  it("a calm banner stays while it cannot be written", async () => {
    page = await Page.open({ records: RECORDS, settings: { ...SETTINGS, unsaved: "The disk <i>is</i> full." } });
    expect(page.text(".lmc-banner.lmc-calm")).toBe("The disk <i>is</i> full.");
    expect(page.root.querySelector(".lmc-banner i")).toBeNull();
    await page.events({ configured: SETTINGS });
    expect(page.root.querySelector(".lmc-banner")).toBeNull();
  });

  it("what a turn left out is folded beside what it took", async () => {
    page = await Page.open({ records: RECORDS, turns: [{ ...TURN, left_out: "The first 6 turns were summed up." }] });
    const note = page.find<HTMLDetailsElement>(".lmc-turn details");
    expect(note.open).toBe(false);
    expect(note.querySelector("summary")?.textContent).toBe(WORDS.leftOut);
    expect(note.querySelector("p")?.textContent).toBe("The first 6 turns were summed up.");
    await page.events({ began: TURN });
    expect(page.root.querySelector(".lmc-turn details")).toBeNull();
  });
});

describe("another conversation", () => {
  const other: WireRecord[] = [{ message: { role: "user", type: "message", content: "Another?" } }];

  it("comes at once: nothing of both is drawn, and its end is in sight", async () => {
    page = await Page.open({ records: RECORDS, turns: [TURN] });
    const seen: number[] = [];
    const observer = new MutationObserver(() => seen.push(page.all("article").length));
    observer.observe(page.root, { childList: true, subtree: true });
    const log = page.find(".lmc-log");
    let top = -1;
    Object.defineProperty(log, "scrollHeight", { value: 700 });
    Object.defineProperty(log, "scrollTop", { get: () => top, set: (value: number) => (top = value) });
    await page.events({ replaced: other });
    observer.disconnect();
    expect(page.all("article").map((one) => one.textContent)).toEqual([expect.stringContaining("Another?")]);
    expect(page.all(".lmc-turn")).toEqual([]);
    expect(seen.every((count) => count === 1)).toBe(true);
    expect(page.root.querySelector(".lmc-welcome")).toBeNull();
    expect(top).toBe(700);
  });

  it("takes the place of an empty one", async () => {
    page = await Page.open();
    expect(page.root.querySelector(".lmc-welcome")).not.toBeNull();
    await page.events({ replaced: other });
    expect(page.root.querySelector(".lmc-welcome")).toBeNull();
    expect(page.all("article")).toHaveLength(1);
  });
});

describe("code at the end that nobody has answered", () => {
  const code: WireRecord = { message: { role: "assistant", type: "code", format: "python", content: "1 / 0" } };

  it("is never run by itself; a press asks about it", async () => {
    page = await Page.open({ records: RECORDS });
    await page.events({ replaced: [code] });
    expect(page.text(".lmc-incell")).toContain(WORDS.unanswered);
    expect(page.kernel.heard("command")).toEqual([]);
    await page.press(WORDS.goOn);
    expect(page.kernel.heard("command")).toMatchObject([{ line: "resume" }]);
    await page.events({ state: { ...IDLE, state: "waiting" } });
    expect(page.root.querySelector(".lmc-incell")).toBeNull();
  });

  it("is not offered once it was run or refused, or something was said after it", async () => {
    page = await Page.open({ records: [code] });
    expect(page.root.querySelector(".lmc-incell")).not.toBeNull();
    await page.events({ became: { at: 0, fate: "not run" } });
    expect(page.root.querySelector(".lmc-incell")).toBeNull();
    await page.events({ replaced: [code, ...RECORDS] });
    expect(page.root.querySelector(".lmc-incell")).toBeNull();
  });
});
