import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { Event, Snapshot } from "../src/protocol";
import { Refused, Silence, Transport, type Receiver } from "../src/transport";
import { WORDS } from "../src/words";
import { FakeKernel, settle, snapshot } from "./panel-kernel";

class Follower implements Receiver {
  readonly events: Event[] = [];
  readonly snapshots: Snapshot[] = [];
  sentence = "";
  isBusy = false;
  isWaiting = false;
  failOn: Event | null = null;

  first = 0;

  snapshot(taken: Snapshot): void {
    this.snapshots.push(taken);
  }

  earlier(): boolean {
    throw new Error("nothing was asked for");
  }

  event(event: Event): void {
    if (this.failOn && JSON.stringify(this.failOn) === JSON.stringify(event)) {
      this.failOn = null;
      throw new Error("it makes no sense");
    }
    this.events.push(event);
  }

  busy(): boolean {
    return this.isBusy;
  }

  waiting(): boolean {
    return this.isWaiting;
  }

  trouble(sentence: string): void {
    this.sentence = sentence;
  }
}

const back = (n: number): Event => ({ cut: n });

let kernel: FakeKernel;
let transport: Transport;
let follower: Follower;

beforeEach(() => {
  vi.useFakeTimers();
  kernel = new FakeKernel();
  transport = new Transport(kernel.wire);
  follower = new Follower();
});

afterEach(() => {
  transport.close();
  vi.useRealTimers();
});

async function connected(): Promise<void> {
  transport.follow(follower);
  await settle();
  expect(follower.snapshots).toHaveLength(1);
}

describe("a connection that was cut and is there again", () => {
  it("is asked at once for what was missed, however often nobody answered meanwhile", async () => {
    await connected();
    follower.isBusy = true;
    [kernel.comm, kernel.control] = [false, "silent"];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(follower.sentence).toBe(WORDS.silent);
    [kernel.comm, kernel.control] = [true, "there"];
    const before = kernel.heard("sync").length;
    kernel.connect();
    await settle();
    expect(kernel.heard("sync").length).toBe(before + 1);
  });
});

describe("what comes from the kernel", () => {
  it("begins with a snapshot that it asks for", async () => {
    await connected();
    expect(kernel.heard("sync")[0]).toMatchObject({ epoch: "", have: 0 });
  });

  it("goes on in order", async () => {
    await connected();
    kernel.events(back(1), back(2));
    kernel.events(back(3));
    expect(follower.events).toEqual([back(1), back(2), back(3)]);
  });

  it("drops what it has already, also in the middle of a batch", async () => {
    await connected();
    kernel.events(back(1), back(2));
    kernel.say({ kind: "events", epoch: "e1", seq: 0, events: [back(1), back(2), back(3)] });
    kernel.say({ kind: "events", epoch: "e1", seq: 1, events: [back(2)] });
    expect(follower.events).toEqual([back(1), back(2), back(3)]);
  });

  it("asks for what a gap left out, with how far it has come", async () => {
    await connected();
    kernel.events(back(1));
    await vi.advanceTimersByTimeAsync(1_000);
    const asked = kernel.heard("sync").length;
    kernel.state = { ...kernel.state, seq: 5 }; // four events got lost
    kernel.events(back(6));
    await settle();
    expect(follower.events).toEqual([back(1)]);
    expect(kernel.heard("sync")).toHaveLength(asked + 1);
    expect(kernel.heard("sync").at(-1)).toMatchObject({ epoch: "e1", have: 1 });
    expect(follower.snapshots).toHaveLength(2);
    kernel.events(back(7));
    expect(follower.events).toEqual([back(1), back(7)]);
  });

  it("asks once for a flood behind one gap, and again while the gap is there", async () => {
    await connected();
    await vi.advanceTimersByTimeAsync(1_000);
    kernel.comm = false;
    kernel.control = "silent";
    const asked = kernel.heard("sync").length;
    kernel.state = { ...kernel.state, seq: 5 };
    for (let n = 0; n < 20; n++) kernel.events(back(n));
    await settle();
    expect(kernel.heard("sync")).toHaveLength(asked + 1);
    kernel.comm = true; // the turn is over, nothing more comes: it must ask by itself
    await vi.advanceTimersByTimeAsync(4_000);
    expect(follower.snapshots.at(-1)?.seq).toBe(25);
  });

  it("asks for everything when the kernel began anew", async () => {
    await connected();
    await vi.advanceTimersByTimeAsync(1_000);
    kernel.state = snapshot({ epoch: "e2", seq: 7 });
    kernel.events(back(1));
    await settle();
    expect(follower.events).toEqual([]);
    expect(follower.snapshots.at(-1)?.epoch).toBe("e2");
    kernel.events(back(2));
    expect(follower.events).toEqual([back(2)]);
  });

  it("lets no old snapshot take anything back", async () => {
    await connected();
    const old = kernel.state;
    kernel.events(back(1));
    kernel.say(old);
    kernel.events(back(2));
    expect(follower.snapshots).toHaveLength(1);
    expect(follower.events).toEqual([back(1), back(2)]);
  });

  it("asks in the silence of a turn, less often while a person is waited for, and never when idle", async () => {
    await connected();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(kernel.heard("sync")).toHaveLength(1);
    follower.isBusy = true;
    await vi.advanceTimersByTimeAsync(10_000);
    const running = kernel.heard("sync").length - 1;
    expect(running).toBeGreaterThanOrEqual(5);
    follower.isWaiting = true;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(kernel.heard("sync").length - 1 - running).toBeLessThanOrEqual(2);
  });

  it("gets what was lost at the very end of a turn", async () => {
    await connected();
    follower.isBusy = true;
    kernel.state = { ...kernel.state, seq: 3 }; // the last events never came
    await vi.advanceTimersByTimeAsync(3_000);
    expect(follower.snapshots.at(-1)?.seq).toBe(3);
  });

  it("reads everything again when an event does not fit, and says so", async () => {
    await connected();
    await vi.advanceTimersByTimeAsync(1_000);
    follower.failOn = back(9);
    kernel.comm = false;
    kernel.control = "missing";
    kernel.events(back(9), back(10));
    expect(follower.sentence).toContain("it makes no sense");
    kernel.comm = true;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(follower.snapshots).toHaveLength(2);
    expect(follower.sentence).toBe("");
  });

  it("says that the kernel is silent, keeps asking, and goes on by itself", async () => {
    kernel.comm = false;
    kernel.control = "missing";
    transport.follow(follower);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(follower.sentence).toBe(WORDS.silent);
    kernel.comm = true;
    await vi.advanceTimersByTimeAsync(11_000);
    expect(follower.snapshots).toHaveLength(1);
    expect(follower.sentence).toBe("");
  });

  it("names a message that it does not know", async () => {
    await connected();
    kernel.say({ kind: "fireworks" } as never);
    expect(follower.sentence).toBe(WORDS.unknownKind("fireworks"));
  });
});

describe("what goes to the kernel", () => {
  it("goes both ways at once when it is small, with one id", async () => {
    expect(await transport.tell({ kind: "stop" })).toBe(true);
    await settle();
    expect(kernel.byComm).toHaveLength(1);
    expect(kernel.byControl).toHaveLength(1);
    expect(kernel.byComm[0]?.id).toBe(kernel.byControl[0]?.id);
  });

  it("is heard by the control channel alone, while a cell runs", async () => {
    kernel.comm = false;
    expect(await transport.tell({ kind: "stop" })).toBe(true);
  });

  it("is heard by the comm alone, where no kernel is shown or its replies get lost", async () => {
    for (const control of ["missing", "silent", "broken"] as const) {
      kernel.control = control;
      expect(await transport.tell({ kind: "stop" })).toBe(true);
    }
  });

  it("is said again under the same id until it is heard", async () => {
    kernel.comm = false;
    kernel.control = "missing";
    const told = transport.tell({ kind: "stop" });
    await vi.advanceTimersByTimeAsync(3_100);
    kernel.comm = true;
    await vi.advanceTimersByTimeAsync(1_500);
    expect(await told).toBe(true);
    expect(new Set(kernel.byComm.map(({ id }) => id)).size).toBe(1);
    expect(kernel.byComm.length).toBeGreaterThanOrEqual(3);
  });

  it("is given up after five tries, and said to be", async () => {
    kernel.comm = false;
    kernel.control = "missing";
    const told = transport.tell({ kind: "stop" });
    await vi.advanceTimersByTimeAsync(8_000);
    expect(await told).toBe(false);
    expect(kernel.byComm).toHaveLength(5);
  });

  const large = { kind: "ask", text: "x".repeat(50_000), attachments: [] } as const;

  it("goes by the comm first when it is large", async () => {
    kernel.answers.set("ask", () => ({ ok: true, value: null }));
    await transport.request({ ...large, attachments: [] });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(kernel.byComm).toHaveLength(1);
    expect(kernel.byControl).toHaveLength(0);
  });

  it("goes by control too when it is large and the comm waits", async () => {
    kernel.comm = false;
    kernel.answers.set("ask", () => ({ ok: true, value: null }));
    const asked = transport.request({ ...large, attachments: [] });
    await vi.advanceTimersByTimeAsync(350);
    expect(kernel.byControl).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(100);
    expect(await asked).toBeNull();
    expect(kernel.byControl).toHaveLength(1);
  });
});

describe("requests", () => {
  it("get the value that belongs to them, in any order", async () => {
    const first = transport.request({ kind: "command", line: "help" });
    const second = transport.request({ kind: "command", line: "undo" });
    await settle();
    const [help, undo] = kernel.heard("command");
    kernel.say({ kind: "reply", of: undo?.id ?? "", ok: true, value: "taken back" });
    kernel.say({ kind: "reply", of: "somebody else's", ok: true, value: "not mine" });
    kernel.say({ kind: "reply", of: help?.id ?? "", ok: true, value: "the list" });
    expect(await Promise.all([first, second])).toEqual(["the list", "taken back"]);
  });

  it("get the buffers of their reply", async () => {
    const file = new Uint8Array([1, 2, 3]).buffer;
    let got: ArrayBuffer | undefined;
    const asked = transport.request({ kind: "asset", name: "katex.js" }, ([buffer]) => {
      got = buffer;
    });
    await settle();
    kernel.say({ kind: "reply", of: kernel.heard("asset")[0]?.id ?? "", ok: true, value: null }, [file]);
    await asked;
    expect(got).toBe(file);
  });

  it("are refused with the kernel's own sentence", async () => {
    kernel.answers.set("choose", () => ({ ok: false, error: "there is no model 'x'" }));
    const asked = transport.request({ kind: "choose", model: "x" });
    await expect(asked).rejects.toThrow(new Refused("there is no model 'x'"));
  });

  it("end with a sentence when nobody hears them", async () => {
    kernel.comm = false;
    kernel.control = "missing";
    const asked = transport.request({ kind: "models" });
    const refused = expect(asked).rejects.toThrow(new Silence(WORDS.silent));
    await vi.advanceTimersByTimeAsync(8_000);
    await refused;
  });

  it("end with another sentence when they are heard and not answered, each after its own time", async () => {
    const names = transport.request({ kind: "names", prefix: "" });
    const choose = transport.request({ kind: "choose", model: "x" });
    const late = expect(names).rejects.toThrow(WORDS.late("names", 10));
    await vi.advanceTimersByTimeAsync(11_000);
    await late;
    kernel.say({ kind: "reply", of: kernel.heard("choose")[0]?.id ?? "", ok: true, value: "done" });
    expect(await choose).toBe("done");
  });

  it("that are open when the panel closes end, and nothing listens any more", async () => {
    transport.follow(follower);
    const asked = transport.request({ kind: "models" });
    const refused = expect(asked).rejects.toThrow(Silence);
    transport.close();
    await refused;
    expect(kernel.listeners).toBe(0);
    const said = kernel.byComm.length;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(kernel.byComm).toHaveLength(said);
  });
});
