/**
 * A kernel for the tests of the panel: it hears what is said, and says what a test tells it to.
 *
 * One rule: it speaks the protocol exactly, with acknowledgements, numbers and an epoch.
 */

import type {
  Event,
  FromKernel,
  Record as WireRecord,
  Settings,
  Snapshot,
  State,
  Tables,
  ToKernel,
} from "../src/protocol";
import type { Wire } from "../src/mail";

type Said = ToKernel & { id: string };
type Answer = { ok: true; value: unknown } | { ok: false; error: string };

export const IDLE: State = { state: "idle", note: "", elapsed: 0, where: "panel" };
export const SETTINGS: Settings = {
  model: "local",
  label: "Local model",
  chosen: true,
  auto_run: false,
  asks: "always",
  tutor: "",
  title: "",
  unsaved: "",
};

const command = (name: string, takes = "", ...also: string[]) => ({ name, takes, does: `does ${name}`, also });
/** A kernel's tables, as far as these tests need them. */
export const TABLES: Tables = {
  commands: [
    command("undo"),
    command("stop"),
    command("reset", "", "new", "clear"),
    command("history", "WORDS"),
    command("open", "CONVERSATION"),
    command("save", "PATH"),
    command("model", "NAME"),
    command("tokens"),
    command("key", "NAME"),
    command("state"),
    command("hint", "EXERCISE"),
    command("help", "COMMAND"),
  ],
  states: {
    idle: { label: "Ready", over: true },
    thinking: { label: "Thinking…", over: false },
    writing: { label: "Writing…", over: false },
    waiting: { label: "Waiting for your decision", over: false },
    running: { label: "Running…", over: false },
    done: { label: "Done", over: true },
    stopped: { label: "Stopped", over: true },
    failed: { label: "Failed", over: true },
  },
  languages: {
    python: ["py", "python3"],
    shell: ["bash", "sh"],
    javascript: ["js"],
    html: [],
    applescript: ["osascript"],
  },
};

export function snapshot(changes: Partial<Snapshot> = {}): Snapshot {
  return {
    kind: "snapshot",
    epoch: "e1",
    seq: 0,
    first: 0,
    records: [],
    open: false,
    line: null,
    ask: null,
    input: null,
    queued: [],
    state: IDLE,
    turns: [],
    settings: SETTINGS,
    tables: TABLES,
    ...changes,
  };
}

export class FakeKernel {
  /** What came by each way, in order. */
  readonly byComm: Said[] = [];
  readonly byControl: Said[] = [];
  /** Whether messages of a way reach the kernel. */
  comm = true;
  control: "there" | "missing" | "silent" | "broken" = "there";
  acknowledges = true;
  /** What it answers to requests; a request without an answer here stays open. */
  readonly answers = new Map<string, (said: Said) => Answer | null>();
  /** All that it has. */
  state = snapshot();
  /** Records of a snapshot, and of the answer to `earlier`. */
  newest = Infinity;
  #listeners = new Set<(content: unknown, buffers: readonly ArrayBuffer[]) => void>();
  #seen = new Set<string>();
  #ends = new Set<() => void>();
  #connects = new Set<() => void>();

  readonly wire: Wire = {
    send: (content) => {
      const said = content as unknown as Said;
      this.byComm.push(said);
      if (this.comm) this.#hear(said);
    },
    onMessage: (callback) => {
      this.#listeners.add(callback);
      return () => this.#listeners.delete(callback);
    },
    control: async () => {
      if (this.control === "missing") return null;
      return (content) => {
        const said = content as unknown as Said;
        this.byControl.push(said);
        if (this.control === "broken") return Promise.reject(new Error("the reply was lost"));
        if (this.control === "silent") return new Promise<boolean>(() => undefined);
        this.#hear(said);
        return Promise.resolve(true);
      };
    },
    onEnd: (callback) => {
      this.#ends.add(callback);
      return () => this.#ends.delete(callback);
    },
    onConnected: (callback) => {
      this.#connects.add(callback);
      return () => this.#connects.delete(callback);
    },
  };

  /** The network is there again. */
  connect(): void {
    for (const callback of this.#connects) callback();
  }

  /** It is restarted, or dies. */
  end(): void {
    for (const callback of [...this.#ends]) callback();
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Everything that was said, each once. */
  heard<K extends Said["kind"]>(kind: K): Extract<Said, { kind: K }>[] {
    const all = new Map([...this.byComm, ...this.byControl].map((said) => [said.id, said]));
    return [...all.values()].filter((said): said is Extract<Said, { kind: K }> => said.kind === kind);
  }

  say(content: FromKernel, buffers: ArrayBuffer[] = []): void {
    // a copy, as the wire makes one
    for (const listener of [...this.#listeners]) listener(structuredClone(content), buffers);
  }

  /** The next events; they are part of the truth from now on. */
  events(...events: Event[]): void {
    this.say({ kind: "events", epoch: this.state.epoch, seq: this.state.seq, events });
    this.state = { ...this.state, seq: this.state.seq + events.length };
  }

  #hear(said: Said): void {
    if (this.acknowledges) this.say({ kind: "ack", of: said.id });
    if (this.#seen.has(said.id)) return;
    this.#seen.add(said.id);
    const { epoch, seq, records } = this.state;
    if (said.kind === "sync") {
      const isUpToDate = said.epoch === epoch && said.have === seq;
      if (isUpToDate) this.say({ kind: "events", epoch, seq, events: [] });
      else this.say({ ...this.state, ...this.#before(records.length) });
      return;
    }
    if (said.kind === "earlier") {
      this.say({ kind: "earlier", epoch, seq, ...this.#before(said.before) });
      return;
    }
    const answer = this.answers.get(said.kind)?.(said);
    if (answer) this.say({ kind: "reply", of: said.id, ...answer });
  }

  #before(last: number): { first: number; records: WireRecord[] } {
    const { records } = this.state;
    const to = Math.min(last, records.length);
    const first = Math.max(0, to - this.newest);
    return { first, records: records.slice(first, to) };
  }
}

/** Lets promises and Preact's renders that are due happen. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 8; round++) await Promise.resolve();
}
