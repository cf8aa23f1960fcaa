/** A running program's question in the panel: where it stands, what it sends, what it keeps. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { Input, State } from "../src/protocol";
import { WORDS } from "../src/words";
import { IDLE } from "./panel-kernel";
import { hand, Page } from "./panel-page";

const RUNNING: State = { ...IDLE, state: "running", note: "Waiting for your input…" };
const NAME: Input = { id: "i1", prompt: "name? ", password: false };
const KEY: Input = { id: "i2", prompt: "<b>API key</b>:", password: true };

let page: Page;
const field = () => page.find<HTMLInputElement>(".lmc-asks-field");
const submit = (text: string) =>
  page.soon(() => {
    field().value = text;
    page.find<HTMLFormElement>("form.lmc-asks").requestSubmit();
  });
const key = (name: string, more: object = {}) =>
  page.soon(() =>
    field().dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more })),
  );

beforeEach(() => {
  hand.trusted = true;
});
afterEach(() => page.close());

describe("a running program's question", () => {
  it("shows the prompt, takes a line, and goes when the kernel says so", async () => {
    page = await Page.open({ state: RUNNING });
    expect(page.root.querySelector(".lmc-asks")).toBeNull();
    await page.events({ input: NAME });
    expect(page.find(".lmc-asks-prompt").textContent).toBe("name?");
    expect(field().type).toBe("text");
    expect(page.find(".lmc-asks label").getAttribute("for")).toBe(field().id);
    await submit("Ada ");
    expect(page.kernel.heard("input")).toMatchObject([{ input: "i1", text: "Ada " }]);
    expect(page.text(".lmc-asks")).toContain(WORDS.inputSent);
    await submit("twice");
    expect(page.kernel.heard("input").length).toBe(1);
    await page.events({ input: null });
    expect(page.root.querySelector(".lmc-asks")).toBeNull();
  });

  it("is there after a reload, and a password is not shown", async () => {
    page = await Page.open({ state: RUNNING, input: KEY });
    expect(field().type).toBe("password");
    expect(field().getAttribute("autocomplete")).toBe("off");
    expect(page.find(".lmc-asks-prompt").innerHTML).toBe("&lt;b&gt;API key&lt;/b&gt;:");
    await submit("hunter2");
    expect(page.kernel.heard("input")).toMatchObject([{ input: "i2", text: "hunter2" }]);
    await page.events({ input: null });
    expect(page.root.innerHTML).not.toContain("hunter2");
  });

  it("of ours has a button for each answer, which counts once it stood there, and by a real press", async () => {
    const choices: [string, string][] = [["y", "Go on"], ["n", "Stop here"]];
    page = await Page.open({ state: RUNNING, input: { id: "i7", prompt: "It wants to <b>write</b> a.", password: false, choices } });
    expect(page.find(".lmc-asks-prompt").textContent).toBe("It wants to <b>write</b> a.");
    expect(page.root.querySelector(".lmc-asks-field")).toBeNull();
    expect((page.button("Go on") as HTMLButtonElement).disabled).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 700));
    await page.soon(() => undefined);
    hand.trusted = false;
    await page.press("Go on");
    expect(page.kernel.heard("input")).toEqual([]);
    hand.trusted = true;
    await page.press("Stop here");
    expect(page.kernel.heard("input")).toMatchObject([{ input: "i7", text: "n" }]);
    await page.press("Go on");
    expect(page.kernel.heard("input")).toHaveLength(1);
  });

  it("for a key says which, and Escape leaves it out and stops no answer", async () => {
    page = await Page.open({ state: RUNNING, input: { id: "i9", prompt: "SOME_API_KEY", password: true, key: true } });
    const card = page.find(".lmc-asks");
    expect(card.getAttribute("aria-label")).toBe("API key for SOME_API_KEY");
    expect(card.textContent).not.toContain(WORDS.inputLabel);
    expect(card.textContent).not.toContain(WORDS.inputHint);
    await key("Escape");
    expect(page.kernel.heard("input")).toMatchObject([{ input: "i9", text: null }]);
    expect(page.kernel.heard("stop")).toEqual([]);
  });

  it("begins empty each time, and has a name without a prompt", async () => {
    page = await Page.open({ state: RUNNING, input: NAME });
    field().value = "typed";
    await page.events({ input: { ...NAME, id: "i3", prompt: "" } });
    expect(field().value).toBe("");
    expect(page.find(".lmc-asks label").textContent).toBe(WORDS.inputLine);
    await submit("");
    expect(page.kernel.heard("input")).toMatchObject([{ input: "i3", text: "" }]);
  });

  it("ends the input with Ctrl-D in an empty field, and the answer with Escape", async () => {
    page = await Page.open({ state: RUNNING, input: NAME });
    field().value = "x";
    await key("d", { ctrlKey: true });
    expect(page.kernel.heard("input")).toEqual([]);
    field().value = "";
    await key("d", { ctrlKey: true });
    expect(page.kernel.heard("input")).toMatchObject([{ input: "i1", text: null }]);
    await page.events({ input: { ...NAME, id: "i4" } });
    await key("Escape");
    expect(page.kernel.heard("stop").length).toBe(1);
  });

  it("takes the focus from an empty composer, and not from one in which somebody writes", async () => {
    page = await Page.open({ state: RUNNING });
    page.find(".lmc-input").focus();
    await page.events({ input: NAME });
    expect(document.activeElement).toBe(field());
    await page.events({ input: null });
    expect(document.activeElement).toBe(page.find(".lmc-input"));
    await page.type("half a question");
    await page.events({ input: { ...NAME, id: "i5" } });
    expect(document.activeElement).toBe(page.find(".lmc-input"));
    expect(page.find(".lmc-offscreen[role=status]").textContent).toContain("The code asks you: name?");
  });

  it("is not answered by a script of the page", async () => {
    page = await Page.open({ state: RUNNING, input: NAME });
    hand.trusted = false;
    await submit("mine");
    expect(page.kernel.heard("input")).toEqual([]);
  });

  it("is said until the kernel has heard it", async () => {
    page = new Page({ state: RUNNING, input: NAME });
    await page.soon();
    page.kernel.comm = false;
    page.kernel.control = "missing";
    await submit("Ada");
    expect(page.text(".lmc-asks")).toContain(WORDS.inputSent);
    page.kernel.comm = true;
    await new Promise((resolve) => {
      const look = () => (page.kernel.heard("input").length ? resolve(null) : setTimeout(look, 10));
      look();
    });
    expect(new Set(page.kernel.heard("input").map(({ text }) => text))).toEqual(new Set(["Ada"]));
  });
});
