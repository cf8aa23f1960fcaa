import { describe, expect, it } from "vitest";

import { Conversation, type Happening } from "../src/conversation";
import type { Chunk, Message } from "../src/lmc";
import type { Event, Question, Record as WireRecord, Turn } from "../src/protocol";
import { IDLE, SETTINGS, snapshot, TABLES } from "./panel-kernel";

const FILES = import.meta.glob<string>("../../tests/streams/*.jsonl", {
  query: "?raw",
  import: "default",
  eager: true,
});

function lines<T>(path: string): T[] {
  const text = FILES[path];
  if (text === undefined) throw new Error(`there is no recorded stream ${path}`);
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line) as T);
}

const STREAMS = Object.keys(FILES).filter((path) => !path.endsWith(".messages.jsonl"));

/** A conversation that knows the kernel's tables, as from the first snapshot on. */
function store(): Conversation {
  const conversation = new Conversation();
  conversation.tables = TABLES;
  return conversation;
}

function fed(events: Event[], into = store()): Conversation {
  for (const event of events) into.event(event);
  return into;
}

/** As the kernel numbers them: by beginnings. */
function beginnings(chunks: Chunk[]): number {
  let open = false;
  let count = 0;
  for (const chunk of chunks) {
    if (chunk.type === "confirmation" || (!open && chunk.format === "active_line")) continue;
    if (!open) count += 1;
    open = chunk.end ? false : open || Boolean(chunk.start);
  }
  return count;
}

const text = (content: string, more: Partial<Chunk> = {}): Event => ({
  grown: { role: "assistant", type: "message", content, ...more },
});
const START: Event = { grown: { role: "assistant", type: "message", start: true } };
const END: Event = { grown: { role: "assistant", type: "message", end: true } };
const record = (message: Partial<Message>): WireRecord => ({
  message: { role: "assistant", type: "message", content: "", ...message },
});
const turn = (id: string, at: number, more: Partial<Turn> = {}): Turn => ({
  id,
  at,
  where: "panel",
  model: "m",
  over: false,
  seconds: 0,
  prompt_tokens: null,
  completion_tokens: null,
  cached_tokens: null,
  estimate: null,
  cost: null,
  requests: 0,
  left_out: "",
  ...more,
});

function contents(conversation: Conversation): unknown[] {
  return conversation.entries.map((entry) =>
    entry.kind === "message" ? entry.record.message.content : entry.note.note,
  );
}

describe("recorded streams", () => {
  it.each(STREAMS)("%s gives the recorded messages, one record for each beginning", (path) => {
    const chunks = lines<Chunk>(path);
    const messages = lines<Message>(path.replace(".jsonl", ".messages.jsonl"));
    const conversation = fed(chunks.map((chunk) => ({ grown: chunk })));
    conversation.event({ state: { ...IDLE, state: "stopped" } }); // what was open ends with the turn
    expect(conversation.entries).toHaveLength(beginnings(chunks));
    expect(conversation.entries.map(({ at }) => at)).toEqual(conversation.entries.map((_, at) => at));
    expect(conversation.entries.every((entry) => entry.kind === "message" && !entry.open)).toBe(true);
    const got = conversation.entries.flatMap((entry) => (entry.kind === "message" ? [entry.record.message] : []));
    const strip = ({ role, type, format, content, recipient }: Message) =>
      JSON.parse(JSON.stringify({ role, type, format, content, recipient })) as unknown;
    expect(got.map(strip)).toEqual(messages.map(strip));
  });

  it.each(STREAMS)("%s tells a watcher every character, in order", (path) => {
    const seen = new Map<number, string>();
    const conversation = store();
    conversation.watch((happening) => {
      if (happening.kind === "appended" && happening.entry.kind === "message") {
        seen.set(happening.entry.at, String(happening.entry.record.message.content));
      }
      if (happening.kind === "grown") {
        seen.set(happening.entry.at, (seen.get(happening.entry.at) ?? "") + happening.text);
      }
    });
    fed(lines<Chunk>(path).map((chunk) => ({ grown: chunk })), conversation);
    conversation.event({ state: { ...IDLE, state: "stopped" } });
    expect([...seen.values()]).toEqual(contents(conversation));
  });

  it.each(STREAMS)("%s: a snapshot in the middle of any message changes nothing of the end", (path) => {
    const chunks = lines<Chunk>(path);
    const straight = fed(chunks.map((chunk) => ({ grown: chunk })));
    for (let cut = 0; cut <= chunks.length; cut++) {
      const before = fed(chunks.slice(0, cut).map((chunk) => ({ grown: chunk })));
      const open = before.entries.some((entry) => entry.kind === "message" && entry.open);
      const records = before.entries.flatMap((entry): WireRecord[] => {
        if (entry.kind === "note") return [entry.note];
        if (!entry.open) return [entry.record];
        const parts = chunks.slice(0, cut).reverse();
        const begun = parts.findIndex((chunk) => chunk.start);
        const content = parts
          .slice(0, begun + 1)
          .reverse()
          .map((chunk) => (chunk.format === "active_line" ? "" : String(chunk.content ?? "")))
          .join("");
        return [{ message: { ...entry.record.message, content } }];
      });
      const after = store();
      after.snapshot(snapshot({ records, open, state: { ...IDLE, state: "writing" } }));
      fed(chunks.slice(cut).map((chunk) => ({ grown: chunk })), after);
      for (const conversation of [straight, after]) {
        conversation.event({ state: { ...IDLE, state: "stopped" } });
      }
      expect(contents(after)).toEqual(contents(straight));
    }
  });
});

describe("records", () => {
  it("count notes and whole records, and never a confirmation", () => {
    const conversation = fed([
      { appended: record({ role: "user", content: "hi" }) },
      { grown: { role: "computer", type: "confirmation", format: "execution", content: { code: "x" } } },
      { appended: { note: "a note", level: "info" } },
      START,
      text("yes"),
      END,
    ]);
    expect(contents(conversation)).toEqual(["hi", "a note", "yes"]);
  });

  it("keep head and tail of what was cut, and count what is missing", () => {
    const out = (content: string, skipped?: number): Event => ({
      grown: { role: "computer", type: "console", format: "output", content },
      ...(skipped ? { skipped } : {}),
    });
    const conversation = fed([
      { grown: { role: "computer", type: "console", start: true } },
      out("head"),
      out("mid", 100),
      out("dle"),
      out("tail", 7),
      { grown: { role: "computer", type: "console", end: true } },
    ]);
    const [entry] = conversation.entries;
    expect(entry).toMatchObject({
      record: { message: { content: "head", format: "output" }, cut: 100 + "middle".length + 7, tail: "tail" },
    });
  });

  it("go on after a snapshot with a cut in the open console", () => {
    const conversation = store();
    conversation.snapshot(
      snapshot({
        records: [{ message: { role: "computer", type: "console", format: "output", content: "head" }, cut: 5, tail: "ta" }],
        open: true,
      }),
    );
    fed(
      [
        { grown: { role: "computer", type: "console", format: "output", content: "il" } },
        { grown: { role: "computer", type: "console", end: true } },
      ],
      conversation,
    );
    expect(conversation.entries[0]).toMatchObject({
      record: { message: { content: "head" }, cut: 5, tail: "tail" },
    });
  });

  it("are marked, and edited, one by one", () => {
    const conversation = fed([
      { appended: record({ type: "code", format: "python", content: "x" }) },
      { appended: record({ content: "y" }) },
    ]);
    const heard: Happening[] = [];
    conversation.watch((happening) => heard.push(happening));
    conversation.event({ rewritten: { at: 0, content: "z" } });
    conversation.event({ became: { at: 0, fate: "edited", seconds: 2 } });
    expect(conversation.entries[0]).toMatchObject({ record: { fate: "edited", seconds: 2, message: { content: "z" } } });
    expect(heard).toMatchObject([{ kind: "marked", content: "z", entry: { at: 0 } }, { kind: "marked", entry: { at: 0 } }]);
  });

  it("that are not there cannot be marked: the copy is wrong then", () => {
    expect(() => fed([{ became: { at: 3, fate: "ran" } }])).toThrow("no record 3");
  });

  it("go back together with their turns, also one that is being written", () => {
    const conversation = fed([
      { appended: record({ role: "user", content: "1" }) },
      { began: turn("a", 0, { over: true }) },
      { appended: record({ role: "user", content: "2" }) },
      { began: turn("b", 1) },
      START,
      text("half"),
      { cut: 1 },
      { appended: record({ role: "user", content: "3" }) },
      START,
      text("anew"),
      END,
    ]);
    expect(contents(conversation)).toEqual(["1", "3", "anew"]);
    expect(conversation.turns.map(({ id }) => id)).toEqual(["a"]);
  });

  it("that were open end with a turn that was stopped", () => {
    const conversation = fed([START, text("half")]);
    conversation.event({ marked: { at: 0, partial: true } });
    expect(conversation.entries[0]).toMatchObject({ open: false, record: { partial: true, message: { content: "half" } } });
    expect(() => fed([START, text("next"), END], conversation)).not.toThrow();
  });

  it("that make no sense are refused with a sentence, and nothing is changed", () => {
    const conversation = fed([START, text("half")]);
    expect(() => conversation.event(START)).toThrow("end that first");
    conversation.event(END);
    expect(contents(conversation)).toEqual(["half"]);
  });
});

describe("another conversation", () => {
  const happened = (conversation: Conversation): string[] => {
    const kinds: string[] = [];
    conversation.watch(({ kind }) => kinds.push(kind));
    return kinds;
  };

  it("takes the place of all there is, turns and what is open too", () => {
    const conversation = fed([{ appended: record({ content: "a" }) }, { began: turn("t", 0) }, START, text("half")]);
    const kinds = happened(conversation);
    conversation.event({ replaced: [record({ content: "b" }), { note: "n", level: "info" }, record({ content: "c" })] });
    expect(conversation.entries.map(({ at, kind }) => [at, kind])).toEqual([[0, "message"], [1, "note"], [2, "message"]]);
    expect(conversation.turns).toEqual([]);
    expect(kinds).toEqual(["cut", "turns", "appended", "appended", "appended", "replaced"]);
    fed([START, text("new"), END], conversation);
    expect(conversation.entries).toHaveLength(4);
  });

  it("has room for a hundred thousand records", () => {
    const conversation = fed([{ replaced: Array.from({ length: 100_000 }, () => ({ note: "n", level: "info" as const })) }]);
    expect(conversation.entries).toHaveLength(100_000);
  });

  it("is known in a snapshot that has nothing in common with what was there, and only there", () => {
    const conversation = store();
    const kinds = happened(conversation);
    conversation.snapshot(snapshot({ records: [record({ content: "a" })] }));
    conversation.snapshot(snapshot({ records: [record({ content: "a" }), record({ content: "b" })] }));
    conversation.snapshot(snapshot({ records: [] }));
    conversation.snapshot(snapshot({ records: [record({ content: "a" })] }));
    expect(kinds).not.toContain("replaced");
    conversation.snapshot(snapshot({ records: [record({ content: "x" })] }));
    expect(kinds.filter((kind) => kind === "replaced")).toHaveLength(1);
  });
});

describe("a snapshot", () => {
  const two = [record({ role: "user", content: "q", id: "1" }), record({ content: "a", id: "2" })];

  function watched(records: WireRecord[]): { conversation: Conversation; kinds: string[] } {
    const conversation = store();
    conversation.snapshot(snapshot({ records }));
    const kinds: string[] = [];
    conversation.watch((happening) => kinds.push(happening.kind));
    return { conversation, kinds };
  }

  it("that says nothing new touches no record", () => {
    const { conversation, kinds } = watched(two);
    const before = conversation.entries.map((entry) => entry);
    conversation.snapshot(snapshot({ records: two }));
    expect(conversation.entries).toEqual(before);
    expect(kinds).not.toContain("appended");
    expect(kinds).not.toContain("cut");
    expect(kinds).not.toContain("marked");
  });

  it("adds what is new, replaces what differs, and marks what was marked", () => {
    const { conversation, kinds } = watched(two);
    const first = two[0] as WireRecord;
    conversation.snapshot(
      snapshot({ records: [{ ...first, partial: true }, record({ content: "b", id: "3" }), record({ content: "c" })] }),
    );
    expect(contents(conversation)).toEqual(["q", "b", "c"]);
    expect(kinds.filter((kind) => ["marked", "cut", "appended"].includes(kind))).toEqual([
      "marked",
      "cut",
      "appended",
      "appended",
    ]);
  });

  it("tells who watches how many there are before the first is drawn", () => {
    const conversation = store();
    const counts: number[] = [];
    conversation.watch(({ kind }) => kind === "appended" && counts.push(conversation.entries.length));
    conversation.snapshot(snapshot({ records: [...two, ...two] }));
    expect(counts).toEqual([4, 4, 4, 4]);
  });

  it("brings the question, the state, the turns and the settings", () => {
    const ask: Question = { proposal: "p", digest: "d", at: 1, language: "python", lines: [], code: "", warning: "" };
    const conversation = store();
    conversation.snapshot(
      snapshot({
        records: two,
        ask,
        state: { state: "waiting", note: "", elapsed: 3, where: "panel" },
        turns: [turn("a", 0)],
        settings: { ...SETTINGS, auto_run: true },
      }),
    );
    expect(conversation.ask).toEqual(ask);
    expect(conversation.busy()).toBe(true);
    expect(conversation.waiting()).toBe(true);
    expect(conversation.turnOf(1)?.id).toBe("a");
    expect(conversation.settings.auto_run).toBe(true);
    expect(performance.now() - conversation.since).toBeGreaterThanOrEqual(3_000);
  });
});

it("code of an agent is about no cell, though the question before it was", () => {
  const question: WireRecord = { message: { role: "user", type: "message", content: "Fix @cell 4" }, about: "c4" };
  const block = record({ type: "code", format: "python", content: "x = 1" });
  const conversation = fed([
    { appended: question },
    { began: turn("a", 0) },
    { appended: block },
    { appended: { note: "Claude Code has connected", level: "info" } },
    { began: turn("b", 3, { where: "agent" }) },
    { appended: block },
  ]);
  expect([conversation.about(1), conversation.numberAbout(1)]).toEqual(["c4", "4"]);
  expect([conversation.about(3), conversation.numberAbout(3)]).toEqual(["", ""]);
});

it("whose turn a record is in is known when a snapshot is drawn", () => {
  const conversation = store();
  const seen: (string | undefined)[] = [];
  conversation.watch((happening) => {
    if (happening.kind === "appended") seen.push(conversation.turnOf(happening.entry.at)?.where);
  });
  const records = [record({ role: "user", content: "Go." }), record({ type: "code", content: "1" })];
  conversation.snapshot(snapshot({ records, turns: [turn("a", 0), turn("b", 1, { where: "agent" })] }));
  expect(seen).toEqual(["panel", "agent"]);
});

it("the line that runs is told, and over with its console", () => {
  const console = (more: Partial<Chunk>): Event => ({ grown: { role: "computer", type: "console", ...more } });
  const told: (number | null)[] = [];
  const conversation = store();
  conversation.watch((happening) => happening.kind === "line" && told.push(happening.line));
  fed([console({ start: true }), console({ format: "active_line", content: 2 }), console({ end: true })], conversation);
  expect(told).toEqual([2, null]);
});
