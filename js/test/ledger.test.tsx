import axe from "axe-core";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import type { Asked } from "../src/panel/document";
import type { Document, Ledger, Part } from "../src/protocol";
import { WORDS } from "../src/words";
import { snapshot } from "./panel-kernel";
import { Page } from "./panel-page";

const part = (id: string, title: string, number: number | null, content = `${title}:\nx = 1`): Part => ({
  kind: id.split(" ")[0] ?? "",
  title,
  tokens: 1_234,
  content,
  id,
  number,
});
const LEDGER: Ledger = {
  line: "1 cell · 1 figure · 1,634 tokens",
  parts: [part("cell 3", "In [3]", 3), part("figure 3.0", "figure of In [3]", null, "")],
  always: [{ ...part("", "names of your variables", null), kind: "names" }],
  unseen: null,
};
const DOCUMENT: Document = { selected: { id: "c3", source: "x = 1", text: "" }, above: "# T", hidden: ["c1"], outline: [["c3", ""]] };

let page: Page;
let answer: { ok: true; value: unknown } | { ok: false; error: string };

/** Until it holds; how long that takes on a loaded machine is nobody's affair. */
const until = (holds: () => void) => vi.waitFor(() => page.soon().then(holds), { timeout: 60_000 });
const asked = () => page.kernel.heard("context");
const line = () => page.find<HTMLButtonElement>(".lmc-ledger-line");
const box = (at: number) => page.all(".lmc-ledger-parts input")[at] as HTMLInputElement;

beforeEach(async () => {
  answer = { ok: true, value: LEDGER };
  page = new Page({}, undefined, ({ answers }) => {
    answers.set("context", () => answer);
    answers.set("hide", () => ({ ok: true, value: "c3" }));
    answers.set("ask", () => ({ ok: true, value: null }));
  });
  await until(() => expect(asked().length).toBeGreaterThan(0));
});
afterEach(() => page.close());

const open = async () => {
  await until(() => line());
  await page.soon(() => line().click());
};

it("is a line that opens, with each part and its exact text", async () => {
  await until(() => expect(page.all(".lmc-ledger-line")[0]?.textContent).toBe(`Sends ${LEDGER.line}`));
  expect(line().getAttribute("aria-expanded")).toBe("false");
  await open();
  expect(page.all(".lmc-ledger-parts b").map((name) => name.textContent)).toEqual([
    "In [3]", "figure of In [3]", "names of your variables",
  ]);
  expect(page.all(".lmc-ledger-parts input")).toHaveLength(2); // what always goes has no box
  await page.press(`${WORDS.look}: In [3]`);
  expect(page.text(".lmc-ledger pre")).toBe("In [3]:\nx = 1");
  expect((await axe.run(page.find(".lmc-ledger"))).violations).toEqual([]);
});

it("sends what is unticked and pinned with the question, and what was unticked of a cell's run stays so", async () => {
  await open();
  await page.soon(() => box(1).click());
  expect(box(1).checked).toBe(false);
  await page.press(`${WORDS.pin}: In [3]`);
  expect(page.button(`${WORDS.pin}: In [3]`).getAttribute("aria-pressed")).toBe("true");
  const choice = { left_out: ["figure 3.0"], pinned: [3], document: null };
  await until(() => expect(asked().at(-1)?.choice).toEqual(choice));
  await page.type("Why?");
  await page.key("Enter");
  expect(page.kernel.heard("ask")[0]?.choice).toEqual(choice);
  const before = asked().length;
  await page.events({ cell: 4 });
  await until(() => expect(asked().length).toBeGreaterThan(before));
  expect(asked().at(-1)?.choice).toEqual(choice);
  await page.press(WORDS.reset);
  await until(() => expect(asked().at(-1)?.choice).toEqual({ ...choice, left_out: [] }));
  expect(page.all(".lmc-ledger > .lmc-link")).toEqual([]);
});

it("forgets after a question what was unticked of it alone", async () => {
  answer = { ok: true, value: { ...LEDGER, parts: [part("markdown", "Markdown", null)] } };
  await open();
  await page.events({ cell: 4 });
  await until(() => expect(page.text(".lmc-ledger-parts b")).toBe("Markdown"));
  await page.soon(() => box(0).click());
  await page.type("Why?");
  await page.key("Enter");
  expect(page.kernel.heard("ask")[0]?.choice?.left_out).toEqual(["markdown"]);
  await until(() => expect(asked().at(-1)?.choice.left_out).toEqual([]));
});

it("sends a cell that was unticked where the question names it", async () => {
  await open();
  await page.soon(() => box(0).click());
  await until(() => expect(asked().at(-1)?.choice.left_out).toEqual(["cell 3"]));
  await page.type("What is @cell 3");
  await until(() => expect(asked().at(-1)?.choice.left_out).toEqual([]));
});

it("forgets what was unticked and pinned of another kernel", async () => {
  await open();
  await page.soon(() => box(0).click());
  await page.press(`${WORDS.pin}: In [3]`);
  await until(() => expect(asked().at(-1)?.choice).toEqual({ left_out: ["cell 3"], pinned: [3], document: null }));
  await page.soon(() => page.kernel.say(snapshot({ epoch: "e2", seq: 1 })));
  await until(() => expect(asked().at(-1)?.choice).toEqual({ left_out: [], pinned: [], document: null }));
});

it("says what the front end knows of the document, and asks again when that changes", async () => {
  page.host.addEventListener("lmc:document", (event) => {
    (event as CustomEvent<Asked>).detail.document = DOCUMENT;
  });
  const before = asked().length;
  await page.soon(() => page.find(".lmc-panel").dispatchEvent(new CustomEvent("lmc:document-changed")));
  await until(() => expect(asked().length).toBeGreaterThan(before));
  expect(asked().at(-1)?.choice.document).toEqual(DOCUMENT);
});

it("asks again when a cell has ended and when the question points at another cell", async () => {
  let before = asked().length;
  await page.events({ cell: 4 });
  await until(() => expect(asked().length).toBeGreaterThan(before));
  before = asked().length;
  await page.type("What is @cell 4");
  await until(() => expect(asked().at(-1)?.text).toBe("What is @cell 4"));
  await until(() => expect(asked().length).toBeGreaterThan(before));
});

it("says what the question points at and is not there, and draws nothing where nothing goes", async () => {
  answer = { ok: false, error: "@cell 9 names no cell" };
  await page.type("@cell 9");
  await until(() => expect(page.text(".lmc-ledger")).toBe("@cell 9 names no cell"));
  answer = { ok: true, value: { line: "", parts: [], always: LEDGER.always, unseen: null } };
  await page.type("Hello");
  await until(() => expect(page.all(".lmc-ledger")).toEqual([]));
});

it("hides a cell from all models, and has its tag set where there is a document", async () => {
  const tagged: unknown[] = [];
  page.host.addEventListener("lmc:hide-cell", (event) => {
    tagged.push((event as CustomEvent).detail);
    event.preventDefault();
  });
  await open();
  await page.press(`${WORDS.hide}: In [3]`);
  expect(page.kernel.heard("hide").map(({ number }) => number)).toEqual([3]);
  expect(tagged).toEqual([{ id: "c3" }]);
  expect(page.text(".lmc-notice")).toContain(WORDS.hidden("In [3]", true));
});

it("shows below a question what was sent with it, and then its figures, folded", async () => {
  const image = { role: "user", type: "image", format: "base64.png", content: "aaaa" } as const;
  const message = { role: "user", type: "message", content: "Why?" } as const;
  await page.events(
    { appended: { message: image, figure: "In [3]" } },
    { appended: { message, sent: { line: "1 cell · 31 tokens", text: "<b>In [3]</b>", unseen: null } } },
  );
  await until(() => expect(page.all("article summary").map((one) => one.textContent)).toEqual([
    WORDS.sentWith("1 cell · 31 tokens"), WORDS.sentFigure("In [3]"),
  ]));
  expect(page.text("article pre")).toBe("<b>In [3]</b>");
});

it("folds the values of variables that a question names", async () => {
  const message = { role: "user", type: "message", content: "What is in @df?" } as const;
  await page.events({ appended: { message, values: "df = <b>1</b>" } });
  await until(() => expect(page.text("article summary")).toBe(WORDS.sentWith(WORDS.values)));
  expect(page.text("article .lmc-typed")).toBe("What is in @df?");
  expect(page.text("article pre")).toBe("df = <b>1</b>");
});

const UNSEEN = { title: "figure of In [13]", why: "m is not known to see images", numbers: [13], can_go: true };

it("strikes a figure out that is not sent, says why, and sends it where the person says so", async () => {
  answer = { ok: true, value: { ...LEDGER, unseen: UNSEEN } };
  page.kernel.answers.set("command", () => ({ ok: true, value: "vision: True" }));
  await page.events({ cell: 13 });
  await until(() => expect(page.text(".lmc-ledger s")).toBe(UNSEEN.title));
  expect(page.text(".lmc-not-sent")).toContain(UNSEEN.why);
  expect((await axe.run(page.find(".lmc-ledger"))).violations).toEqual([]);
  const before = asked().length;
  await page.soon(() => page.find<HTMLButtonElement>(".lmc-not-sent button").click());
  expect(page.kernel.heard("command").map(({ line }) => line)).toEqual(["config vision yes"]);
  await until(() => expect(asked().length).toBeGreaterThan(before));
});

it("says below a question which figure stayed, and asks again with it", async () => {
  const message = { role: "user", type: "message", content: "Why?" } as const;
  page.kernel.answers.set("command", () => ({ ok: true, value: "" }));
  await page.events({ appended: { message, sent: { line: "1 cell", text: "x", unseen: UNSEEN } } });
  expect(page.text(".lmc-record s")).toBe(UNSEEN.title);
  await page.soon(() => page.find<HTMLButtonElement>(".lmc-record .lmc-not-sent button").click());
  await until(() => expect(page.kernel.heard("ask")[0]?.text).toContain("@cell 13"));
  expect(page.kernel.heard("command")).toHaveLength(1);
});

it("has no button where the model cannot see", async () => {
  answer = { ok: true, value: { ...LEDGER, unseen: { ...UNSEEN, can_go: false } } };
  await page.events({ cell: 13 });
  await until(() => expect(page.text(".lmc-ledger s")).toBe(UNSEEN.title));
  expect(page.all(".lmc-not-sent button")).toEqual([]);
});
