/** The Assembler: the recorded streams give the same messages as in Python. */

import { describe, expect, it } from "vitest";

import { canonical, FORMATS, learnLanguages, ProtocolError, type Chunk, type Message } from "../src/lmc";
import { Assembler } from "../src/stream";

const FILES = import.meta.glob<string>("../../tests/streams/*.jsonl", {
  query: "?raw",
  import: "default",
  eager: true,
});

function lines(path: string): unknown[] {
  const text = FILES[path];
  if (text === undefined) throw new Error(`there is no recorded stream ${path}`);
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line) as unknown);
}

const STREAMS = Object.keys(FILES).filter((path) => !path.endsWith(".messages.jsonl"));

function assemble(chunks: Chunk[]): Message[] {
  const assembler = new Assembler();
  const messages = chunks.map((chunk) => assembler.feed(chunk)).filter((each) => each !== null);
  const rest = assembler.flush();
  if (rest) messages.push({ ...rest, partial: true });
  return messages;
}

const said = (content: string, more: Partial<Chunk> = {}): Chunk => ({
  role: "assistant",
  type: "message",
  content,
  ...more,
});
const code = (content: string, format = "python", more: Partial<Chunk> = {}): Chunk => ({
  role: "assistant",
  type: "code",
  format,
  content,
  ...more,
});
const line = (content: number | string | null): Chunk => ({
  role: "computer",
  type: "console",
  format: "active_line",
  content,
});
const printed = (content: string): Chunk => ({
  role: "computer",
  type: "console",
  format: "output",
  content,
});

describe("recorded streams", () => {
  it("are there", () => expect(STREAMS.length).toBeGreaterThanOrEqual(17));

  it.each(STREAMS)("%s gives its messages", (path) => {
    const expected = lines(path.replace(/\.jsonl$/, ".messages.jsonl"));
    expect(expected.length).toBeGreaterThan(0);
    expect(assemble(lines(path) as Chunk[])).toEqual(expected);
  });

  it("name no type that the table has not", () => {
    const types = new Set(STREAMS.flatMap((path) => (lines(path) as Chunk[]).map((c) => c.type)));
    expect([...types].sort()).toEqual(Object.keys(FORMATS).sort());
  });
});

describe("Assembler", () => {
  it("takes a format that is implied, said or not, for the same, and keeps it as it began", () => {
    const text = { role: "user", type: "message", format: "text" } as const;
    const bare = { role: "user", type: "message" } as const;
    const made = assemble([
      { ...text, start: true },
      { ...bare, content: "Read " },
      { ...text, content: "it." },
      { ...bare, end: true },
    ]);
    expect(made).toEqual([{ ...text, content: "Read it." }]);
  });

  it("gives a message at its end and not before", () => {
    const assembler = new Assembler();
    const start: Chunk = { role: "assistant", type: "message", start: true };
    expect([start, said("a"), said("b")].map((chunk) => assembler.feed(chunk))).toEqual([
      null,
      null,
      null,
    ]);
    expect(assembler.open).toEqual(start);
    const end: Chunk = { role: "assistant", type: "message", end: true };
    expect(assembler.feed(end)).toEqual({ role: "assistant", type: "message", content: "ab" });
    expect(assembler.open).toBeNull();
    expect(assembler.flush()).toBeNull();
  });

  it("knows the active line only while the console is open", () => {
    const assembler = new Assembler();
    const flag = { role: "computer", type: "console" } as const;
    const seen = [
      { ...flag, start: true },
      line("1"),
      printed("a"),
      line(2),
      line(null),
      line(3),
      { ...flag, end: true },
    ].map((chunk) => {
      assembler.feed(chunk);
      return assembler.activeLine;
    });
    expect(seen).toEqual([null, 1, 1, 2, null, 3, null]);
  });

  it("gives what there is of a stopped message, and begins anew", () => {
    const assembler = new Assembler();
    assembler.feed(code("import os\n", "python", { start: true }));
    assembler.feed(code("os."));
    expect(assembler.flush()?.content).toBe("import os\nos.");
    expect(assembler.flush()).toBeNull();
    expect(assembler.feed(said("x"))?.content).toBe("x");
  });

  it("lets confirmations pass wherever they stand", () => {
    const assembler = new Assembler();
    const confirmation: Chunk = {
      role: "computer",
      type: "confirmation",
      format: "execution",
      content: { type: "code", format: "python", content: "1" },
    };
    expect(assembler.feed(confirmation)).toBeNull();
    assembler.feed(said("a", { start: true }));
    expect(assembler.feed(confirmation)).toBeNull();
    expect(assembler.feed(said("b", { end: true }))?.content).toBe("ab");
  });

  it("takes a type and a format that it does not know", () => {
    const hologram = { role: "computer", type: "hologram", format: "3d" } as const;
    const [whole] = assemble([
      { ...hologram, start: true },
      { ...hologram, content: { depth: 3 } },
      { ...hologram, end: true },
    ]);
    expect(whole).toEqual({ ...hologram, content: { depth: 3 } });
    expect(assemble([{ ...hologram, content: "x" }])).toEqual([{ ...hologram, content: "x" }]);
    const image = { role: "computer", type: "image", format: "base64.avif" } as const;
    expect(assemble([{ ...image, content: "AAAA" }])).toEqual([{ ...image, content: "AAAA" }]);
  });

  const end: Chunk = { role: "assistant", type: "message", end: true };
  const BAD: [string, Chunk[], unknown, string[]][] = [
    ["an end of nothing", [], end, ["end of assistant/message", "no message is open"]],
    [
      "an active line that ends nothing",
      [],
      { ...line(5), end: true },
      ["end of computer/console", "no message is open"],
    ],
    [
      "a start inside",
      [said("a", { start: true })],
      said("b", { start: true }),
      ["'message' starts", "'message' is open"],
    ],
    [
      "another type inside",
      [said("a", { start: true })],
      code("1"),
      ["assistant/code/python", "assistant/message is open"],
    ],
    [
      "another language inside",
      [code("a", "python", { start: true })],
      code("b", "shell"),
      ["code/shell", "code/python"],
    ],
    [
      "another recipient inside",
      [said("a", { start: true })],
      said("b", { recipient: "user" }),
      ["assistant/message/user", "assistant/message is open"],
    ],
    ["an unknown role", [], { ...said("a"), role: "system" }, ['"system"', "user, assistant"]],
    ["no type", [], { role: "user", content: "a" }, ["'type'", "undefined"]],
    ["neither content nor flag", [], { role: "user", type: "message" }, ["neither content"]],
    ["a number as text", [said("a", { start: true })], { ...said(""), content: 7 }, ["not 7"]],
    ["a line that is none", [], line("x1"), ["line number", '"x1"']],
    ["an unknown recipient", [], { ...said("a"), recipient: "all" }, ['"all"']],
    ["no object", [], "text", ["must be an object"]],
  ];
  it.each(BAD)("refuses %s with a sentence, and is as it was", (_, before, bad, words) => {
    const [assembler, twin] = [new Assembler(), new Assembler()];
    for (const chunk of before) {
      assembler.feed(chunk);
      twin.feed(chunk);
    }
    let caught: unknown;
    try {
      assembler.feed(bad as Chunk);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(ProtocolError);
    for (const word of words) expect(String(caught)).toContain(word);
    expect(assembler.open).toEqual(twin.open);
    expect(assembler.activeLine).toEqual(twin.activeLine);
    expect(assembler.flush()).toEqual(twin.flush());
  });

  it("joins any cut of a text to the same message", () => {
    const text = "Grüße 😀\n```python\nprint('x')\n```\nend";
    for (const size of [1, 2, 3, 7, 50]) {
      const parts = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      const assembler = new Assembler();
      assembler.feed(said("", { start: true }));
      for (const part of parts) assembler.feed(said(part));
      expect(assembler.feed(end)?.content).toBe(text);
    }
  });
});

it("languages have one name, as the kernel says", () => {
  learnLanguages({ shell: ["bash"], python: ["py"], javascript: ["js"], applescript: ["osascript"] });
  expect(["bash", "Py", " JS ", "osascript", "SQL"].map(canonical)).toEqual([
    "shell",
    "python",
    "javascript",
    "applescript",
    "sql",
  ]);
});
