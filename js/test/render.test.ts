/** Each renderer by itself: what it shows of good content, and what it says of bad content. */

import { beforeAll, describe, expect, it, vi } from "vitest";

import type { Chunk, Message } from "../src/lmc";
import { begin, RENDERERS, whole, type Host } from "../src/render";
import { drawLines } from "../src/render/code";
import { KEPT } from "../src/render/console";
import { hidden, splitHidden } from "../src/render/hidden";
import { highlight, whenColoured } from "../src/render/highlight";
import { checkedImage } from "../src/render/image";
import { Terminal } from "../src/render/terminal";
import { assets } from "./assets";

const STREAMS = import.meta.glob<string>("../../tests/streams/*.messages.jsonl", {
  query: "?raw",
  import: "default",
  eager: true,
});

const PNG = // 1 × 1
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const JPEG = btoa( // 640 × 480: a header with a note before the frame
  String.fromCharCode(
    ...[0xff, 0xd8, 0xff, 0xe0, 0, 8, 74, 70, 73, 70, 0, 1, 0xff, 0xfe, 0, 6, 1, 2, 3, 4],
    ...[0xff, 0xc2, 0, 17, 8, 480 >> 8, 480 & 255, 640 >> 8, 640 & 255, 3, 1, 34, 0, 2, 17, 1, 3, 17, 1],
  ),
);
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const until = (holds: () => unknown) => vi.waitFor(holds, { timeout: 60_000 });

function host(more: Partial<Host> = {}): Host {
  return { asset: () => Promise.reject(new Error("nothing here")), openImage: () => undefined, ...more };
}

function show(message: Omit<Message, "role"> & { role?: Message["role"] }, more: Partial<Host> = {}) {
  return whole({ role: "computer", ...message }, host(more)).element;
}

const text = (element: Element) => element.textContent?.trim() ?? "";

describe("the registry", () => {
  const messages = Object.values(STREAMS).flatMap((lines) =>
    lines.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Message),
  );
  it("shows every recorded message", () => {
    expect(messages.length).toBeGreaterThan(30);
    for (const each of messages) {
      const { element } = whole(each, host());
      if (each.content !== "") expect(text(element) || element.querySelector("img, audio, iframe")).toBeTruthy();
    }
  });

  it("shows an unknown type as such, bounded", () => {
    const element = show({ type: "hologram", content: { depth: 3 } });
    expect(text(element)).toContain("unknown type 'hologram'");
    expect(text(element)).toContain('"depth": 3');
    expect(text(show({ type: "hologram", content: "x".repeat(9_000) }))).toContain("5,000 characters left out");
  });

  it("never throws, whatever the content is", () => {
    for (const type of [...RENDERERS.keys(), "other"]) {
      for (const content of ["", "x", null, 7, { a: 1 }, ["a"], "\ud800", "\u0000"]) {
        for (const format of [undefined, "", "path", "nonsense"]) {
          const message: Message = { role: "computer", type, content };
          if (format !== undefined) message.format = format;
          expect(() => whole(message, host()).dispose()).not.toThrow();
        }
      }
    }
  });

  it("draws what streams like what is whole", () => {
    const head: Chunk = { role: "assistant", type: "code", format: "python", start: true };
    const source = "def f(x):\n    return x  # ok\n\nprint(f('a'))\n";
    const streamed = begin(head, host());
    for (const character of source) streamed.push(character);
    streamed.end();
    expect(streamed.element.innerHTML).toBe(
      whole({ role: "assistant", type: "code", format: "python", content: source }, host()).element.innerHTML,
    );
  });
});

describe("code", () => {
  beforeAll(() => new Promise<void>((resolve) => whenColoured(host({ asset: assets() }), resolve)));

  const classes = (code: string, language: string) =>
    highlight(code, language).map((line) => line.filter(([css]) => css).map((token) => token.join(":")));

  it("has no colours where they would hold up the page: in long words, and in very long code", () => {
    for (const language of ["javascript", "shell", "r"]) {
      for (const text of ["a".repeat(2_001), "a.".repeat(40_000), "x = 1\n".repeat(17_000)]) {
        const lines = highlight(text, language);
        expect(new Set(lines.flat().map(([css]) => css))).toEqual(new Set([""]));
        expect(lines.map((line) => line.map(([, part]) => part).join("")).join("\n")).toBe(text);
      }
    }
    expect(classes(`const x = 1; // ${"a".repeat(1_900)}`, "javascript")[0]).toContain("k:const");
  });

  it("is highlighted with the classes of the record", () => {
    expect(classes("def f(x):\n    return 'a' + str(1)  # c", "python")).toEqual([
      ["k:def", "f:f"],
      ["k:return", "s:'a'", "b:str", "n:1", "c:# c"],
    ]);
    expect(classes("echo hi", "shell")[0]).toContain("b:echo");
    expect(classes("<b class='x'>", "html")[0]).toContain("k:b");
    expect(classes("SELECT 1", "sql")[0]).toContain("k:SELECT");
    expect(highlight("a < b", "nonsense")).toEqual([[["", "a < b"]]]);
  });

  it("has colours in every language that the computer runs, and in what is written beside it", () => {
    const samples: [string, string, string][] = [
      ["r", "x <- TRUE", "k:TRUE"],
      ["applescript", "tell application \"Finder\" to activate", "k:tell"],
      ["ruby", "def f; nil; end", "k:def"],
      ["perl", "my $x = 1;", "k:my"],
      ["lua", "local x = 1", "k:local"],
      ["php", "<?php function f() {}", "k:function"],
      ["java", "class A {}", "k:class"],
      ["go", "func main() {}", "k:func"],
      ["c", "return 1;", "k:return"],
      ["c++", "namespace a {}", "k:namespace"],
      ["rust", "fn main() {}", "k:fn"],
      ["powershell", "foreach ($x in 1) {}", "k:foreach"],
      ["julia", "function f() end", "k:function"],
      ["ts", "interface A {}", "k:interface"],
      ["js", "const x = 1", "k:const"],
      ["svg", "<g>", "k:g"],
      ["yml", "a: 1", "f:a:"],
    ];
    for (const [language, code, expected] of samples) expect(classes(code, language)[0]).toContain(expected);
  });

  it("loses no character", () => {
    const code = "%%bash\nls | grep 'x'\n\n\tx = \"é😀\"\n  # end\n\n";
    const known = ("python bash javascript json html r sql diff yaml x applescript ruby perl lua php java go c cpp " +
      "rust powershell julia typescript css dockerfile kotlin makefile swift constructor __proto__ toString").split(" ");
    for (const language of known) {
      const lines = highlight(code, language).map((line) => line.map(([, part]) => part).join(""));
      expect(lines.join("\n")).toBe(code);
    }
  });

  it("is there at once, and gets its colours where it stands when they have come", async () => {
    vi.resetModules(); // a page in which no code was yet
    const { whole: fresh, begin: begun } = await import("../src/render");
    const code = { role: "assistant", type: "code", format: "python" } as const;
    let bring: () => void = () => undefined;
    const given = assets();
    const asset = vi.fn<Host["asset"]>(async (name) => {
      await new Promise<void>((resolve) => (bring = resolve));
      return given(name);
    });
    fresh({ role: "assistant", type: "message", content: "no code, `x` aside" }, host({ asset }));
    expect(asset).not.toHaveBeenCalled();
    const elements = [0, 1, 2].map((n) => fresh({ ...code, content: `x = ${n}\ny` }, host({ asset })).element);
    const open = begun({ ...code, start: true }, host({ asset }));
    open.push("for x in");
    const gone = begun({ ...code, start: true }, host({ asset }));
    gone.dispose();
    expect(elements.map((element) => element.querySelectorAll(".n").length)).toEqual([0, 0, 0]);
    expect(elements[1] && text(elements[1])).toBe("x = 1\ny");
    const [kept] = elements[0]?.querySelectorAll(".lmc-line:last-child") ?? [];
    bring();
    await until(() =>
      expect(elements.map((element) => element.querySelectorAll(".n").length)).toEqual([1, 1, 1]),
    );
    await until(() => expect(open.element.querySelector(".k")?.textContent).toBe("for"));
    expect(elements[0]?.querySelector(".lmc-line:last-child")).toBe(kept); // what has no colours stays
    expect(gone.element.textContent).toBe("");
    expect(fresh({ ...code, content: "7" }, host({ asset })).element.querySelector(".n")).toBeTruthy(); // at once
    expect(asset.mock.calls).toEqual([["highlight.js"]]);
  });

  it("stays plain where colours never come, and is coloured when a later block brings them", async () => {
    vi.resetModules();
    const { whole: fresh } = await import("../src/render");
    const message: Message = { role: "assistant", type: "code", format: "python", content: "x = 1" };
    const never = vi.fn<Host["asset"]>(() => Promise.reject(new Error("the kernel is older")));
    const { element } = fresh(message, host({ asset: never }));
    await until(() => expect(never).toHaveBeenCalledTimes(1));
    expect(text(element)).toBe("x = 1");
    expect(element.querySelector("[class=n]")).toBeNull();
    await new Promise((resolve) => setTimeout(resolve)); // the refusal has been heard
    fresh(message, host({ asset: assets() }));
    await until(() => expect(element.querySelector("[class=n]")?.textContent).toBe("1"));
  });

  it("marks the line that runs, and only that", () => {
    const rendering = whole({ role: "assistant", type: "code", format: "python", content: "a\nb\nc" }, host());
    const marked = () => [...rendering.element.querySelectorAll(".lmc-now")].map((row) => row.textContent);
    const drawn = (active: number | null) => {
      rendering.line(active);
      rendering.replace("a\nb\nc"); // draws at once
      return marked();
    };
    expect(drawn(2)).toEqual(["b\n"]);
    expect(drawn(3)).toEqual(["c\n"]);
    expect(drawn(9)).toEqual([]);
    expect(drawn(null)).toEqual([]);
  });

  it("is replaced by what the person edited", () => {
    const rendering = whole({ role: "assistant", type: "code", format: "python", content: "a\nb\nc" }, host());
    rendering.replace("x = 1\r\ny = 2");
    expect(rendering.element.querySelector("pre")?.textContent).toBe("x = 1\ny = 2\n");
  });

  it("shows what would not be seen", () => {
    const element = show({ role: "assistant", type: "code", format: "python", content: "x = 1 # ok\rimport os\u202e" });
    expect([...element.querySelectorAll(".h")].map(text)).toEqual(["⟨U+000D⟩", "⟨U+202E⟩"]);
  });

  it("long code is plain while it streams, whole at its end, and offers the rest", () => {
    const rendering = begin({ role: "assistant", type: "code", format: "python", start: true }, host());
    const source = Array.from({ length: 6_000 }, (_, index) => `x${index} = ${index}`).join("\n");
    rendering.push(source);
    rendering.end();
    expect(rendering.element.querySelectorAll(".lmc-line").length).toBe(5_000);
    const rest = rendering.element.querySelector("button");
    expect(rest?.textContent).toBe("Show 1,000 more lines");
    rest?.click();
    expect(rendering.element.querySelector("pre")?.textContent).toBe(`${source}\n`);
    expect(rendering.element.querySelector("button")).toBeNull();
  });

  it("draws no line after the last line break", () => {
    for (const [content, lines] of [["a = 1\n", 1], ["a = 1\n\n", 2], ["\n", 1], ["", 1]] as const) {
      const element = show({ role: "assistant", type: "code", format: "python", content });
      expect(element.querySelectorAll(".lmc-line")).toHaveLength(lines);
    }
  });

  it("streams long code without losing a line", () => {
    vi.useFakeTimers();
    const rendering = begin({ role: "assistant", type: "code", format: "python", start: true }, host());
    let source = "";
    for (let index = 0; index < 900; index++) {
      const line = `value_${index} = ${index}\n`;
      source += line;
      rendering.push(line.slice(0, 7));
      rendering.push(line.slice(7));
      if (index % 7 === 0) vi.advanceTimersByTime(500);
      if (index % 7 === 0) expect(rendering.element.querySelector("pre")?.textContent).toBe(source);
    }
    rendering.end();
    expect(rendering.element.querySelector("pre")?.textContent).toBe(source);
    vi.useRealTimers();
  });

  it("tokens of the kernel become text", () => {
    const element = drawLines([[["k", "def"], ["evil onclick=x", " <b>f</b>"]], [], [["h", "⟨U+202E⟩"]]]);
    expect(element.textContent).toBe("def <b>f</b>\n\n⟨U+202E⟩\n");
    expect([...element.querySelectorAll("span span")].map((span) => span.className)).toEqual(["k", "h"]);
  });

  it("HTML of the computer is in a frame, its source one click away", () => {
    const element = show({ type: "code", format: "html", content: "<b>hi</b>" });
    expect(element.querySelector("iframe")?.getAttribute("sandbox")).toBe("allow-scripts");
    expect(element.querySelector("b")).toBeNull();
    const details = element.querySelector("details");
    details?.setAttribute("open", "");
    details?.dispatchEvent(new Event("toggle"));
    expect(details?.querySelector("pre")?.textContent).toBe("<b>hi</b>\n");
  });

  it("scripts run as they come, and of a record of the past when a person asks for it", () => {
    const shown: Message = { role: "computer", type: "code", format: "html", content: "<script>x</script>" };
    const srcdoc = (isPast: boolean) =>
      whole(shown, { ...host(), isPast }).element.querySelector("iframe")?.srcdoc ?? "";
    expect(srcdoc(false)).toContain('"isStill":false');
    expect(srcdoc(true)).toContain('"isStill":true');
    const chart = { ...shown, content: '<script data-lmc="bokeh.js"></script>' };
    const { element } = whole(chart, { ...host(), isPast: true });
    expect(element.querySelector("iframe")).toBeNull();
    expect(element.querySelector("button")?.textContent).toBe("Run again");
  });

  it("Markdown and formulas of the computer are drawn, those of a model are code", () => {
    const shown: Message = { role: "computer", type: "code", format: "markdown", content: "**bold**" };
    expect(whole(shown, host()).element.querySelector("strong")?.textContent).toBe("bold");
    expect(whole({ ...shown, role: "assistant" }, host()).element.querySelector("strong")).toBeNull();
  });

  it("JavaScript of the computer is source first, and runs nowhere but in the frame", () => {
    const element = show({ type: "code", format: "javascript", content: "x = '</script><b>'" });
    expect(element.querySelector("iframe")).toBeNull();
    expect(element.querySelector("pre")?.textContent).toContain("x = ");
    element.querySelector("button")?.click();
    const srcdoc = element.querySelector("iframe")?.srcdoc ?? "";
    expect(srcdoc).toContain("\\u003c/script>");
  });
});

describe("hidden characters", () => {
  it.each([
    ["plain ascii\n\ttab", 0],
    ["ünïcödé 日本語 العربية", 0],
    ["👩‍💻 🇩🇪 👍🏽 ❤️ 1️⃣ ☎️", 0],
    ["a\u200bb", 1],
    ["\u202eabc\u202c", 2],
    ["x\u00a0y\u3000", 2],
    ["\ufeffstart", 1],
    ["a\ufe0fb", 1],
    ["\u2139\ufe0f = 2", 1],
    ["a\ufffcb", 1],
    ["p\u0430ss = 1", 1],
    ["\u0440\u0430ypal(\u0441ode)", 3],
    ["\u0391BC + x\u03bf_1", 2],
    ["\u0441\u043e\u0440\u0443 = '\u043d\u0435\u0442 no'", 4],
    ["shutil.\u0441\u043e\u0440\u0443(a, b); \u0585\u0440\u0435\u0578(a)", 8],
    ["'\u0441 \u043e\u0441\u0430 \u0430 \u0443 \u0441\u043e\u0440'", 0],
    ["\uff50\uff52\uff49\uff4e\uff54(1)", 5],
    ["\ufb01le = 1; \u{1d431}\u{1d432} = 2; \uff58 = 3; pr\u2170nt", 5],
    ["'\uff21\uff22\uff23\u793e 5\u00ba x\u207f \u211d \u2161 \u00aa caf\u00e9 \u00b5m'", 0],
    ["'\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937'", 0],
    ["'\u0645\u200c a\u200c\u0645 \u0645\u200c\u200c\u0645 x\u200cy'", 5],
    ["\u03b1_max + \u0394t + \u03c1_water + \u03bdx + \u03c72", 0],
    ["\u{1f600} \u{1f600}x p\u0430", 1],
    ["print('\\n\u0421\u0423\u041c\u041c\u0410: %d\u0440\u0443\u0431 %.2f\u0420')", 0],
    ["df_\u043f\u0440\u043e\u0434\u0430\u0436\u0438 = read('sales_\u0433\u043e\u0434.csv')", 0],
    ["\u0394\u03a4_max + T_\u041c\u0410\u041a\u0421 + \u03b1max + sin\u03b1 + \u03c1_water", 0],
    ["e\u03bdal + in\u03c1ut + p\u03b1yp\u03b1l", 4],
    ["\u0585s.sy\u0455tem + \u0261et + \u0251bs + caf\u00e9\u0430", 5],
    ["\\nam\u0435 %d\u0430ta + \u0394\u0430x", 2],
    ["a\u200db", 1],
    ["\u3164 = 1", 1],
    ["\u{e0041}\u{e007f}", 2],
    ["\r\v\f\u0085\u2028", 5],
    ["\ud800", 1],
    ["\u{10ffff}", 1],
  ])("%j has %i", (code, number) => {
    expect(hidden(code)).toBe(number);
    const back = splitHidden(code).map(([part, isMark]) =>
      isMark ? String.fromCodePoint(Number.parseInt(part.slice(3, -1), 16)) : part,
    );
    expect(back.join("")).toBe(code);
  });
});

describe("a terminal", () => {
  const screen = (...parts: string[]) => {
    const terminal = new Terminal();
    let done = "";
    let open = "";
    for (const part of parts) {
      const written = terminal.write(part);
      done += written.done.map((run) => run.text).join("");
      open = written.open.map((run) => run.text).join("");
    }
    return done + open;
  };
  it.each([
    [["a\nb"], "a\nb"],
    [["a\r\nb\r", "\nc"], "a\nb\nc"],
    [["10%\r50%\r", "100%"], "100%"],
    [["hello\rHE"], "HEllo"],
    [["long line\r\u001b[Kshort"], "short"],
    [["abc\b\bX"], "aXc"],
    [["a\u001b[31", "mred\u001b[0m"], "ared"],
    [["\u001b]0;title\u0007text\u001b[2J\u001b[1;1H!"], "text!"],
    [["\u001b]8;;https://x\u001b\\link\u001b]8;;\u001b\\"], "link"],
    [["\u0000\u0007bell\u009b"], "bell"],
    [["\u001b"], ""],
  ])("%j shows %j", (parts, wanted) => expect(screen(...parts)).toBe(wanted));

  it("knows the colours", () => {
    const { open } = new Terminal().write(
      "\u001b[1;31mA\u001b[0m\u001b[92;44mB\u001b[39mC\u001b[38;5;196mD\u001b[49m\u001b[38;2;1;2;3mE\u001b[7mF\u001b[27;3;4mG\u001b[mH",
    );
    expect(open.map((run) => [run.text, run.css, run.style])).toEqual([
      ["A", "lmc-fg-red lmc-sgr-b", ""],
      ["B", "lmc-fg-bright-green lmc-bg-blue", ""],
      ["C", "lmc-bg-blue", ""],
      ["D", "lmc-bg-blue", "color:rgb(255,0,0)"],
      ["E", "lmc-mixed", "--lmc-ansi:rgb(1,2,3)"],
      ["F", "lmc-fg-ground", "background-color:rgb(1,2,3)"],
      ["G", "lmc-mixed lmc-sgr-i lmc-sgr-u", "--lmc-ansi:rgb(1,2,3)"],
      ["H", "", ""],
    ]);
  });

  it("gives the same for any cut", () => {
    const log = "\u001b[32mok\u001b[0m 1\r\n10%\r20%\u001b[K\nab\b\bcd 😀\n\u001b[1;38;5;20mx\u001b[0m";
    for (const size of [1, 2, 3, 7]) {
      expect(screen(...(log.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? []))).toBe(screen(log));
    }
  });
});

describe("a console", () => {
  it("keeps the columns of a table, and breaks the lines of a log", () => {
    const aligned = (content: string) =>
      show({ type: "console", format: "output", content }).querySelector(".lmc-aligned") !== null;
    const summary = " species   island   bill\n Adelie:1  Biscoe:2  1.5\n";
    expect(aligned(summary)).toBe(true);
    expect(aligned("name\tvalue\na\t1\n")).toBe(true);
    expect(aligned("one line  with a gap\nand none\n    indented\n    too\n")).toBe(false);
    expect(aligned(`INFO     start\nINFO     ${"long ".repeat(40)}\n`)).toBe(false);
    const growing = begin({ role: "computer", type: "console" }, host());
    growing.push(summary);
    expect(growing.element.querySelector(".lmc-aligned")).not.toBeNull();
    growing.replace("plain\n");
    expect(growing.element.querySelector(".lmc-aligned")).toBeNull();
  });

  const head: Chunk = { role: "computer", type: "console", start: true };

  it("shows text with its colours", () => {
    const element = show({ type: "console", format: "output", content: "\u001b[31mError\u001b[0m: <b>x</b>\n" });
    expect(element.querySelector(".lmc-fg-red")?.textContent).toBe("Error");
    expect(text(element)).toBe("Error: <b>x</b>");
  });

  it("keeps head and tail of a flood, counts the rest, and loses nothing in the count", () => {
    const rendering = begin(head, host());
    let all = 0;
    for (let index = 0; index < 20_000; index++) {
      const line = `line ${index}\n`;
      all += line.length;
      rendering.push(line);
    }
    rendering.end();
    const shown = rendering.element.querySelector("pre")?.textContent ?? "";
    expect(shown).toMatch(/^line 0\n/);
    expect(shown).toMatch(/line 19999\n$/);
    expect(shown.length).toBeLessThan(3 * KEPT);
    const gap = text(rendering.element.querySelector(".lmc-gap") ?? rendering.element);
    const left = Number(/([\d,]+) characters left out/.exec(gap)?.[1]?.replaceAll(",", ""));
    expect(left + shown.length - gap.length).toBe(all);
  });

  it("takes one line of 5 MB, and draws little of it", () => {
    const rendering = begin(head, host());
    rendering.push("x".repeat(5_000_000));
    rendering.end();
    const shown = rendering.element.textContent ?? "";
    expect(shown).toContain("4,960,000 characters left out");
    expect(shown.length).toBeLessThan(3 * KEPT);
  });

  it("is whole up to twice what is kept, and without a gap", () => {
    const content = Array.from({ length: 3_500 }, (_, index) => `row ${index}\n`).join("");
    expect(content.length).toBeGreaterThan(KEPT * 1.5);
    const element = show({ type: "console", format: "output", content });
    expect(element.querySelector("pre")?.textContent).toBe(content);
    expect(element.querySelector(".lmc-gap")).toBeNull();
  });

  it("says what the kernel left out", () => {
    const element = whole({ role: "computer", type: "console", format: "output", content: "head\n" }, host(), {
      cut: 1_234_567,
      text: "tail\n",
    }).element;
    expect(text(element)).toBe("head\n… 1,234,567 characters left out …tail");
    expect(element.querySelector("button")).toBeNull(); // nobody here has the whole
    const rendering = begin(head, host());
    rendering.push("head\n");
    rendering.push("one\n", 10);
    rendering.push("two\n", 20);
    rendering.end();
    expect(text(rendering.element)).toBe(
      "head\n… 10 characters left out …one\n\n… 20 characters left out …\ntwo",
    );
  });

  it("counts all that a flood leaves out, here or in the kernel", () => {
    const rendering = begin(head, host());
    let total = 0;
    const put = (line: string, times: number, cut: number) => {
      rendering.push(line.repeat(times), cut);
      total += line.length * times + cut;
    };
    put("head\n", 5_000, 0);
    for (let batch = 0; batch < 200; batch++) put(`${batch}\n`, 100, batch % 3 === 0 ? 0 : 60_000 + batch);
    rendering.end();
    const shown = rendering.element.querySelector("pre")?.textContent ?? "";
    const gaps = [...shown.matchAll(/\n?… ([0-9,]+) characters left out …\n?/g)];
    expect(gaps.length).toBeGreaterThan(2);
    const missing = gaps.reduce((sum, gap) => sum + Number((gap[1] ?? "").replaceAll(",", "")), 0);
    const texts = shown.replace(/… [0-9,]+ characters left out …/, "").replaceAll(/\n… [0-9,]+ characters left out …\n/g, "");
    expect(missing + texts.length).toBe(total);
    expect(texts.startsWith("head\n".repeat(4_000))).toBe(true);
    expect(texts.endsWith("199\n".repeat(100))).toBe(true);
  });

  it("offers the whole wherever something is left out", () => {
    const wholeConsole = () => Promise.resolve("");
    for (const content of ["", "head\n", "x".repeat(2 * KEPT)]) {
      const message: Message = { role: "computer", type: "console", format: "output", content };
      const { element } = whole(message, host({ wholeConsole }), { cut: 7, text: "tail" });
      expect(element.querySelector("button")?.textContent).toBe("Show all of it");
      expect(whole(message, host({ wholeConsole })).element.querySelector("button")).toBeNull();
    }
  });

  it("fetches the whole when it is asked for", async () => {
    const log = `${"abc\n".repeat(5_000)}${"y".repeat(30_000)}end`;
    const wholeConsole = vi.fn(() => Promise.resolve(log));
    const element = show({ type: "console", format: "output", content: "x".repeat(90_000) }, { wholeConsole });
    element.querySelector("button")?.click();
    await until(() => expect(element.querySelector(".lmc-whole pre")).not.toBeNull());
    expect([...element.querySelectorAll(".lmc-piece")].map((piece) => piece.textContent).join("")).toBe(log);
  });

  it("says why the whole could not be fetched", async () => {
    const wholeConsole = () => Promise.reject(new Error("the kernel was restarted"));
    const element = show({ type: "console", format: "output", content: "x".repeat(90_000) }, { wholeConsole });
    element.querySelector("button")?.click();
    await until(() => expect(text(element)).toContain("could not be fetched: the kernel was restarted"));
  });

  it("draws a progress bar as its last state", () => {
    const rendering = begin(head, host());
    for (let percent = 0; percent <= 100; percent++) rendering.push(`\r${percent}%`);
    rendering.push("\ndone");
    rendering.end();
    expect(text(rendering.element)).toBe("100%\ndone");
  });
});

describe("images", () => {
  it("are shown, and enlarged by a click", () => {
    const openImage = vi.fn();
    const element = show({ type: "image", format: "base64.png", content: `${PNG.slice(0, 20)}\n${PNG.slice(20)}` }, { openImage });
    const img = element.querySelector("img");
    expect(img?.src).toBe(`data:image/png;base64,${PNG}`);
    expect(img?.alt).toBe("Image, 1 × 1 pixels");
    element.querySelector("button")?.click();
    expect(openImage).toHaveBeenCalledWith(img);
    expect(checkedImage(JPEG, "base64.jpeg")).toMatchObject({ width: 640, height: 480 });
  });

  const REFUSED: [string, string, string][] = [
    ["", "base64.png", "is empty"],
    ["not base64!", "base64.png", "not base64"],
    ["AAAA", "base64.png", "are no png"],
    [PNG, "base64.jpeg", "are png, not jpeg"],
    [JPEG, "base64", "are jpeg, not png"],
    [PNG.slice(0, 16), "base64.png", "broken or cut off"],
    ["A".repeat(28_000_000), "base64.png", "at most 20,000,000 are shown"],
    ["/tmp/x.png", "path", "in the file /tmp/x.png"],
    [PNG, "base64.avif", "unknown format 'base64.avif'"],
  ];
  for (const [content, format, words] of REFUSED) {
    it(`${content.slice(0, 20)} as ${format}: ${words}`, () => {
      const element = show({ type: "image", format, content });
      expect(text(element)).toContain(words);
      expect(element.querySelector("img")).toBeNull();
    });
  }

  it("of too many pixels are refused before they are decoded", () => {
    const bytes = atob(PNG).split("").map((character) => character.charCodeAt(0));
    bytes.splice(16, 8, 0, 0, 64, 0, 0, 0, 64, 0);
    const big = btoa(String.fromCharCode(...bytes));
    expect(text(show({ type: "image", format: "base64.png", content: big }))).toContain("16,384 × 16,384 pixels");
  });

  it("that the browser cannot decode are said", () => {
    const element = show({ type: "image", format: "base64.png", content: PNG });
    element.querySelector("img")?.dispatchEvent(new Event("error"));
    expect(text(element)).toContain("its data are broken");
  });
});

describe("the others", () => {
  it("audio has controls; a path and bad data are sentences", () => {
    const element = show({ type: "audio", format: "wav", content: WAV });
    expect(element.querySelector("audio")?.src).toBe(`data:audio/wav;base64,${WAV}`);
    expect(element.querySelector("audio")?.autoplay).toBe(false);
    expect(text(show({ type: "audio", format: "wav", content: "a/b.wav" }))).toBe("Audio, in the file a/b.wav");
    expect(text(show({ type: "audio", format: "wav", content: "AAAA" }))).toContain("not a wav file in base64");
  });

  it("a file is its path", () => {
    expect(text(show({ type: "file", format: "path", content: "data/<b>x</b>.csv" }))).toBe(
      "File b>.csv data/<b>x</b>.csv",
    );
  });

  it("a stored confirmation is a sentence and no question", () => {
    for (const content of [
      { type: "code", format: "python", content: "print(1)" },
      { code: "print(1)", language: "python" },
    ]) {
      const element = show({ type: "confirmation", format: "execution", content });
      expect(text(element)).toContain("asked to run this python code");
      expect(text(element)).toContain("print(1)");
      expect(element.querySelector("button")).toBeNull();
    }
  });

  it("code and tables between fences stand in columns in a question, to the character", () => {
    const content = "Explain `df`:\n\n```\n   a\n0  1\n```\nand\n````python\n```\n````\n``` open\n*x*";
    const element = show({ role: "user", type: "message", content });
    expect(element.textContent).toBe(content);
    const code = [...element.querySelectorAll(".lmc-typed-code")].map((each) => each.textContent);
    expect(code).toEqual(["```\n   a\n0  1\n```\n", "````python\n```\n````\n"]);
  });

  it("what a person typed stays as it was typed", () => {
    expect(text(show({ role: "user", type: "message", content: "# not\n  a *title*" }))).toBe("# not\n  a *title*");
  });
});
