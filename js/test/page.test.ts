/** HTML that the kernel waits for, from its mark to its report: in the panel and in a cell. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { mountPanel } from "../src/panel";
import { mountPage } from "../src/panel/cell";
import type { Chunk } from "../src/lmc";
import { FakeKernel, settle, snapshot } from "./panel-kernel";

let root: HTMLElement;
let unmount: () => void = () => undefined;
let kernel: FakeKernel;

beforeEach(() => {
  kernel = new FakeKernel();
  root = document.createElement("div");
  document.body.append(root);
});

afterEach(() => {
  unmount();
  document.body.replaceChildren();
});

/** The frame says this of itself, as its script would. */
function says(frame: HTMLIFrameElement, data: object): void {
  const token = /"token":"([0-9a-f]{32})"/.exec(frame.srcdoc)?.[1];
  window.dispatchEvent(new MessageEvent("message", { data: { ...data, lmc: token }, source: frame.contentWindow }));
}

const PAGE = { text: "hi", width: 300, height: 40 };

describe("in the panel", () => {
  const chunk: Chunk = { role: "computer", type: "code", format: "javascript", recipient: "user" };
  const open = async (mark: object | null) => {
    unmount = mountPanel(root, kernel.wire);
    await settle();
    kernel.events({ grown: { ...chunk, start: true } }, { grown: { ...chunk, content: "6 * 7" } });
    if (mark) kernel.events({ marked: { at: 0, ...mark } });
    kernel.events({ grown: { ...chunk, end: true } });
    return root.querySelector("iframe");
  };

  it("runs at once where it is waited for, and says what became of it, once", async () => {
    const frame = await open({ page: "awaited" });
    if (!frame) throw new Error("it has not begun");
    says(frame, { say: "log", text: "42" });
    says(frame, { page: PAGE });
    says(frame, { page: PAGE });
    await settle();
    const heard = kernel.heard("page").map(({ at, page }) => ({ at, page }));
    expect(heard).toEqual([{ at: 0, page: { ...PAGE, lines: ["42"] } }]);
    kernel.events({ marked: { at: 0, page: "heard" } });
    expect(root.querySelector("iframe")).toBe(frame); // it stays as it is
  });

  it("is source, and waits for a person, where nobody waits for it", async () => {
    expect(await open(null)).toBeNull();
    expect(root.textContent).toContain("6 * 7");
  });

  it("reports from a snapshot what is still waited for, and nothing else", async () => {
    const record = (page: "awaited" | "heard") => ({
      message: { ...chunk, format: "html", content: `<p>${page}</p>` },
      page,
    });
    kernel.state = snapshot({ records: [record("heard"), record("awaited")] });
    unmount = mountPanel(root, kernel.wire);
    await settle();
    const frames = [...root.querySelectorAll("iframe")];
    expect(frames.length).toBe(2);
    for (const frame of frames) says(frame, { page: PAGE });
    await settle();
    expect(kernel.heard("page").map(({ at }) => at)).toEqual([1]);
  });
});

describe("in a cell", () => {
  it("is shown when the kernel sends it, and reported", async () => {
    unmount = mountPage(root, kernel.wire);
    await settle();
    expect(kernel.heard("ready").length).toBe(1);
    expect(root.querySelector("iframe")).toBeNull();
    kernel.say({ kind: "page", language: "html", code: "<b>hi</b>" });
    kernel.say({ kind: "page", language: "html", code: "<b>again</b>" }); // to another view
    const frames = [...root.querySelectorAll("iframe")];
    expect(frames.length).toBe(1);
    expect(root.querySelector("b")).toBeNull();
    for (const frame of frames) says(frame, { page: PAGE });
    await settle();
    expect(kernel.heard("page").map(({ at, page }) => ({ at, page }))).toEqual([
      { at: -1, page: { ...PAGE, lines: [] } },
    ]);
    unmount();
    expect(root.childElementCount).toBe(0);
    expect(kernel.listeners).toBe(0);
  });
});
