import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { Piece, Question } from "../src/protocol";
import { mountAsk, mountBar } from "../src/panel/cell";
import { QuestionCard, type Decision } from "../src/panel/question";
import { WORDS } from "../src/words";
import { FakeKernel, settle } from "./panel-kernel";
import { LONG as EVERYTHING, numbers, SEED } from "./sampling";

const CODE = "x = 1\nprint(x)";
const ask = (changes: Partial<Question> = {}): Question => ({
  proposal: "p1",
  digest: "d1",
  at: 0,
  language: "python",
  lines: CODE.split("\n").map((line) => [["", line]]),
  code: CODE,
  warning: "",
  ...changes,
});

const LONG = ask({
  code: "x = 1\n".repeat(100),
  lines: Array.from({ length: 100 }, () => [["", "x = 1"]]),
});

const CODES = EVERYTHING ? 1_000 : 100;
const LASTING = { timeout: 600_000 };

let root: HTMLElement;
let decisions: Decision[];
let heard: boolean;
let trusted: boolean;
let looked: string[];
let tell: (pieces: Piece[]) => void;
let fail: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  root = document.createElement("div");
  document.body.append(root);
  decisions = [];
  heard = true;
  trusted = true;
  looked = [];
});

afterEach(() => {
  render(null, root);
  root.remove();
  vi.useRealTimers();
});

async function draw(question = ask(), onlyChanges?: () => void): Promise<void> {
  await act(() => {
    render(
      <QuestionCard
        key={question.proposal}
        question={question}
        trusted={() => trusted}
        onlyChanges={onlyChanges}
        decide={(decision) => {
          decisions.push(decision);
          return Promise.resolve(heard);
        }}
        effects={(code) => {
          looked.push(code);
          return new Promise((resolve, reject) => {
            [tell, fail] = [resolve, () => reject(new Error("no"))];
          });
        }}
      />,
      root,
    );
  });
}

async function pass(milliseconds: number): Promise<void> {
  await act(async () => {
    await vi.advanceTimersByTimeAsync(milliseconds);
  });
}

function button(name: string): HTMLButtonElement {
  const found = [...root.querySelectorAll("button")].find((one) => one.textContent === name);
  if (!found) throw new Error(`there is no button ${name}`);
  return found;
}

async function press(name: string): Promise<void> {
  await act(async () => {
    button(name).click();
    await settle();
  });
}

async function type(selector: string, text: string): Promise<void> {
  await act(() => {
    const field = root.querySelector<HTMLInputElement | HTMLTextAreaElement>(selector);
    if (!field) throw new Error(selector);
    field.value = text;
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  });
}

describe("the question", () => {
  it("has the person asked only for changes, by a press of their own that decides nothing", async () => {
    let presses = 0;
    await draw(ask(), () => (presses += 1));
    await press(WORDS.onlyChanges);
    expect(presses).toBe(0); // it has not stood still long enough to be read
    await pass(700);
    trusted = false;
    await press(WORDS.onlyChanges);
    expect(presses).toBe(0);
    trusted = true;
    await press(WORDS.onlyChanges);
    expect(presses).toBe(1);
    expect(decisions).toEqual([]);
  });

  it("shows the code as text, its language, its lines and its warning", async () => {
    const evil = "<img src=x onerror=alert(1)>";
    await draw(ask({ language: "python + shell", warning: `Hidden: ${evil}`, lines: [[["k", evil]]] }));
    expect(root.querySelector("img")).toBeNull();
    expect(root.textContent).toContain(evil);
    expect(root.querySelector("[role=group]")?.getAttribute("aria-label")).toBe("Run this python + shell code?");
    expect(root.textContent).toContain("1 line");
    expect(root.textContent).toContain("Hidden:");
  });

  it("says what the code will do, as text, and describes the question by it", async () => {
    const evil = "<img src=x onerror=alert(1)>";
    const effects = [
      { warns: true, parts: [["", "overwrites your "], ["name", "df"]] as [string, string][] },
      { warns: false, parts: [["", "writes "], ["name", evil]] as [string, string][] },
    ];
    await draw(ask({ effects }));
    const line = root.querySelector(".lmc-card-effects");
    expect(line?.textContent).toBe(`overwrites your df · writes ${evil}`);
    expect(line?.querySelector("strong")?.textContent).toBe("overwrites your df");
    expect([...root.querySelectorAll(".lmc-card-effects code")].map((one) => one.textContent)).toEqual(["df", evil]);
    expect(root.querySelector("img")).toBeNull();
    expect(root.querySelector("[role=group]")?.getAttribute("aria-describedby")).toBe(line?.id);
  });

  it("says nothing where nothing is known", async () => {
    await draw();
    expect(root.querySelector(".lmc-card-effects")).toBeNull();
    expect(root.querySelector("[role=group]")?.hasAttribute("aria-describedby")).toBe(false);
  });

  it("says what an edit will do, and until it is known that it is not", async () => {
    const makes = (name: string): Piece[] => [{ warns: false, parts: [["", "makes "], ["name", name]] }];
    const said = () => root.querySelector(".lmc-card-effects")?.textContent;
    await draw(ask({ effects: makes("x") }));
    await pass(700);
    await press("Edit");
    expect(said()).toBe("makes x"); // it is the same text yet
    await type("textarea", "y = 1\n");
    expect(said()).toBe(WORDS.effectsLater);
    expect(root.querySelector(".lmc-card-head")?.textContent).toContain("1 line");
    await type("textarea", "y = 1\nz = 2");
    expect(root.querySelector(".lmc-card-head")?.textContent).toContain("2 lines");
    await pass(700);
    expect(looked).toEqual(["y = 1\nz = 2"]);
    const tellOld = tell;
    await type("textarea", "w = 2");
    await pass(700);
    await act(async () => {
      tellOld(makes("y"));
      await settle();
    });
    expect(said()).toBe(WORDS.effectsLater); // what came is of another text
    await act(async () => {
      tell(makes("w"));
      await settle();
    });
    expect(said()).toBe("makes w");
    await type("textarea", CODE);
    expect(said()).toBe("makes x");
    await type("textarea", "v = 2");
    await pass(700);
    await act(async () => {
      fail();
      await settle();
    });
    expect(said()).toBe(WORDS.effectsUnknown);
    await press("Undo edit");
    expect(said()).toBe("makes x");
  });

  it("runs what is edited by Ctrl+Enter and Shift+Enter, while it moves too", async () => {
    for (const more of [{ ctrlKey: true }, { shiftKey: true }, {}]) {
      decisions = [];
      await draw(ask({ proposal: JSON.stringify(more) }));
      await pass(700);
      await press("Edit");
      await type("textarea", "x = 2");
      vi.spyOn(root.querySelector(".lmc-card") as HTMLElement, "getBoundingClientRect").mockReturnValue(
        new DOMRect(0, 50, 100, 100),
      );
      const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...more });
      trusted = false;
      await act(() => void root.querySelector("textarea")?.dispatchEvent(enter));
      expect(decisions).toEqual([]);
      trusted = true;
      await act(() => void root.querySelector("textarea")?.dispatchEvent(enter));
      const isKey = "ctrlKey" in more || "shiftKey" in more;
      expect(decisions).toEqual(isKey ? [{ decision: "run", code: "x = 2" }] : []);
    }
  });

  it("answers with the decision alone, and never with the code", async () => {
    await draw();
    await pass(700);
    await press("Run");
    expect(decisions).toEqual([{ decision: "run" }]);
  });

  it("counts no line after the last line break", async () => {
    await draw(ask({ lines: [[["", "a"]], [["", "b"]], []], code: "a\nb\n" }));
    expect(root.textContent).toContain("2 lines");
    expect(root.querySelectorAll(".lmc-card-code .lmc-line")).toHaveLength(2);
  });

  it("is declined with the reason by Enter in its field", async () => {
    await draw();
    await pass(700);
    const field = root.querySelector<HTMLInputElement>(".lmc-reason");
    const enter = () => {
      field?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    };
    await act(enter); // without a reason it may be a slip
    expect(decisions).toEqual([]);
    await type(".lmc-reason", " too slow ");
    await act(enter);
    expect(decisions).toEqual([{ decision: "decline", reason: "too slow" }]);
  });

  it("is edited in colours, and Tab indents until Escape was pressed", async () => {
    await draw(ask({ lines: [[["n", "x"], ["", " = 1"]], [["b", "print"], ["", "(x)"]]] }));
    await pass(700);
    await press("Edit");
    const area = root.querySelector<HTMLTextAreaElement>("textarea.lmc-card-editor");
    const copy = root.querySelector<HTMLElement>(".lmc-card-copy");
    if (!area || !copy) throw new Error("no editor");
    expect(copy.querySelector(".b")?.textContent).toBe("print");
    const key = (name: string, more: KeyboardEventInit = {}) => {
      const event = new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more });
      area.dispatchEvent(event);
      return event.defaultPrevented;
    };
    area.setSelectionRange(0, area.value.length);
    expect(key("Tab")).toBe(true);
    expect(area.value).toBe("    x = 1\n    print(x)");
    expect(copy.textContent).toBe("    x = 1\n    print(x)\n");
    expect(key("Tab", { shiftKey: true })).toBe(true);
    expect(area.value).toBe(CODE);
    key("Escape");
    expect(key("Tab")).toBe(false);
  });

  it("takes no press for 600 ms, and says when it does", async () => {
    await draw();
    const card = root.querySelector<HTMLElement>("[data-proposal=p1]");
    for (const name of ["Run", "Edit", "Don't run", "Run everything in this answer"]) {
      expect(button(name).disabled).toBe(true);
    }
    await pass(500);
    await press("Run");
    expect(card?.dataset["ready"]).toBeUndefined();
    expect(decisions).toEqual([]);
    await pass(200);
    expect(card?.dataset["ready"]).toBe("1");
    expect(button("Run").disabled).toBe(false);
  });

  it("takes no press for 600 ms after it was moved, except by the reader's own scrolling", async () => {
    await draw();
    await pass(700);
    const card = root.querySelector<HTMLElement>("[data-proposal]");
    if (!card) throw new Error("no card");
    let top = 0;
    vi.spyOn(card, "getBoundingClientRect").mockImplementation(() => new DOMRect(0, top, 100, 100));
    await pass(700);
    expect(button("Run").disabled).toBe(false);
    top = 50;
    await pass(100);
    expect(button("Run").disabled).toBe(true);
    await pass(700);
    expect(button("Run").disabled).toBe(false);
    top = 0;
    window.dispatchEvent(new Event("scroll"));
    await pass(100);
    expect(button("Run").disabled).toBe(false);
  });

  it("takes no press in the moment in which it was moved", async () => {
    await draw();
    await pass(700);
    const card = root.querySelector<HTMLElement>("[data-proposal]");
    if (!card) throw new Error("no card");
    vi.spyOn(card, "getBoundingClientRect").mockImplementation(() => new DOMRect(0, 50, 100, 100));
    expect(button("Run").disabled).toBe(false); // it has not looked yet
    await press("Run");
    expect(decisions).toEqual([]);
    await pass(800);
    await press("Run");
    expect(decisions).toEqual([{ decision: "run" }]);
  });

  it("takes no press within 600 ms of coming back to the page", async () => {
    await draw();
    const away = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    await pass(5_000);
    away.mockReturnValue(false);
    await pass(300);
    expect(button("Run").disabled).toBe(true);
    await pass(400);
    expect(button("Run").disabled).toBe(false);
    away.mockRestore();
  });

  it("takes no press that a script made", async () => {
    await draw();
    await pass(700);
    trusted = false;
    for (const name of ["Run", "Edit", "Don't run", "Run everything in this answer"]) await press(name);
    expect(decisions).toEqual([]);
    expect(root.querySelector("textarea")).toBeNull();
  });

  it("control: without that look, the press of a script runs it", async () => {
    await draw();
    await pass(700);
    await press("Run");
    expect(decisions).toEqual([{ decision: "run" }]);
  });

  it("refuses real synthetic clicks by default", async () => {
    const kernel = new FakeKernel();
    let unmount = () => {};
    await act(() => {
      unmount = mountAsk(root, kernel.wire);
    });
    await act(() => kernel.say({ kind: "ask", ...ask() }));
    await pass(700);
    await press("Run");
    await press("Don't run");
    expect(kernel.heard("decision")).toEqual([]);
    unmount();
  });

  it("runs an edit, as edited", async () => {
    await draw();
    await pass(700);
    await press("Edit");
    const area = root.querySelector("textarea");
    expect(area?.value).toBe(CODE);
    expect(document.activeElement).toBe(area);
    expect(area?.getAttribute("aria-label")).toBe("The code, to edit");
    await type("textarea", "x = 2");
    await pass(700);
    await press("Run edited");
    expect(decisions).toEqual([{ decision: "run", code: "x = 2" }]);
  });

  it("takes an edit back", async () => {
    await draw();
    await pass(700);
    await press("Edit");
    await type("textarea", "x = 2");
    await pass(700);
    await press("Undo edit");
    expect(root.querySelector("textarea")).toBeNull();
    expect(root.querySelector(".lmc-card-code")?.textContent).toContain("print(x)");
    await pass(700);
    await press("Run");
    expect(decisions).toEqual([{ decision: "run" }]);
  });

  it("edits nothing that the editor cannot show", async () => {
    await draw(ask({ code: "x = 1 # \u202e\u2066 ok\rimport os\ny =\u00a02 # 👩‍💻", warning: "Hidden characters" }));
    await pass(700);
    await press("Edit");
    expect(root.querySelector("textarea")?.value).toBe("x = 1 #  okimport os\ny = 2 # 👩‍💻");
    expect(root.textContent).toContain("4 hidden characters were removed here");
    await pass(700);
    await press("Run edited");
    expect(decisions).toEqual([{ decision: "run", code: "x = 1 #  okimport os\ny = 2 # 👩‍💻" }]);
  });

  it("declines with a reason", async () => {
    await draw();
    await pass(700);
    await type("input[type=text]", "  not today ");
    await press("Don't run");
    expect(decisions).toEqual([{ decision: "decline", reason: "not today" }]);
  });

  it("runs all in this turn", async () => {
    await draw();
    await pass(700);
    await press("Run everything in this answer");
    expect(decisions).toEqual([{ decision: "all" }]);
  });

  it("decides once", async () => {
    await draw();
    await pass(700);
    await press("Run");
    await press("Run");
    await press("Don't run");
    expect(decisions).toHaveLength(1);
  });

  it("says that the kernel did not answer, and can be pressed again", async () => {
    heard = false;
    await draw();
    await pass(700);
    await press("Run");
    expect(root.textContent).toContain(WORDS.again);
    heard = true;
    await press("Run");
    expect(decisions).toHaveLength(2);
    expect(root.textContent).not.toContain(WORDS.again);
  });

  /** The code's box shows less than there is, as CSS makes it: jsdom has no layout. */
  const overflowing = () => {
    vi.spyOn(Element.prototype, "scrollHeight", "get").mockReturnValue(1_000);
    vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(100);
  };
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });

  it.each([
    [60, "x = 1", false],
    [61, "x = 1", true],
    [2, `y = "${"a".repeat(6_000)}"`, true], // its end is as far away
  ])("of %d lines of code that does not fit, it waits for a look: %#", async (count, line, waits) => {
    const code = `${Array.from({ length: count }, () => line).join("\n")}\n`;
    overflowing();
    await draw(ask({ code, lines: code.split("\n").map((text) => [["", text]]) }));
    await pass(700);
    expect(button("Run").disabled).toBe(waits);
    expect(root.textContent?.includes(WORDS.unread)).toBe(waits);
  });

  it("that is long and not all in view runs only when its end was seen", async () => {
    overflowing();
    await draw(LONG);
    await pass(700);
    expect(button("Run").disabled).toBe(true);
    expect(button("Run everything in this answer").disabled).toBe(true);
    expect(button("Don't run").disabled).toBe(false);
    await press("Run");
    expect(decisions).toEqual([]);
    await act(() => {
      const box = root.querySelector(".lmc-card-code");
      if (!box) throw new Error("no code");
      box.scrollTop = 900;
      box.dispatchEvent(new Event("scroll"));
    });
    expect(button("Run").disabled).toBe(false);
  });

  it("control: where every end counts as seen, it runs and nobody saw its end", async () => {
    overflowing();
    class SeesAll {
      constructor(readonly say: (entries: { isIntersecting: boolean }[]) => void) {}
      observe(): void {
        this.say([{ isIntersecting: true }]);
      }
      disconnect(): void {}
    }
    vi.stubGlobal("IntersectionObserver", SeesAll);
    await draw(LONG);
    await pass(700);
    await press("Run");
    expect(decisions).toEqual([{ decision: "run" }]);
  });

  it(`of ${CODES.toLocaleString("en")} codes, those that are long and not all in view wait for a look`, LASTING, async () => {
    const below = numbers(SEED + 1);
    const counts = { wait: 0, run: 0 };
    for (let at = 0; at < CODES; at++) {
      const lines = Array.from({ length: 1 + below(90) }, () => "x".repeat(below(250)));
      const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 100)), 0);
      const code = lines.join("\n");
      const fits = below(4) === 0;
      vi.restoreAllMocks();
      if (!fits) overflowing();
      await draw(ask({ proposal: `p${at}`, code, lines: lines.map((text) => [["", text]]) }));
      await pass(700);
      const waits = !fits && rows > 60;
      expect([code, button("Run").disabled]).toEqual([code, waits]);
      counts[waits ? "wait" : "run"] += 1;
    }
    expect(Math.min(counts.wait, counts.run)).toBeGreaterThan(CODES / 10);
  });

  it("that is long and not all in view runs when the person says that it was not all read", async () => {
    overflowing();
    await draw(LONG);
    await pass(700);
    await act(() => {
      trusted = false;
      root.querySelector<HTMLInputElement>("[type=checkbox]")?.click();
    });
    expect(button("Run").disabled).toBe(true);
    await act(() => {
      trusted = true;
      const box = root.querySelector<HTMLInputElement>("[type=checkbox]");
      if (box) box.checked = true;
      box?.dispatchEvent(new Event("change", { bubbles: true }));
    });
    expect(button("Run").disabled).toBe(false);
  });

  it("that is all in view, of a hundred lines too, asks for no scrolling", async () => {
    await draw(LONG);
    await pass(700);
    expect(button("Run").disabled).toBe(false);
    expect(root.querySelector("[type=checkbox]")).toBeNull();
  });

  it("that follows another begins anew", async () => {
    await draw();
    await pass(700);
    await press("Edit");
    await draw(ask({ proposal: "p2", digest: "d2" }));
    expect(root.querySelector("textarea")).toBeNull();
    expect(button("Run").disabled).toBe(true);
  });
});

describe("in a cell", () => {
  it("the question says ready, keeps what is being edited, and names proposal and digest", async () => {
    const kernel = new FakeKernel();
    let unmount = () => {};
    await act(() => {
      unmount = mountAsk(root, kernel.wire, { trusted: () => trusted });
    });
    expect(kernel.heard("ready")).toHaveLength(1);
    await act(() => kernel.say({ kind: "ask", ...ask() }));
    await pass(700);
    await press("Edit");
    await type("textarea", "edited");
    await act(() => kernel.say({ kind: "ask", ...ask() })); // another view said ready
    await pass(700);
    await press("Run edited");
    expect(kernel.heard("decision")).toMatchObject([
      { proposal: "p1", digest: "d1", decision: "run", code: "edited" },
    ]);
    await act(() => unmount());
    expect(root.childElementCount).toBe(0);
    expect(kernel.listeners).toBe(0);
  });

  it("the state line shows the state, and Stop stops", async () => {
    const kernel = new FakeKernel();
    let unmount = () => {};
    await act(() => {
      unmount = mountBar(root, kernel.wire, { trusted: () => trusted });
    });
    await act(() => kernel.say({ kind: "state", state: "running", over: false, note: "Running…", elapsed: 65, label: "Qwen" }));
    expect(root.textContent).toContain("Running…");
    expect(root.textContent).toContain("1 min 05 s");
    expect(root.textContent).toContain("Qwen");
    await act(() => kernel.say({ kind: "state", state: "waiting", over: false, note: "Waiting for your decision", elapsed: 2, label: "Qwen" }));
    expect(root.textContent).toContain("Waiting for your decision");
    trusted = false;
    await press("Stop");
    expect(kernel.heard("stop")).toEqual([]);
    trusted = true;
    await press("Stop");
    expect(kernel.heard("stop")).toHaveLength(1);
    expect(root.textContent).toContain("Stopping…");
    await act(() => unmount());
  });

  it("says that the kernel ended, and offers nothing that it would have to hear", async () => {
    const kernel = new FakeKernel();
    let unmount = () => {};
    await act(() => {
      unmount = mountBar(root, kernel.wire, { trusted: () => trusted });
    });
    await act(() => kernel.say({ kind: "state", state: "running", over: false, note: "Running…", elapsed: 65, label: "Qwen" }));
    await act(() => kernel.end());
    expect(root.textContent).toBe(WORDS.kernelEnded);
    expect(root.querySelector("button")).toBeNull();
    await act(() => unmount());

    await act(() => {
      unmount = mountBar(root, kernel.wire, { trusted: () => trusted });
    });
    await act(() => kernel.say({ kind: "state", state: "done", over: true, note: "Done", elapsed: 65, label: "Qwen" }));
    await act(() => kernel.end());
    expect(root.textContent).toContain("Done");
    await act(() => unmount());

    await act(() => {
      unmount = mountAsk(root, kernel.wire, { trusted: () => trusted });
    });
    await act(() => kernel.say({ kind: "ask", ...ask() }));
    await pass(700);
    await act(() => kernel.end());
    expect(root.textContent).toContain(WORDS.notRun);
    expect(root.textContent).toContain("print(x)");
    expect(root.querySelector<HTMLElement>(".lmc-ask")?.hidden).toBe(true);
    expect(root.querySelector("[data-ready]")).toBeNull();
    await press("Run");
    expect(kernel.heard("decision")).toEqual([]);
    await act(() => unmount());
  });
});
