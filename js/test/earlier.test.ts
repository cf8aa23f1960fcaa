/** Of a long conversation the newest records come first, and the earlier ones behind them. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Conversation } from "../src/conversation";
import { MessageList } from "../src/panel/log";
import type { Acts } from "../src/panel/row";
import type { Event, Record as WireRecord } from "../src/protocol";
import { Transport } from "../src/transport";
import { LONG, numbers, SEED } from "./sampling";
import { FakeKernel, settle, snapshot } from "./panel-kernel";

const record = (content: string, more: Partial<WireRecord> = {}): WireRecord => ({
  message: { role: content.startsWith("q") ? "user" : "assistant", type: "message", content, id: content },
  ...more,
});
const some = (count: number, name = ""): WireRecord[] =>
  Array.from({ length: count }, (_, n) => record(`${n % 2 ? "a" : "q"}${name}${n}`));

const SEEDS = Array.from({ length: LONG ? 500 : 40 }, (_, n) => SEED + n + 1);

let kernel: FakeKernel;
let transport: Transport;
let conversation: Conversation;
let list: MessageList;

/** What stands in the list, from the top. */
const shown = () => [...list.element.querySelectorAll("article")].map(({ dataset }) => Number(dataset["at"]));
const contents = () => conversation.entries.map((entry) => (entry.kind === "message" ? entry.record : entry.note));
const isOnItsWay = () => !list.element.querySelector<HTMLElement>(".lmc-earlier")?.hidden;

beforeEach(() => {
  vi.useFakeTimers();
  kernel = new FakeKernel();
  transport = new Transport(kernel.wire);
  conversation = new Conversation();
  list = new MessageList(conversation, { announce: () => undefined, host: () => ({}) } as unknown as Acts);
});

afterEach(() => {
  list.dispose();
  transport.close();
  vi.useRealTimers();
});

async function opened(records: WireRecord[], newest: number): Promise<void> {
  kernel.state = snapshot({ records });
  kernel.newest = newest;
  transport.follow(conversation);
  await settle();
}

/** Something happens in the kernel, and the panel may miss it. */
function happen(event: Event, isLost = false): void {
  const { records, epoch, seq } = kernel.state;
  const next = [...records];
  if ("appended" in event) next.push(event.appended);
  if ("cut" in event) next.length = event.cut;
  if ("marked" in event) {
    const { at, ...marks } = event.marked;
    Object.assign((next[at] = structuredClone(next[at] as WireRecord)), marks);
  }
  kernel.state = { ...kernel.state, records: next, seq: seq + 1 };
  if (!isLost) kernel.say({ kind: "events", epoch, seq, events: [event] });
}

describe("a long conversation", () => {
  it("is shown from its end, and then whole, in order", async () => {
    const firsts: (number | undefined)[] = [];
    conversation.watch(({ kind }) => ["ready", "filled"].includes(kind) && firsts.push(shown()[0]));
    await opened(some(120), 50);
    expect(firsts).toEqual([70, 20, 0]);
    expect(shown()).toEqual(kernel.state.records.map((_, at) => at));
    expect(contents()).toEqual(kernel.state.records);
    expect(isOnItsWay()).toBe(false);
  });

  it("says that more of it comes while it does, and asks again for what got lost", async () => {
    const { say } = kernel;
    kernel.say = (content) => {
      if (content.kind !== "earlier") say.call(kernel, content);
    };
    await opened(some(10), 4);
    expect(shown()).toEqual([6, 7, 8, 9]);
    expect(isOnItsWay()).toBe(true);
    kernel.say = say;
    await vi.advanceTimersByTimeAsync(3_000);
    expect(contents()).toEqual(kernel.state.records);
    expect(isOnItsWay()).toBe(false);
  });

  it("has the mark of a record that was marked before it came", () => {
    const records = some(10);
    conversation.snapshot(snapshot({ first: 6, records: records.slice(6) }));
    conversation.event({ marked: { at: 2, partial: true } });
    expect(() => conversation.event({ marked: { at: 10, partial: true } })).toThrow("there is no record 10");
    records[2] = { ...records[2], partial: true } as WireRecord;
    expect(conversation.earlier({ first: 0, records: records.slice(0, 6) })).toBe(true);
    expect(contents()).toEqual(records);
  });

  it("has the figures of a question below it, wherever its pages begin", async () => {
    const figure = (at: number): WireRecord => ({
      message: { role: "user", type: "image", format: "path", content: "a.png", id: `f${at}` },
      figure: "In [3]",
    });
    const records = some(60);
    for (const at of [24, 25, 48, 49]) records[at] = figure(at);
    await opened(records, 10);
    const order = records.map((_, at) => at).filter((at) => ![24, 25, 48, 49].includes(at));
    order.splice(order.indexOf(26) + 1, 0, 24, 25);
    order.splice(order.indexOf(50) + 1, 0, 48, 49);
    expect(shown()).toEqual(order);
  });

  it("that is another one after a gap is shown anew", async () => {
    await opened(some(40), 10);
    kernel.state = snapshot({ seq: 9, records: [...some(35, "x"), ...some(40).slice(35)] });
    transport.resync(true);
    await settle();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(contents()).toEqual(kernel.state.records);
    expect(shown()).toEqual(kernel.state.records.map((_, at) => at));
  });

  it("of which nothing has changed over a gap is not drawn again", async () => {
    await opened(some(40), 10);
    const before = list.element.querySelector("article");
    happen({ marked: { at: 3, partial: true } }, true);
    happen({ appended: record("a40") });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(contents()).toEqual(kernel.state.records);
    expect(list.element.querySelector("article")).toBe(before);
  });

  it.each(SEEDS)("is the kernel's, whatever happens and gets lost (%i)", async (seed) => {
    const random = numbers(seed);
    const { say } = kernel;
    kernel.say = (content, buffers) => {
      if (random(4)) say.call(kernel, content, buffers);
    };
    await opened(some(30 + random(100)), 7 + random(20));
    for (let step = 0; step < 30; step++) {
      const { length } = kernel.state.records;
      const isLost = random(3) === 0;
      if (random(8) === 0) happen({ cut: random(length + 1) }, isLost);
      else if (random(2) && length) happen({ marked: { at: random(length), seconds: step + 1 } }, isLost);
      else happen({ appended: record(`${random(2) ? "a" : "q"}${seed}-${step}`) }, isLost);
      if (random(3) === 0) await vi.advanceTimersByTimeAsync(random(1_500));
    }
    kernel.say = say;
    happen({ appended: record("a-last") });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(contents()).toEqual(kernel.state.records);
    expect(shown()).toEqual(kernel.state.records.map((_, at) => at));
  });
});
