import axe from "axe-core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { Recipient, Role } from "../src/lmc";
import type { Event, Name, Offer, Question, Record as WireRecord, Request, Turn } from "../src/protocol";
import { EXAMPLES, WORDS } from "../src/words";
import { type FakeKernel, IDLE, SETTINGS, TABLES } from "./panel-kernel";
import { hand, Page } from "./panel-page";

const said = (role: "user" | "assistant", content: string): WireRecord => ({
  message: { role, type: "message", content },
});
const code = (content: string, more: object = {}): WireRecord => ({
  message: { role: "assistant", type: "code", format: "python", content },
  ...more,
});
const turn = (id: string, at: number, more: Partial<Turn> = {}): Turn => ({
  id,
  at,
  where: "panel",
  model: "m",
  over: true,
  seconds: 3.2,
  prompt_tokens: 1_200,
  completion_tokens: 34,
  cached_tokens: null,
  estimate: null,
  cost: 0.0012,
  requests: 1,
  left_out: "",
  ...more,
});
const ASK: Question = {
  proposal: "p1",
  digest: "d1",
  at: 1,
  language: "python",
  lines: [[["", "x = 1"]]],
  code: "x = 1",
  warning: "",
};
const OFFERS: Offer[] = [
  { name: "local", label: "Local model", why: "on this machine, no key", api_base: null, current: true },
  { name: "ollama_chat/q", label: "q (Ollama)", why: "Ollama runs here", api_base: "http://127.0.0.1:1", current: false },
];
const PNG = // 1 × 1
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const CHAT = { records: [said("user", "What is 6 × 7?"), said("assistant", "It is **42**.")], turns: [turn("t1", 0)] };
const busy = (state: "thinking" | "writing" | "waiting" | "running", where: "panel" | "cell" = "panel"): Event => ({
  state: { state, note: "", elapsed: 1, where },
});

/** Until it holds; how long that takes on a loaded machine is nobody's affair. */
const until = (holds: () => unknown) => vi.waitFor(holds, { timeout: 60_000 });

let page: Page;
const open = async (changes: Parameters<typeof Page.open>[0] = {}): Promise<Page> => {
  page = await Page.open(changes);
  return page;
};

beforeEach(() => {
  hand.trusted = true;
  localStorage.clear();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  page.close();
});

describe("the panel", () => {
  it("is ready once the first snapshot is drawn, and says so", async () => {
    await open(CHAT);
    expect(page.find(".lmc-panel").dataset["ready"]).toBe("1");
    expect(page.find("[role=log]").getAttribute("aria-label")).toBe("Messages");
    expect(page.text("[role=log]")).toContain("What is 6 × 7?");
    expect(page.find("strong").textContent).toBe("42");
  });

  it("is not ready before, and says that it waits for the kernel", () => {
    const silent = (kernel: FakeKernel) => {
      kernel.comm = false;
      kernel.control = "missing";
    };
    page = new Page({}, undefined, silent);
    expect(page.root.querySelector("[data-ready]")).toBeNull();
    expect(page.text()).toContain(WORDS.connecting);
  });

  it("works in a shadow root", async () => {
    page = new Page(CHAT, (host) => {
      const inner = document.createElement("div");
      host.attachShadow({ mode: "open" }).append(inner);
      return inner;
    });
    await page.soon();
    await page.type("next?");
    await page.press("Send");
    expect(page.kernel.heard("ask")).toMatchObject([{ text: "next?" }]);
  });

  it("streams a message into one node and leaves the others alone", async () => {
    await open(CHAT);
    const before = page.all(".lmc-record");
    const chunk = (more: object): Event => ({ grown: { role: "assistant", type: "message", ...more } });
    await page.events(busy("writing"), chunk({ start: true }), chunk({ content: "One" }));
    const live = page.all(".lmc-record")[2];
    expect(live?.getAttribute("aria-busy")).toBe("true");
    await page.events(chunk({ content: " two" }), chunk({ end: true }), { state: { ...IDLE, state: "done" } });
    expect(page.all(".lmc-record")).toEqual([...before, live]);
    expect(live?.textContent).toContain("One two");
    expect(live?.hasAttribute("aria-busy")).toBe(false);
  });

  it("announces a message when it is whole, and not its pieces", async () => {
    await open(CHAT);
    const chunk = (more: object): Event => ({ grown: { role: "assistant", type: "message", ...more } });
    const status = page.find(".lmc-offscreen[role=status]");
    expect(page.find("[role=log]").getAttribute("aria-live")).toBe("off");
    await page.events(chunk({ start: true }), chunk({ content: "Half" }));
    expect(status.textContent).not.toContain("Half");
    await page.events(chunk({ content: " whole" }), chunk({ end: true }));
    expect(status.textContent).toBe("Half whole");
  });

  it("shows what has become of code, and marks the line that runs", async () => {
    await open({ records: [code("a\nb", { fate: "running" })], state: { ...IDLE, state: "running" } });
    const fate = page.find(".lmc-fate");
    expect(fate.textContent).toBe("running…");
    const console = (more: object): Event => ({ grown: { role: "computer", type: "console", ...more } });
    await page.events(console({ start: true }));
    expect(page.all(".lmc-record")[1]?.classList.contains("lmc-empty")).toBe(true);
    await page.events(console({ format: "active_line", content: 2 }));
    await until(() => expect(page.find(".lmc-record").innerHTML).toContain("lmc-now"));
    await page.events(console({ format: "output", content: "hi" }), console({ end: true }));
    expect(page.all(".lmc-record")[1]?.classList.contains("lmc-empty")).toBe(false);
    await page.events({ rewritten: { at: 0, content: "c" } }, { became: { at: 0, fate: "edited", seconds: 2.4 } });
    expect(fate.textContent).toBe("you edited and ran this · 2.4 s");
    await page.events({ became: { at: 0, fate: "ran", seconds: 0.049 } });
    expect(fate.textContent).toBe("you ran this");
    await page.events({ became: { at: 0, fate: "ran", seconds: 0.05 } });
    expect(fate.textContent).toBe("you ran this · 0.1 s");
    expect(page.all(".lmc-record")[0]?.textContent).toContain("c");
  });

  it("folds what is for the model, and its thoughts, but not what code shows to the person", async () => {
    const message = (role: Role, recipient: Recipient): WireRecord => ({
      message: { role, type: "message", content: `${role} to ${recipient}`, recipient },
    });
    await open({
      records: [message("computer", "user"), message("computer", "assistant"), message("assistant", "user")],
    });
    const folds = page.all(".lmc-record").map((one) => one.querySelector("summary")?.textContent ?? "");
    expect(folds).toEqual(["", WORDS.forModel, WORDS.thoughts]);
  });

  it("does not fold as a thought what a reader of a file could give to nobody but the person", async () => {
    const wire: WireRecord = { message: { role: "assistant", type: "message", content: "A refusal.", recipient: "user", was: true } };
    await open({ records: [wire] });
    expect(page.all(".lmc-record summary")).toHaveLength(0);
    expect(page.find(".lmc-record").textContent).toContain("A refusal.");
  });

  it("folds every kind that is for the model only, runs no page of it, and shows every kind that is for the person", async () => {
    const kinds: [string, string | undefined, string][] = [
      ["message", undefined, "words"],
      ["console", "output", "printed"],
      ["code", "python", "x = 1"],
      ["code", "html", "<b>page</b>"],
      ["image", "base64.png", PNG],
      ["file", "path", "/data/a.csv"],
      ["audio", "wav", "/data/a.wav"],
    ];
    const records = (recipient: Recipient): WireRecord[] =>
      kinds.map(([type, format, content]) => ({
        message: { role: "computer", type, content, recipient, ...(format ? { format } : {}) },
      }));
    await open({ records: [...records("assistant"), ...records("user")] });
    const rows = page.all(".lmc-record");
    const [theirs, mine] = [rows.slice(0, kinds.length), rows.slice(kinds.length)];
    for (const row of theirs) {
      const fold = row.querySelector<HTMLDetailsElement>("details.lmc-folded");
      expect(fold?.open).toBe(false);
      expect(fold?.querySelector("summary")?.textContent).toBe(WORDS.forModel);
      expect(fold?.childElementCount).toBe(2);
      expect(row.querySelector("iframe")).toBeNull();
    }
    for (const row of mine) expect(row.querySelector(".lmc-folded")).toBeNull();
    expect(mine[3]?.querySelector("iframe")).toBeTruthy();
    expect(mine[4]?.querySelector("img")).toBeTruthy();
  });

  it("has what was attached in the turn of its question", async () => {
    const sound: WireRecord = { message: { role: "user", type: "audio", format: "wav", content: "/a.wav" } };
    await open({
      records: [said("user", "One?"), said("assistant", "One."), sound, sound, said("user", "Two?")],
      turns: [turn("t1", 0), turn("t2", 4)],
    });
    const order = page.all(".lmc-record, .lmc-turn").map((one) => one.dataset["type"] ?? "turn");
    expect(order).toEqual(["message", "message", "turn", "audio", "audio", "message", "turn"]);
  });

  it("shows notes as text, and errors as errors", async () => {
    await open({ records: [{ note: "<b>no</b> model", level: "error" }] });
    expect(page.find("[data-level=error]").textContent).toBe("<b>no</b> model");
    expect(page.all("b").every((bold) => bold.textContent !== "no")).toBe(true);
  });

  it("keeps a banner up while code runs unasked", async () => {
    await open({ ...CHAT, settings: { ...SETTINGS, auto_run: true } });
    expect(page.text()).toContain(WORDS.autoRun);
    await page.events({ configured: SETTINGS });
    expect(page.text()).not.toContain(WORDS.autoRun);
  });

  it("keeps a calmer one up while only changes are asked for, and says so in its menu", async () => {
    await open({ ...CHAT, settings: { ...SETTINGS, asks: "changes" } });
    expect(page.text()).toContain(WORDS.asksForChanges);
    await page.press("More actions");
    expect(page.item("Only for changes").getAttribute("aria-checked")).toBe("true");
    expect(page.item("For each block").getAttribute("aria-checked")).toBe("false");
    await page.events({ configured: SETTINGS });
    expect(page.text()).not.toContain(WORDS.asksForChanges);
  });

  it("asks for more or less as its menu says", async () => {
    await open(CHAT);
    page.kernel.answers.set("command", () => ({ ok: true, value: "" }));
    await page.press("More actions");
    await page.soon(() => page.item("Only for changes").click());
    expect(page.kernel.heard("command").map(({ line }) => line)).toEqual(["config ask changes"]);
    await page.events({ configured: { ...SETTINGS, auto_run: true, asks: "never" } });
    await page.press("More actions");
    await page.soon(() => page.item("For each block").click());
    expect(page.kernel.heard("command").map(({ line }) => line)).toEqual([
      "config ask changes",
      "config auto_run False",
      "config ask always",
    ]);
  });

  it("lets the card ask only for changes, until that is so", async () => {
    await open({ ...CHAT, ask: { ...ASK, at: 1 }, state: { ...IDLE, state: "waiting" } });
    expect(page.buttons(WORDS.onlyChanges)).toHaveLength(1);
    await page.events({ configured: { ...SETTINGS, asks: "changes" } });
    expect(page.buttons(WORDS.onlyChanges)).toHaveLength(0);
  });

  it("always shows the state, with the kernel's own sentence where there is one", async () => {
    await open(CHAT);
    expect(page.text(".lmc-bar")).toBe("Ready");
    await page.events(busy("thinking"));
    expect(page.text(".lmc-bar")).toContain("Thinking…");
    await page.events({ state: { ...IDLE, state: "thinking", note: "Loading LiteLLM…" } });
    expect(page.text(".lmc-bar")).toContain("Loading LiteLLM…");
    await page.events({ state: { ...IDLE, state: "failed" } });
    expect(page.text(".lmc-bar")).toContain("Failed");
  });

  it("draws the last of many records at once, and the others when there is time", async () => {
    vi.useFakeTimers();
    const records = Array.from({ length: 300 }, (_, n) => said("assistant", `message ${n}`));
    page = new Page({ records });
    await vi.advanceTimersByTimeAsync(0);
    const drawn = () => page.all(".lmc-record").filter((row) => row.childElementCount > 0).length;
    expect(page.all(".lmc-record")).toHaveLength(300);
    expect(drawn()).toBe(60);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(drawn()).toBe(300);
    expect(page.all(".lmc-record")[0]?.textContent).toContain("message 0");
  });

  it("keeps turns under their last record and takes records back, over pages of the list", async () => {
    const records = Array.from({ length: 60 }, (_, n) => said(n % 2 ? "assistant" : "user", `${n}`));
    const turns = Array.from({ length: 30 }, (_, n) => turn(`t${n}`, n * 2));
    await open({ records, turns });
    const before = () => page.all(".lmc-turn").map((footer) => footer.previousElementSibling?.getAttribute("data-at"));
    expect(before()).toEqual(turns.map(({ at }) => String(at + 1)));
    await page.events({ cut: 30 });
    expect(page.all(".lmc-record")).toHaveLength(30);
    expect(before()).toHaveLength(15);
    await page.events({ appended: said("user", "anew") }, { began: turn("x", 30) });
    expect(page.all(".lmc-record").map(({ dataset }) => dataset["at"])).toEqual(
      Array.from({ length: 31 }, (_, n) => String(n)),
    );
    expect(before().at(-1)).toBe("30");
    await page.events({ cut: 25 });
    expect(page.all(".lmc-page")).toHaveLength(1);
    expect(page.all(".lmc-turn")).toHaveLength(13);
    expect(before().at(-1)).toBe("24");
  });

  it("takes back records and turns", async () => {
    await open({ ...CHAT, records: [...CHAT.records, said("user", "more?")], turns: [turn("t1", 0), turn("t2", 2)] });
    await page.events({ cut: 2 });
    expect(page.all(".lmc-record")).toHaveLength(2);
    expect(page.all(".lmc-turn")).toHaveLength(1);
    await page.events({ cut: 0 });
    expect(page.text()).toContain(WORDS.welcome);
  });

  it("reads everything again when its copy is wrong", async () => {
    await open(CHAT);
    page.kernel.state = { ...page.kernel.state, records: CHAT.records };
    vi.useFakeTimers();
    page.kernel.events({ became: { at: 77, fate: "ran" } });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(page.all(".lmc-record")).toHaveLength(2);
    expect(page.kernel.heard("sync").at(-1)).toMatchObject({ epoch: "" });
  });
});

describe("the queue", () => {
  const QUEUED = [
    { id: "q1", text: "One?" },
    { id: "q2", text: "Two?" },
  ];
  const waiting = async () => {
    await open({ ...CHAT, queued: QUEUED });
    page.kernel.answers.set("queue", () => ({ ok: true, value: null }));
    await page.events(busy("thinking"));
  };

  it("is shown while something waits, and says when it is asked", async () => {
    await waiting();
    expect(page.text(".lmc-queue")).toContain("One?");
    expect(page.text(".lmc-queue")).toContain(WORDS.queueHint);
    await page.events({ state: { ...IDLE, state: "stopped" } });
    expect(page.text(".lmc-queue")).toContain(WORDS.queueStopped);
    await page.events({ queued: [] });
    expect(page.all(".lmc-queue")).toHaveLength(0);
  });

  it("is changed by the kernel alone", async () => {
    await waiting();
    await page.press(WORDS.remove("One?"));
    await page.press(WORDS.queueEarlier("Two?"));
    await page.soon(() => page.buttons(WORDS.queueNow)[1]?.click());
    expect(page.kernel.heard("queue").map(({ kind: _, id: __, ...rest }) => rest)).toEqual([
      { do: "remove", entry: "q1" },
      { do: "move", entry: "q2", to: 0 },
      { do: "now", entry: "q2" },
    ]);
    expect(page.all(".lmc-queue li")).toHaveLength(2);
  });

  it("lets an entry be edited, and keeps the text where that is refused", async () => {
    await waiting();
    const field = () => page.find<HTMLTextAreaElement>(".lmc-queue textarea");
    await page.press("One?");
    await page.type("Uno?", field());
    await page.key("Escape", {}, field());
    expect(page.all(".lmc-queue textarea")).toHaveLength(0);
    page.kernel.answers.set("queue", () => ({ ok: false, error: "It has been asked." }));
    await page.press("One?");
    await page.type("Uno?", field());
    await page.key("Enter", {}, field());
    expect(page.text(".lmc-notice")).toContain("It has been asked.");
    expect(field().value).toBe("Uno?");
    page.kernel.answers.set("queue", () => ({ ok: true, value: null }));
    await page.key("Enter", {}, field());
    expect(page.kernel.heard("queue").at(-1)).toMatchObject({ do: "edit", entry: "q1", text: "Uno?" });
    expect(page.all(".lmc-queue textarea")).toHaveLength(0);
  });

  it("has nothing that axe finds wrong", async () => {
    await waiting();
    const { violations } = await axe.run(page.find(".lmc-queue"));
    expect(violations).toEqual([]);
  });
});

describe("stop", () => {
  it("is there while something is going on, in place of Send", async () => {
    await open(CHAT);
    expect(page.buttons("Stop")).toHaveLength(0);
    await page.events(busy("writing"));
    expect(page.buttons("Send")).toHaveLength(0);
    await page.press("Stop");
    expect(page.kernel.heard("stop")).toHaveLength(1);
    expect(page.text()).toContain(WORDS.stopping);
    expect(document.activeElement).toBe(page.input);
  });

  it("is what Escape does in the composer, and nowhere else", async () => {
    await open({ ...CHAT, ask: { ...ASK, at: 1 }, state: { ...IDLE, state: "waiting" } });
    await page.key("Escape", {}, page.find(".lmc-card"));
    expect(page.kernel.heard("stop")).toHaveLength(0);
    hand.trusted = false;
    await page.key("Escape");
    expect(page.kernel.heard("stop")).toHaveLength(0);
    hand.trusted = true;
    await page.key("Escape");
    expect(page.kernel.heard("stop")).toHaveLength(1);
    await page.events({ answered: "p1" }, { state: { ...IDLE, state: "stopped" } });
    await page.key("Escape");
    expect(page.kernel.heard("stop")).toHaveLength(1);
  });

  it("says when the kernel does not answer", async () => {
    await open(CHAT);
    await page.events(busy("running"));
    vi.useFakeTimers();
    page.kernel.comm = false;
    page.kernel.control = "missing";
    page.button("Stop").click();
    await vi.advanceTimersByTimeAsync(9_000);
    vi.useRealTimers();
    await page.soon();
    expect(page.text("[role=alert]")).toContain(WORDS.silent);
    expect(page.buttons("Stop")).toHaveLength(1);
  });
});

describe("the question", () => {
  const asking = { records: [said("user", "go"), code("x = 1", { fate: "waits" })], turns: [turn("t", 0, { over: false })] };

  it("waits beside the list, and is announced; its code is shown once", async () => {
    await open(asking);
    await page.events({ waits: ASK }, busy("waiting"));
    expect(page.find("[data-proposal=p1]").textContent).toContain("x = 1");
    expect(page.all(".lmc-record")[1]?.classList.contains("lmc-asked")).toBe(true);
    expect(page.text(".lmc-offscreen[role=status]")).toBe(WORDS.announceAsk("python"));
    await page.events({ answered: "p1" }, { became: { at: 1, fate: "running" } }, busy("running"));
    expect(page.root.querySelector("[data-proposal]")).toBeNull();
    expect(page.all(".lmc-record")[1]?.classList.contains("lmc-asked")).toBe(false);
  });

  it("says whose code it is where an agent brings it, and what running all would mean", async () => {
    const note = "Claude Code, an agent outside this notebook, runs code here.";
    const record: WireRecord = {
      message: { role: "computer", type: "console", format: "output", recipient: "assistant", content: note },
    };
    await open();
    await page.events({ appended: record }); // the turn is told of later
    await page.events({ began: turn("t", 0, { over: false, where: "agent", model: "Claude Code" }) }, { appended: code("x = 1", { fate: "waits" }) });
    await page.events({ waits: { ...ASK, at: 1 } }, busy("waiting"));
    expect(page.text(".lmc-card > .lmc-agent")).toBe("Claude Code (agent)");
    expect(page.text(".lmc-offscreen[role=status]")).toContain("Claude Code wants to run python code");
    expect(page.buttons("Run all blocks from Claude Code (until one minute of silence)")).toHaveLength(1);
    expect(page.buttons(WORDS.onlyChanges)).toHaveLength(0);
    expect(page.buttons(WORDS.runAll)).toHaveLength(0);
    expect(page.all(".lmc-record")[1]?.classList.contains("lmc-asked")).toBe(true);
    await page.events({ answered: "p1" }, { became: { at: 1, fate: "ran" } });
    await page.events({ ended: turn("t", 0, { where: "agent", model: "Claude Code" }) }, { state: { ...IDLE, state: "done" } });
    expect(page.all(".lmc-signed > .lmc-agent").map((each) => each.textContent)).toEqual(["Claude Code (agent)"]);
    for (const name of [WORDS.retry, WORDS.undo, WORDS.edit]) expect(page.buttons(name)).toHaveLength(0); // of no question
    await page.events({ began: turn("u", 1, { over: false }) }, { waits: { ...ASK, at: 1 } }, busy("waiting"));
    expect(page.buttons(WORDS.runAll)).toHaveLength(1); // the model's, again
  });

  it("is answered in the cell when it was asked there", async () => {
    await open(asking);
    await page.events(busy("waiting", "cell"));
    expect(page.text()).toContain(WORDS.inCell);
    let shown = 0;
    const show = (event: globalThis.Event) => {
      shown += 1;
      event.preventDefault(); // as JupyterLab does when the cell is there
    };
    page.host.addEventListener("lmc:show-question", show);
    await page.press(WORDS.toCell);
    expect([shown, page.all("[role=alert]").length]).toEqual([1, 0]);
    page.host.removeEventListener("lmc:show-question", show);
    await page.press(WORDS.toCell);
    expect(page.text("[role=alert]")).toContain(WORDS.notInSight);
    await page.events({ waits: ASK });
    expect(page.root.querySelector("[data-proposal]")).toBeNull();
    expect(page.text()).toContain(WORDS.inCell);
  });

  it("takes the focus from the panel only, and never puts it on a button", async () => {
    await open(asking);
    const outside = document.createElement("input");
    document.body.append(outside);
    outside.focus();
    await page.events({ waits: ASK }, busy("waiting"));
    expect(document.activeElement).toBe(outside);
    await page.events({ answered: "p1" });
    expect(document.activeElement).toBe(outside);
    outside.remove();
    page.find<HTMLElement>("[role=log]").focus();
    await page.events({ waits: { ...ASK, proposal: "p2" } });
    expect(document.activeElement).toBe(page.find(".lmc-card"));
    await page.events({ answered: "p1" });
    expect(document.activeElement).toBe(page.input);
  });

  it("gives the focus back to the composer when it goes with its card", async () => {
    await open(asking);
    await page.events({ waits: ASK }, busy("waiting"));
    page.find<HTMLElement>(".lmc-reason").focus();
    await page.events({ answered: "p1" });
    expect(document.activeElement).toBe(page.input);
    await page.events({ waits: { ...ASK, proposal: "p2" } });
    page.find<HTMLElement>(".lmc-reason").focus();
    const outside = document.createElement("input");
    document.body.append(outside);
    outside.focus(); // the reader has gone elsewhere
    outside.remove();
    await page.events({ answered: "p1" });
    expect(document.activeElement).toBe(document.body);
  });

  it("does not take the focus from who is writing", async () => {
    await open(asking);
    await page.type("my next quest");
    await page.events({ waits: ASK }, busy("waiting"));
    expect(document.activeElement).toBe(page.input);
  });

  it("takes the focus from a composer whose text is on its way, and not once more is written", async () => {
    await open(asking);
    await page.type("go"); // the kernel has not said yet that it has taken it
    await page.key("Enter");
    await page.events({ waits: ASK }, busy("waiting"));
    expect(page.input.value).toBe("go");
    expect(document.activeElement).toBe(page.find(".lmc-card"));
    await page.type("go, and then");
    await page.events({ waits: { ...ASK, proposal: "p2" } });
    expect(document.activeElement).toBe(page.input);
  });

  it("is never approved by Enter in the composer", async () => {
    await open(asking);
    await page.events({ waits: ASK }, busy("waiting"));
    await page.type("yes, run it");
    await page.key("Enter");
    await page.key("Enter", { ctrlKey: true });
    expect(page.kernel.heard("decision")).toEqual([]);
    expect(page.kernel.heard("ask")).toEqual([]);
    expect(page.input.value).toBe("yes, run it");
  });
});

describe("the composer", () => {
  const answering = async (changes: Parameters<typeof Page.open>[0] = CHAT) => {
    await open(changes);
    page.kernel.answers.set("ask", () => ({ ok: true, value: null }));
    page.kernel.answers.set("command", () => ({ ok: true, value: "Done." }));
    return page;
  };

  it("tells the kernel when a person is about to write, so that the model may load", async () => {
    await answering();
    expect(page.kernel.heard("focus")).toHaveLength(0);
    await page.soon(() => page.find(".lmc-input").focus());
    expect(page.kernel.heard("focus")).toHaveLength(1);
  });

  it("shows what is said of names and commands without their backticks", async () => {
    await answering();
    page.kernel.answers.set("command", () => ({ ok: true, value: "Restored `a` and `b<i>`. A ` stays." }));
    await page.type("/undo");
    await page.key("Escape");
    await page.key("Enter");
    await until(() => expect(page.text(".lmc-notice p")).toBe("Restored a and b<i>. A ` stays."));
    expect(page.all(".lmc-notice code").map((code) => code.textContent)).toEqual(["a", "b<i>"]);
  });

  it("shows a quoted line of a file as it stands there", async () => {
    await answering();
    page.kernel.answers.set("command", () => ({ ok: true, value: "Say `yes`.\n│ Use `a` and `\n│ b`.\n`c`" }));
    await page.type("/undo");
    await page.key("Escape");
    await page.key("Enter");
    await until(() => expect(page.text(".lmc-notice p")).toBe("Say yes.\n│ Use `a` and `\n│ b`.\nc"));
    expect(page.all(".lmc-notice code").map((code) => code.textContent)).toEqual(["yes", "c"]);
  });

  it("takes a command as a cell has it", async () => {
    await answering();
    await page.type("%lmc  undo now");
    await page.key("Enter");
    await until(() => expect(page.kernel.heard("command")).toMatchObject([{ line: "undo now" }]));
    expect(page.kernel.heard("ask")).toHaveLength(0);
  });

  it("shows a short notice for some seconds, and one that has to be read until it is closed", async () => {
    await answering();
    const notice = async (command: string) => {
      await page.type(command);
      await page.key("Escape");
      await page.key("Enter");
      await until(() => void page.find(".lmc-notice"));
    };
    const later = () => page.soon(() => vi.advanceTimersByTimeAsync(60_000));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await notice("/undo");
    await page.soon(() => vi.advanceTimersByTimeAsync(2_000));
    expect(page.text(".lmc-notice p")).toBe("Done.");
    await later();
    expect(page.root.querySelector(".lmc-notice")).toBeNull();

    page.kernel.answers.set("command", () => ({ ok: true, value: "A line of help.\n".repeat(40) }));
    await notice("/help");
    await later();
    expect(page.text(".lmc-notice p")).toContain("A line of help.");

    page.kernel.answers.set("command", () => ({ ok: false, error: "No such file." }));
    await notice("/save x");
    await later();
    expect(page.text(".lmc-notice p")).toBe("No such file.");
  });

  it("sends with Enter, and is empty then", async () => {
    await answering();
    await page.type("  What is x?  ");
    const event = await page.key("Enter");
    expect(event.defaultPrevented).toBe(true);
    expect(page.kernel.heard("ask")).toMatchObject([{ text: "What is x?", attachments: [] }]);
    expect(page.input.value).toBe("");
  });

  it("puts what is written while an answer is given into the queue", async () => {
    await answering();
    page.kernel.answers.set("queue", () => ({ ok: true, value: null }));
    await page.events(busy("thinking"));
    await page.type("And then?");
    await page.key("Enter");
    expect(page.kernel.heard("queue")).toMatchObject([{ do: "add", text: "And then?" }]);
    expect(page.input.value).toBe("");
    expect(page.kernel.heard("ask")).toEqual([]);
  });

  it("says that a command cannot be given during an answer, and keeps it", async () => {
    await answering();
    await page.events(busy("thinking"));
    await page.type("/undo ");
    await page.key("Enter");
    expect(page.text(".lmc-notice")).toContain(WORDS.busyCommand);
    expect(page.input.value).toBe("/undo ");
    expect(page.kernel.heard("command")).toEqual([]);
  });

  it("takes the words of other chats for a new conversation", async () => {
    await answering();
    page.kernel.answers.set("command", () => ({ ok: true, value: "" }));
    await page.type("/clear");
    await page.key("Escape");
    await page.key("Enter");
    await until(() => expect(page.kernel.heard("command")).toMatchObject([{ line: "reset" }]));
  });

  it("heads a frame of data as a table", async () => {
    const content = '<table border="1" class="dataframe"><tbody><tr><td>1</td></tr></tbody></table>';
    await open({ records: [{ message: { role: "computer", type: "code", format: "html", content } }] });
    expect(page.text(".lmc-code-head b")).toBe("table");
  });

  it("heads a frame of data as a table while it is live, once it is whole", async () => {
    await open({});
    const chunk = (more: object): Event => ({ grown: { role: "computer", type: "code", format: "html", ...more } });
    await page.events(chunk({ start: true }), chunk({ content: '<table border="1" cla' }));
    expect(page.text(".lmc-code-head b")).toBe("html");
    await page.events(chunk({ content: 'ss="dataframe"><tbody><tr><td>1</td></tr></tbody></table>' }), chunk({ end: true }));
    expect(page.text(".lmc-code-head b")).toBe("table");
  });

  it("begins with questions about the notebook's own data", async () => {
    const names = [{ name: "sales", type: "DataFrame", shape: "(2, 2)" }];
    page = new Page({}, undefined, (kernel) => kernel.answers.set("names", () => ({ ok: true, value: names })));
    await until(async () => {
      await page.soon();
      expect(page.all(".lmc-example")[0]?.textContent).toBe("Which columns of sales have missing values?");
    });
  });

  it("adds a line with Shift+Enter, and sends nothing that is empty", async () => {
    await answering();
    await page.type("one");
    expect((await page.key("Enter", { shiftKey: true })).defaultPrevented).toBe(false);
    await page.type("   ");
    await page.key("Enter");
    expect(page.button("Send").disabled).toBe(true);
    expect(page.kernel.heard("ask")).toEqual([]);
  });

  it("sends nothing in the middle of a composition", async () => {
    await answering();
    await page.type("にほんご");
    await page.key("Enter", { isComposing: true });
    await page.key("Enter", { keyCode: 229 } as KeyboardEventInit);
    expect(page.kernel.heard("ask")).toEqual([]);
    await page.key("Enter");
    expect(page.kernel.heard("ask")).toHaveLength(1);
  });

  it("swaps Enter and Shift+Enter, remembers it, and works where nothing can be remembered", async () => {
    await answering();
    await page.press("More actions");
    await page.soon(() => page.item("Enter sends").click());
    await page.type("one");
    await page.key("Enter");
    expect(page.kernel.heard("ask")).toEqual([]);
    await page.key("Enter", { shiftKey: true });
    expect(page.kernel.heard("ask")).toHaveLength(1);
    page.close();
    await answering();
    await page.type("two");
    await page.key("Enter");
    expect(page.kernel.heard("ask")).toEqual([]);
    page.close();
    vi.stubGlobal("localStorage", {
      getItem: () => {
        throw new DOMException("not allowed", "SecurityError");
      },
      setItem: () => {
        throw new DOMException("not allowed", "SecurityError");
      },
    });
    await answering();
    await page.press("More actions");
    await page.soon(() => page.item("Enter sends").click());
    await page.type("three");
    await page.key("Enter");
    expect(page.kernel.heard("ask")).toEqual([]);
  });

  it("offers commands and what can be named from its menu, and keeps what is written", async () => {
    await answering();
    page.kernel.answers.set("names", () => ({ ok: true, value: [{ name: "df", about: "DataFrame" }] }));
    await page.press("More actions");
    await page.soon(() => page.all("[role=menuitem]").find((one) => one.textContent?.includes("Commands"))?.click());
    expect(page.input.value).toBe("/");
    expect(page.all("[role=option]").length).toBeGreaterThan(0);
    await page.type("What is in");
    await page.press("More actions");
    await page.soon(() => page.all("[role=menuitem]").find((one) => one.textContent?.includes("variables"))?.click());
    expect(page.input.value).toBe("What is in @");
    await vi.waitFor(() => expect(page.kernel.heard("names").at(-1)).toMatchObject({ prefix: "" }));
  });

  it("keeps what was typed when it could not be sent", async () => {
    await answering();
    page.kernel.answers.set("ask", () => ({ ok: false, error: "an answer is in progress already" }));
    await page.type("precious words");
    await page.key("Enter");
    expect(page.input.value).toBe("precious words");
    expect(page.text("[role=alert]")).toContain("an answer is in progress already");
    await page.press("Dismiss");
    expect(page.root.querySelector("[role=alert]")).toBeNull();
  });

  it("keeps what was typed while it was being sent", async () => {
    await open(CHAT);
    await page.type("first");
    await page.key("Enter");
    await page.type("second");
    const { id } = page.kernel.heard("ask")[0] ?? { id: "" };
    await page.soon(() => page.kernel.say({ kind: "reply", of: id, ok: true, value: null }));
    expect(page.input.value).toBe("second");
  });

  it("walks through the history with the arrow keys, and back to what was being written", async () => {
    await answering({ records: [said("user", "first"), said("user", "second"), said("user", "second")] });
    await page.type("draft");
    page.input.setSelectionRange(2, 2);
    expect((await page.key("ArrowUp")).defaultPrevented).toBe(false); // to the beginning first
    page.input.setSelectionRange(0, 0);
    await page.key("ArrowUp");
    expect(page.input.value).toBe("second");
    await page.key("ArrowUp");
    expect(page.input.value).toBe("first");
    await page.key("ArrowUp");
    expect(page.input.value).toBe("first");
    await page.key("ArrowDown");
    await page.key("ArrowDown");
    expect(page.input.value).toBe("draft");
    expect((await page.key("ArrowDown")).defaultPrevented).toBe(false);
  });

  it("suppresses the notebook's shortcuts", async () => {
    await open();
    expect(page.find(".lmc-panel").dataset["lmSuppressShortcuts"]).toBe("true");
  });

  describe("commands", () => {
    it("are completed, chosen by keyboard, and sent as commands", async () => {
      await answering();
      await page.type("/");
      const options = page.all("[role=option]");
      expect(options.map((option) => option.querySelector(".lmc-option-label")?.textContent)).toEqual(
        TABLES.commands.map(({ name }) => `/${name}`),
      );
      const list = page.find("[role=listbox]");
      expect(page.input.getAttribute("aria-controls")).toBe(list.id);
      await page.type("/u");
      expect(page.input.getAttribute("aria-activedescendant")).toBe(page.find("[role=option]").id);
      await page.key("Tab");
      expect(page.input.value).toBe("/undo ");
      await page.key("Enter");
      expect(page.kernel.heard("command")).toMatchObject([{ line: "undo" }]);
      expect(page.text("[role=status]")).toContain("Done.");
      expect(page.input.value).toBe("");
    });

    it("are sent by one Enter where they are written out", async () => {
      await answering();
      await page.type("/tokens");
      expect(page.all("[role=option]")).toHaveLength(1);
      await page.key("Enter");
      expect(page.kernel.heard("command")).toMatchObject([{ line: "tokens" }]);
      await page.type("/token");
      await page.key("Enter");
      expect(page.input.value).toBe("/tokens ");
      expect(page.kernel.heard("command")).toHaveLength(1);
    });

    it("take words, and `/model` alone opens the picker", async () => {
      await answering();
      page.kernel.answers.set("models", () => ({ ok: true, value: OFFERS }));
      await page.type("/model openai/gpt-5-mini");
      await page.key("Enter");
      expect(page.kernel.heard("command")).toMatchObject([{ line: "model openai/gpt-5-mini" }]);
      await page.type("/model");
      await page.key("Escape");
      await page.key("Enter");
      expect(page.find("[role=dialog]").getAttribute("aria-label")).toBe(WORDS.models);
    });

    it("that do not exist are refused in words, and what looks like a path is a question", async () => {
      await answering();
      await page.type("/dance now");
      await page.key("Enter");
      expect(page.text("[role=alert]")).toContain("/dance");
      expect(page.input.value).toBe("/dance now");
      await page.type("/etc/hosts: what is it?");
      await page.key("Enter");
      expect(page.kernel.heard("ask")).toHaveLength(1);
      expect(page.kernel.heard("command")).toHaveLength(0);
    });

    it("`/stop` stops while the answer is being given", async () => {
      await answering();
      await page.events(busy("writing"));
      await page.type("/stop");
      await page.key("Escape");
      await page.key("Enter");
      expect(page.kernel.heard("stop").length).toBeGreaterThan(0);
    });
  });

  describe("variables", () => {
    const NAMES: Name[] = [
      { name: "df", type: "DataFrame", shape: "(150, 5)" },
      { name: "df_small", type: "DataFrame", shape: "(3, 2)" },
    ];

    const named = async (): Promise<void> => {
      await answering();
      page.kernel.answers.set("names", () => ({ ok: true, value: NAMES }));
      vi.useFakeTimers();
    };
    const later = () => page.soon(() => vi.advanceTimersByTimeAsync(100));

    it("are completed with type and shape, and chosen with the arrows", async () => {
      await named();
      await page.type("plot @d");
      await later();
      expect(page.kernel.heard("names")).toMatchObject([{ prefix: "d" }]);
      expect(page.text("[role=option]")).toBe("dfDataFrame (150, 5)");
      await page.key("ArrowDown");
      expect(page.all("[role=option]")[1]?.getAttribute("aria-selected")).toBe("true");
      await page.key("Enter");
      expect(page.input.value).toBe("plot @df_small ");
      expect(page.kernel.heard("ask")).toEqual([]);
      expect(page.root.querySelector("[role=listbox]")).toBeNull();
    });

    it("are asked for once for what is typed quickly, and late answers are not shown", async () => {
      await named();
      await page.type("@d");
      await page.type("@df");
      await later();
      expect(page.kernel.heard("names")).toMatchObject([{ prefix: "df" }]);
      page.kernel.answers.clear();
      await page.type("@x");
      await later();
      await page.type("no more");
      const last = page.kernel.heard("names").at(-1);
      await page.soon(() => page.kernel.say({ kind: "reply", of: last?.id ?? "", ok: true, value: NAMES }));
      expect(page.root.querySelector("[role=listbox]")).toBeNull();
    });

    it("an address of mail is none, and a kernel that cannot tell is no trouble", async () => {
      await named();
      await page.type("write to me@example");
      await later();
      expect(page.kernel.heard("names")).toEqual([]);
      page.kernel.answers.set("names", () => ({ ok: false, error: "busy" }));
      await page.type("@d");
      await later();
      expect(page.root.querySelector("[role=listbox], [role=alert]")).toBeNull();
    });

    it("Escape closes the list and stops nothing", async () => {
      await named();
      await page.events(busy("writing"));
      await page.type("@d");
      await later();
      await page.key("Escape");
      expect(page.root.querySelector("[role=listbox]")).toBeNull();
      expect(page.kernel.heard("stop")).toEqual([]);
    });
  });

  describe("attachments", () => {
    const file = (name: string, bytes: number, type = "text/plain") => {
      const made = new File(["x".repeat(Math.min(bytes, 100))], name, { type });
      Object.defineProperty(made, "size", { value: bytes });
      return made;
    };
    const drop = async (...files: File[]): Promise<void> => {
      const event = new globalThis.Event("drop", { bubbles: true, cancelable: true });
      Object.defineProperty(event, "dataTransfer", { value: { types: ["Files"], files } });
      await page.soon(() => page.find(".lmc-panel").dispatchEvent(event));
      await until(async () => {
        await page.soon();
        expect(page.all(".lmc-chip").length + page.all("[role=alert]").length).toBeGreaterThan(0);
      });
    };
    const paste = async (...files: File[]): Promise<globalThis.Event> => {
      const event = new globalThis.Event("paste", { bubbles: true, cancelable: true });
      Object.defineProperty(event, "clipboardData", { value: { files } });
      await page.soon(() => page.input.dispatchEvent(event));
      return event;
    };

    it("are dropped, shown, taken away again, and sent", async () => {
      await answering();
      await drop(file("a.txt", 3), file("b.png", 5, "image/png"));
      expect(page.all(".lmc-chip").map((chip) => chip.querySelector(".lmc-chip-name")?.textContent)).toEqual([
        "a.txt",
        "b.png",
      ]);
      expect(page.find<HTMLImageElement>(".lmc-chip img").src).toContain("data:image/png;base64,");
      await page.press("Remove a.txt");
      await page.key("Enter");
      expect(page.kernel.heard("ask")).toMatchObject([
        { text: "", attachments: [{ name: "b.png", mime: "image/png", data: btoa("xxxxx") }] },
      ]);
      expect(page.all(".lmc-chip")).toHaveLength(0);
    });

    it("are said not to be seen where that is not known of the model, and are sent anyway", async () => {
      await answering();
      let vision = "unknown";
      page.kernel.answers.set("vision", () => ({ ok: true, value: vision }));
      page.kernel.answers.set("command", () => {
        vision = "yes";
        return { ok: true, value: "vision = True" };
      });
      await drop(file("a.txt", 3));
      expect(page.kernel.heard("vision")).toEqual([]);
      await drop(file("b.png", 5, "image/png"));
      await until(async () => {
        await page.soon();
        expect(page.text("[role=note]")).toContain("Local model is not known to see images.");
      });
      await page.press("Send the image anyway");
      await page.soon();
      expect(page.kernel.heard("command")).toMatchObject([{ line: "config vision yes" }]);
      await until(async () => {
        await page.soon();
        expect(page.all("[role=note]")).toHaveLength(0);
      });
    });

    it("are pasted; text is pasted as ever", async () => {
      await answering();
      expect((await paste()).defaultPrevented).toBe(false);
      expect((await paste(file("c.png", 4, "image/png"))).defaultPrevented).toBe(true);
      await until(async () => {
        await page.soon();
        expect(page.all(".lmc-chip")).toHaveLength(1);
      });
    });

    it("over the limits are refused, each with a sentence, and the rest is kept", async () => {
      await answering();
      await drop(file("huge.bin", 9_000_000), file("empty.txt", 0), file("half.bin", 4_000_000), file("more.bin", 4_000_000));
      const alert = page.text("[role=alert]");
      expect(alert).toContain("“huge.bin” is 9.0 MB");
      expect(alert).toContain("“empty.txt” is empty");
      expect(alert).toContain("With “more.bin” the attachments are 8.0 MB");
      expect(page.all(".lmc-chip")).toHaveLength(1);
    });

    it("are five at most", async () => {
      await answering();
      await drop(...Array.from({ length: 6 }, (_, n) => file(`${n}.txt`, 2)));
      expect(page.all(".lmc-chip")).toHaveLength(5);
      expect(page.text("[role=alert]")).toContain("“5.txt” was not attached");
    });

    it("that cannot be read are refused with a sentence", async () => {
      await answering();
      vi.stubGlobal(
        "FileReader",
        class {
          onerror: (() => void) | null = null;
          error = new DOMException("gone", "NotFoundError");
          readAsDataURL(): void {
            queueMicrotask(() => this.onerror?.());
          }
        },
      );
      await drop(file("gone.txt", 3), file("folder", 0));
      expect(page.text("[role=alert]")).toContain("“gone.txt” could not be read");
      expect(page.text("[role=alert]")).toContain("“folder” could not be read");
    });

    it("stay when they could not be sent", async () => {
      await answering();
      page.kernel.answers.set("ask", () => ({ ok: false, error: "no" }));
      await drop(file("a.txt", 3));
      await page.key("Enter");
      expect(page.all(".lmc-chip")).toHaveLength(1);
    });
  });
});

describe("the model picker", () => {
  it("names the model in the composer in short, and in full in its hint", async () => {
    page = new Page({ settings: { ...SETTINGS, label: "Qwen2.5-Coder 0.5B, a small local model" } });
    await page.soon();
    const button = page.find(".lmc-composer .lmc-model");
    expect(button.textContent).toBe("Qwen2.5-Coder 0.5B");
    expect(button.title).toContain("a small local model");
  });

  const picking = async () => {
    await open(CHAT);
    page.kernel.answers.set("models", () => ({ ok: true, value: OFFERS }));
    page.kernel.answers.set("choose", (message) =>
      "model" in message && message.model === "bad"
        ? { ok: false, error: "there is no model 'bad'" }
        : { ok: true, value: "Model: q." },
    );
    await page.press("Model: Local model");
  };

  it("lists what is usable now, with the reason, and the one in use chosen", async () => {
    await picking();
    expect(page.all("[role=option]").map((option) => option.textContent)).toEqual([
      "Local modelon this machine, no key",
      "q (Ollama)Ollama runs here",
    ]);
    expect(page.all("[role=option]")[0]?.getAttribute("aria-selected")).toBe("true");
    expect(document.activeElement).toBe(page.find("[role=listbox]"));
  });

  it("chooses by keyboard, and the focus goes back", async () => {
    await picking();
    const list = page.find("[role=listbox]");
    await page.key("ArrowDown", {}, list);
    await page.key("Enter", {}, list);
    expect(page.kernel.heard("choose")).toMatchObject([{ model: "ollama_chat/q", api_base: "http://127.0.0.1:1" }]);
    expect(page.root.querySelector("[role=dialog]")).toBeNull();
    expect(document.activeElement).toBe(page.button("Model: Local model"));
    expect(page.text("[role=status]")).toContain("Model: q.");
  });

  it("chooses for all notebooks where that is said, and only then", async () => {
    await picking();
    await page.soon(() => page.find(".lmc-for-all input").click());
    const list = page.find("[role=listbox]");
    await page.key("ArrowDown", {}, list);
    await page.key("Enter", {}, list);
    await page.press("Model: Local model");
    expect((page.find(".lmc-for-all input") as HTMLInputElement).checked).toBe(false);
    await page.key("Enter", {}, page.find("[role=listbox]"));
    expect(page.kernel.heard("choose").map((one) => "keep" in one && one.keep)).toEqual([true, false]);
  });

  it("takes any other name, shows what is wrong beside it, and keeps it", async () => {
    await picking();
    await page.press("Another model…");
    const [name, base] = page.all(".lmc-other input") as HTMLInputElement[];
    if (!name || !base) throw new Error("no fields");
    await page.type("bad", name);
    await page.press("Use this model");
    expect(page.text(".lmc-choice [role=alert]")).toContain("there is no model 'bad'");
    expect(name.value).toBe("bad");
    await page.type("openai/x", name);
    await page.type("http://127.0.0.1:9/v1", base);
    await page.press("Use this model");
    expect(page.kernel.heard("choose").at(-1)).toMatchObject({ model: "openai/x", api_base: "http://127.0.0.1:9/v1" });
    expect(page.root.querySelector("[role=dialog]")).toBeNull();
  });

  it("closes with Escape, and says when the models cannot be listed", async () => {
    await picking();
    await page.key("Escape", {}, page.find("[role=listbox]"));
    expect(page.root.querySelector("[role=dialog]")).toBeNull();
    page.kernel.answers.set("models", () => ({ ok: false, error: "the list is broken" }));
    await page.press("Model: Local model");
    expect(page.text(".lmc-choice [role=alert]")).toContain("the list is broken");
  });
});

describe("the first-run screen", () => {
  const first = async (offers: Offer[], label = "Local model") => {
    page = new Page({ settings: { ...SETTINGS, label, chosen: false } }, undefined, ({ answers }) => {
      answers.set("models", () => ({ ok: true, value: offers }));
      answers.set("choose", () => ({ ok: true, value: "Model: q." }));
      answers.set("ask", () => ({ ok: true, value: null }));
    });
    await page.soon();
    await page.soon();
  };

  it("says what this is, who answers, what else could, and has something to press", async () => {
    await first(OFFERS);
    const text = page.text(".lmc-welcome");
    expect(text).toContain(WORDS.welcomeText);
    expect(text).toContain("Local model");
    expect(text).toContain("on this machine, no key");
    expect(text).toContain("q (Ollama)");
    for (const example of EXAMPLES) expect(text).toContain(example);
  });

  it("asks an example when it is pressed", async () => {
    await first(OFFERS);
    await page.press(EXAMPLES[1] ?? "");
    expect(page.kernel.heard("ask")).toMatchObject([{ text: EXAMPLES[1] }]);
    expect(page.input.value).toBe("");
  });

  it("keeps the example in the composer when it could not be asked", async () => {
    await first(OFFERS);
    page.kernel.answers.set("ask", () => ({ ok: false, error: "no model" }));
    await page.press(EXAMPLES[0] ?? "");
    expect(page.input.value).toBe(EXAMPLES[0]);
    expect(page.text("[role=alert]")).toContain("no model");
  });

  it("chooses another model by one press", async () => {
    await first(OFFERS);
    await page.soon(() => page.find(".lmc-offer").click());
    expect(page.kernel.heard("choose")).toMatchObject([{ model: "ollama_chat/q", api_base: "http://127.0.0.1:1" }]);
  });

  it("says exactly what to do when nothing is usable, and looks again", async () => {
    await first([], "");
    for (const way of WORDS.nothingUsableHow) expect(page.text(".lmc-nothing")).toContain(way);
    expect(page.root.querySelector(".lmc-example")).toBeNull();
    page.kernel.answers.set("models", () => ({ ok: true, value: OFFERS }));
    await page.press("Look again");
    expect(page.all(".lmc-offer")).toHaveLength(2);
    expect(page.text(".lmc-welcome")).toContain(WORDS.chooseOne);
  });

  it("is gone with the first record", async () => {
    await first(OFFERS);
    await page.events({ appended: said("user", "hi") });
    expect(page.root.querySelector(".lmc-welcome")).toBeNull();
    expect(page.text("[role=log]")).toContain("hi");
  });
});

describe("under a message", () => {
  let written: string[];

  beforeEach(() => {
    written = [];
    vi.stubGlobal("navigator", {
      ...navigator,
      clipboard: {
        writeText: (text: string) => {
          written.push(text);
          return Promise.resolve();
        },
      },
    });
  });

  it("a message is copied as it was written", async () => {
    await open(CHAT);
    await page.soon(() => page.buttons("Copy")[1]?.click());
    expect(written).toEqual(["It is **42**."]);
    expect(page.text(".lmc-offscreen[role=status]")).toBe("Copied");
  });

  it("says when copying is not allowed", async () => {
    await open(CHAT);
    vi.stubGlobal("navigator", { clipboard: { writeText: () => Promise.reject(new Error("no")) } });
    await page.press("Copy");
    expect(page.text("[role=alert]")).toContain(WORDS.copyFailed);
  });

  it("code is inserted as a cell where somebody takes it, else copied", async () => {
    await open({ records: [said("user", "go"), code("x = 1", { fate: "edited" })], turns: [turn("t", 0, { model: "a model" })] });
    await page.press("Insert as a new cell below");
    expect(written).toEqual(["x = 1"]);
    expect(page.text("[role=status]")).toContain(WORDS.insertCopied);
    const taken: unknown[] = [];
    const take = (event: globalThis.Event) => {
      event.preventDefault();
      taken.push((event as CustomEvent).detail);
    };
    document.addEventListener("lmc:insert-cell", take);
    await page.press("Insert as a new cell below");
    document.removeEventListener("lmc:insert-cell", take);
    const origin = { model: "a model", turn: "t", decision: "edited", edited: true };
    expect(taken).toEqual([{ code: "x = 1", language: "python", origin, run: false }]);
    expect(written).toHaveLength(1);
    expect(page.text("[role=status]")).toContain(WORDS.inserted);
  });

  it("code that words only show can be run or inserted as a cell, by a person's hand, once it stood still", async () => {
    const fenced = ["Compare:", "```python", "x = 1", "```", "- then", "  ```sh", "  ls", "  ```", "```", "out", "```"];
    await open({ records: [{ message: { role: "assistant", type: "message", content: fenced.join("\n") }, partial: false }] });
    const taken: unknown[] = [];
    const take = (event: globalThis.Event) => {
      event.preventDefault();
      taken.push((event as CustomEvent).detail);
    };
    document.addEventListener("lmc:insert-cell", take);
    expect(page.buttons("Run").map(({ disabled }) => disabled)).toEqual([true, true]); // what says no language has none
    await page.press("Run");
    const buttons = () => [...page.buttons("Run"), ...page.buttons("Insert")];
    await page.soon(() => vi.waitFor(() => expect(buttons().every(({ disabled }) => !disabled)).toBe(true)));
    hand.trusted = false;
    await page.press("Run");
    expect(taken).toEqual([]);
    hand.trusted = true;
    await page.press("Run");
    await page.soon(() => page.buttons("Insert")[1]?.click());
    document.removeEventListener("lmc:insert-cell", take);
    const origin = { model: "", turn: "", decision: "shown", edited: false };
    expect(taken).toEqual([
      { code: "x = 1", language: "python", origin, run: true },
      { code: "ls", language: "sh", origin, run: false },
    ]);
  });

  it("code that words only show has no Run where not all of it is drawn as it is, nor where it is long", async () => {
    const block = (code: string) => `\`\`\`python\n${code}\n\`\`\``;
    const words = (content: string, partial = false) => ({ message: { role: "assistant", type: "message", content }, partial });
    const long = Array.from({ length: 61 }, (_, line) => `x${line} = 1`).join("\n");
    await open({ records: [words(block("x = '\u202e'")), words("```python\nx = 1", true), words(block(long))] as never });
    expect(page.buttons("Run")).toEqual([]);
    expect(page.buttons("Insert")).toHaveLength(1);
  });

  it("a question is edited in its place, and stays when that fails", async () => {
    await open(CHAT);
    await page.press("Edit the question");
    const area = page.find<HTMLTextAreaElement>(".lmc-edit-area");
    expect(area.value).toBe("What is 6 × 7?");
    expect(document.activeElement).toBe(area);
    area.value = "What is 7 × 8?";
    page.kernel.answers.set("edit", () => ({ ok: false, error: "not now" }));
    await page.press("Ask this instead");
    expect(page.text("[role=alert]")).toContain("not now");
    expect(area.value).toBe("What is 7 × 8?");
    page.kernel.answers.set("edit", () => ({ ok: true, value: null }));
    await page.press("Ask this instead");
    expect(page.kernel.heard("edit").at(-1)).toMatchObject({ turn: "t1", text: "What is 7 × 8?" });
    expect(page.root.querySelector(".lmc-edit-area")).toBeNull();
  });

  it("Escape leaves the editor, and the question is as it was", async () => {
    await open(CHAT);
    await page.press("Edit the question");
    await page.key("Escape", {}, page.find(".lmc-edit-area"));
    expect(page.root.querySelector(".lmc-edit-area")).toBeNull();
    expect(page.text("[data-role=user]")).toContain("What is 6 × 7?");
  });
});

describe("the end of a turn", () => {
  it("says what it took, and only the last one can be asked again or taken back", async () => {
    await open({
      records: [said("user", "a"), said("assistant", "b"), said("user", "c"), said("assistant", "d")],
      turns: [
        turn("t1", 0, { cached_tokens: 1_000 }),
        turn("t2", 2, { cost: null, prompt_tokens: 5, completion_tokens: 6, estimate: 1_189 }),
      ],
    });
    const footers = page.all(".lmc-turn");
    expect(footers.map((footer) => footer.querySelector(".lmc-turn-facts")?.textContent)).toEqual([
      "1.2k tokens (counted, 1.0k cached) · $0.0012 · 3.2 s",
      "about 1.2k tokens (estimated) · 3.2 s",
    ]);
    expect(footers[0]?.previousElementSibling?.textContent).toContain("b");
    expect(page.buttons("Ask again")).toHaveLength(1);
    await page.press("Ask again");
    expect(page.kernel.heard("retry")).toMatchObject([{ turn: "t2" }]);
    await page.press("Remove this question and its answer");
    expect(page.kernel.heard("command")).toMatchObject([{ line: "undo" }]);
  });

  it("stands below its answer, and above a notice that came after it", async () => {
    const notice = { note: "Model changed from a to b.", level: "info" } as const;
    const error = { note: "no network", level: "error" } as const;
    await open({
      records: [said("user", "a"), said("assistant", "b"), notice, said("user", "c"), error, notice],
      turns: [turn("t1", 0), turn("t2", 3)],
    });
    const order = page.all(".lmc-record, .lmc-turn").map((one) => one.dataset["level"] ?? one.dataset["role"] ?? "turn");
    expect(order).toEqual(["user", "assistant", "turn", "info", "user", "error", "turn", "info"]);
  });

  it("stands above a note to the model that came after the answer, and below one of its code", async () => {
    const toModel: WireRecord = {
      message: { role: "computer", type: "console", format: "output", content: "It was restarted.", recipient: "assistant" },
    };
    await open({
      records: [said("user", "a"), said("assistant", "b"), toModel, said("user", "c"), toModel],
      turns: [turn("t1", 0), turn("t2", 3)],
    });
    const order = page.all(".lmc-record, .lmc-turn").map((one) => one.dataset["role"] ?? "turn");
    expect(order).toEqual(["user", "assistant", "turn", "computer", "user", "computer", "turn"]);
  });

  it("is not shown before the turn is over, and follows its last record", async () => {
    await open({ records: [said("user", "a")], turns: [turn("t1", 0, { over: false, requests: 0 })] });
    expect(page.find(".lmc-turn").hidden).toBe(true);
    await page.events({ appended: said("assistant", "b") }, { began: turn("t1", 0) });
    expect(page.find(".lmc-turn").hidden).toBe(false);
    expect(page.find(".lmc-page").lastElementChild).toBe(page.find(".lmc-turn"));
  });

  it("shows what was sent, exactly, and the focus goes back", async () => {
    await open(CHAT);
    const MESSAGES = ["system", "user", "assistant", "user"].map((role, at) => ({
      role,
      text: `<script>alert(${at})</script>\nsecond line`,
    }));
    const body = '{\n  "messages": ["<script>alert(1)</script>"]\n}';
    const sent: Request[] = [
      { model: "openai/x", body, messages: MESSAGES, seconds: 1.5, prompt_tokens: 10, completion_tokens: 2, cached_tokens: null, estimate: null, cost: null },
    ];
    page.kernel.answers.set("sent", () => ({ ok: true, value: sent }));
    page.button("What was sent").focus();
    await page.press("What was sent");
    expect(page.kernel.heard("sent")).toMatchObject([{ turn: "t1" }]);
    const dialog = page.find("[role=dialog]");
    const rows = [...dialog.querySelectorAll("details")];
    expect(rows.map((row) => [row.querySelector("b")?.textContent, row.open])).toEqual([
      ["system", false], ["user", false], ["assistant", false], ["user", true],
    ]);
    expect(rows.at(-1)?.querySelector("pre")?.textContent).toBe(MESSAGES.at(-1)?.text);
    await page.press(WORDS.sentRaw);
    expect(dialog.querySelector("pre")?.textContent).toBe(body);
    expect(dialog.querySelector("details")).toBeNull();
    expect(dialog.querySelector("script")).toBeNull();
    expect(dialog.textContent).toContain("openai/x · 12 tokens (counted) · 1.5 s");
    expect(document.activeElement).toBe(page.button("Close"));
    await page.key("Escape", {}, page.button("Close"));
    expect(page.root.querySelector("[role=dialog]")).toBeNull();
    expect(document.activeElement).toBe(page.button("What was sent"));
  });

  it("says when it cannot be shown", async () => {
    await open(CHAT);
    page.kernel.answers.set("sent", () => ({ ok: false, error: "this turn is gone" }));
    await page.press("What was sent");
    expect(page.text("[role=dialog] [role=alert]")).toContain("this turn is gone");
  });
});

describe("structure for everybody", () => {
  const check = async (): Promise<void> => {
    const { violations } = await axe.run(page.host, {
      rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
    });
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
    expect(found).toEqual([]);
  };

  it("has no fault: a conversation", async () => {
    await open({
      records: [
        ...CHAT.records,
        code("x = 1", { fate: "ran", seconds: 1 }),
        { message: { role: "computer", type: "console", format: "output", content: "out" } },
        { note: "a note", level: "error" },
      ],
      turns: CHAT.turns,
      settings: { ...SETTINGS, auto_run: true },
    });
    await check();
  });

  it("has no fault: a question, the composer's list, the menu", async () => {
    await open({ ...CHAT, ask: { ...ASK, warning: "careful" }, state: { ...IDLE, state: "waiting" } });
    await page.type("/");
    await check();
    await page.key("Escape");
    await page.press("More actions");
    await check();
  });

  it("has no fault: the first-run screen, the picker", async () => {
    page = new Page({ settings: { ...SETTINGS, chosen: false } }, undefined, ({ answers }) => {
      answers.set("models", () => ({ ok: true, value: OFFERS }));
    });
    await page.soon();
    await check();
    await page.soon(() => page.find(".lmc-composer .lmc-model").click());
    await check();
    await page.press("Another model…");
    await check();
  });

  it("says of a request that was written anew why, before its messages", async () => {
    await open(CHAT);
    const messages = [
      { role: "written anew", text: "another model answers" },
      { role: "user", text: "a" },
    ];
    const request = { model: "m", body: "{}", messages, seconds: 1, prompt_tokens: 1, completion_tokens: 1, cached_tokens: null, estimate: null, cost: 1 };
    page.kernel.answers.set("sent", () => ({ ok: true, value: [request] }));
    await page.press("What was sent");
    await page.soon();
    const rows = page.all(".lmc-request-list summary").map((one) => one.textContent ?? "");
    expect(rows).toHaveLength(2);
    expect(rows[0]).toContain("written anew another model answers");
  });

  it("has no fault: what was sent", async () => {
    await open(CHAT);
    page.kernel.answers.set("sent", () => ({
      ok: true,
      value: [{ model: "m", body: "{}", messages: [{ role: "user", text: "a\nb" }], seconds: 1, prompt_tokens: 1, completion_tokens: 1, cached_tokens: null, estimate: null, cost: 1 }],
    }));
    await page.press("What was sent");
    await check();
  });
});
