/**
 * The way between panel and kernel: each message arrives once, or the person is told.
 *
 * One rule: it knows the wire and nothing of what is drawn. The way back drops messages under floods,
 * so events are numbered, and a gap is asked for.
 */

import { freshId, Mail, type Wire } from "./mail";
import type { Earlier, Event, FromKernel, Snapshot, ToKernel, Values } from "./protocol";
import { WORDS } from "./words";

/** The kernel answered, and said no: a sentence of the kernel's. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** Nobody answered. */
export class Silence extends Error {
  override readonly name = "Silence";
}

/** What the numbered events change. */
export interface Receiver {
  snapshot(snapshot: Snapshot): void;
  event(event: Event): void;
  /** The records before this number are to be asked for; 0 for none. */
  readonly first: number;
  /** Whether they fit what is here; if not, a whole snapshot must follow. */
  earlier(earlier: Earlier): boolean;
  /** Whether a turn runs: then silence is suspicious. */
  busy(): boolean;
  /** Whether a person is waited for: then silence is usual. */
  waiting(): boolean;
  /** Something that a person should know; "" when it is over. */
  trouble(sentence: string): void;
}

/** The requests: what gets an answer of its own. */
export type Asks = Extract<ToKernel, { kind: keyof Values }>;
type Answer<K extends string> = K extends keyof Values ? Values[K] : never;

const QUIET_MS = 1_000;
const QUIET_WAITING_MS = 5_000;
const CHECK_MS = 500;
const RESYNC_MS = 700;
const LONGEST_MS = 10_000;
const UNANSWERED = 6;

/** Seconds that the kernel has for its answer, once it has heard the request. */
const WITHIN: Readonly<Record<keyof Values, number>> = {
  ask: 60,
  fix: 60,
  explain: 60,
  point: 10,
  context: 60, // it may load LiteLLM, to know whether the model sees
  effects: 10,
  hide: 30,
  command: 900, // it may load a model
  choose: 900,
  retry: 60,
  edit: 60,
  models: 30,
  names: 10,
  sent: 30,
  vision: 60, // it may load LiteLLM
  console: 60,
  restore: 60,
  asset: 30,
  history: 30,
  open: 120,
  fork: 120,
  rename: 30,
  delete: 30,
  rate: 30,
  place: 10,
  cell: 10,
  take: 30,
  queue: 30,
  export: 120,
  import: 120,
};

interface Waiting {
  kind: keyof Values;
  answer(value: unknown, buffers: readonly ArrayBuffer[]): void;
  refuse(error: Error): void;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** One panel's connection with its kernel. */
export class Transport {
  readonly #mail: Mail;
  readonly #waiting = new Map<string, Waiting>();
  readonly #undo: (() => void)[] = [];
  #receiver: Receiver | null = null;
  #epoch = "";
  #next = 0;
  #heard = 0;
  #asked = 0;
  #before = 0; // the number before which records were asked for last
  #unanswered = 0;
  #behind = false;
  #closed = false;

  constructor(wire: Wire) {
    this.#mail = new Mail(wire);
    this.#undo.push(wire.onMessage((content, buffers) => this.#take(content, buffers)));
    this.#undo.push(wire.onConnected(() => this.#comeBack()));
  }

  /** From now on the kernel's events go to this receiver, in order and without gaps. */
  follow(receiver: Receiver): void {
    this.#receiver = receiver;
    this.#heard = Date.now();
    const timer = setInterval(() => this.#check(), CHECK_MS);
    this.#undo.push(() => clearInterval(timer));
    this.resync();
  }

  /** Say it until the kernel has heard it. Resolves to whether it did. */
  async tell(message: ToKernel): Promise<boolean> {
    return this.#mail.say({ ...message, id: freshId() });
  }

  /**
   * Ask for something that gets an answer.
   *
   * Rejects with `Refused` (the kernel's own sentence) or `Silence`.
   */
  async request<K extends Asks["kind"]>(
    message: Extract<Asks, { kind: K }>,
    onBuffers?: (buffers: readonly ArrayBuffer[]) => void,
  ): Promise<Answer<K>> {
    const id = freshId();
    const kind: keyof Values = message.kind;
    const reply = new Promise<Answer<K>>((resolve, reject) => {
      this.#waiting.set(id, {
        kind,
        answer: (value, buffers) => {
          onBuffers?.(buffers);
          resolve(value as Answer<K>);
        },
        refuse: reject,
        timer: undefined,
      });
    });
    void this.#mail.say({ ...message, id }).then((heard) => {
      const waiting = this.#waiting.get(id);
      if (!waiting) return; // the answer has come already
      if (!heard) {
        this.#waiting.delete(id);
        waiting.refuse(new Silence(WORDS.silent));
        return;
      }
      waiting.timer = setTimeout(() => {
        this.#waiting.delete(id);
        waiting.refuse(new Silence(WORDS.late(kind, WITHIN[kind])));
      }, WITHIN[kind] * 1_000);
    });
    return reply;
  }

  /** Ask for the events that were missed, or for everything when `whole`. */
  resync(whole = false): void {
    if (this.#closed) return;
    this.#asked = Date.now();
    this.#unanswered += 1;
    if (this.#unanswered > UNANSWERED) this.#receiver?.trouble(WORDS.silent);
    const message = whole
      ? { kind: "sync", epoch: "", have: 0 }
      : { kind: "sync", epoch: this.#epoch, have: this.#next };
    this.#mail.once({ ...message, id: freshId() }, this.#epoch === "");
  }

  /** Ask for the records before those that are here, once for each number. */
  #askEarlier(): void {
    const before = this.#receiver?.first ?? 0;
    if (before === this.#before) return;
    this.#before = before;
    if (!before) return;
    this.#asked = Date.now();
    this.#mail.once({ kind: "earlier", before, id: freshId() }, false);
  }

  close(): void {
    this.#closed = true;
    for (const undo of this.#undo.splice(0)) undo();
    for (const waiting of this.#waiting.values()) {
      clearTimeout(waiting.timer);
      waiting.refuse(new Silence(WORDS.silent));
    }
    this.#waiting.clear();
    this.#mail.close();
  }

  // From the kernel ------------------------------------------------------------------------------

  #take(content: unknown, buffers: readonly ArrayBuffer[]): void {
    if (typeof content !== "object" || content === null || !("kind" in content)) return;
    const message = content as FromKernel;
    this.#unanswered = 0;
    switch (message.kind) {
      case "ack":
        this.#mail.heard(message.of);
        break;
      case "reply":
        this.#reply(message, buffers);
        break;
      case "events":
        this.#heard = Date.now();
        this.#events(message);
        break;
      case "snapshot":
        this.#heard = Date.now();
        this.#snapshot(message);
        break;
      case "earlier":
        this.#heard = Date.now();
        this.#earlier(message);
        break;
      case "state":
      case "ask":
      case "page":
        break; // for a cell's own buttons
      default:
        this.#receiver?.trouble(WORDS.unknownKind(String((content as { kind: unknown }).kind).slice(0, 40)));
    }
  }

  #reply(message: Extract<FromKernel, { kind: "reply" }>, buffers: readonly ArrayBuffer[]): void {
    this.#mail.heard(message.of);
    const waiting = this.#waiting.get(message.of);
    if (!waiting) return; // to another view of the same panel
    this.#waiting.delete(message.of);
    clearTimeout(waiting.timer);
    if (message.ok) waiting.answer(message.value, buffers);
    else waiting.refuse(new Refused(message.error));
  }

  #events(message: Extract<FromKernel, { kind: "events" }>): void {
    const receiver = this.#receiver;
    if (!receiver) return;
    if (message.epoch !== this.#epoch || message.seq > this.#next) {
      this.#behind = true;
      this.#resyncSoon();
      return;
    }
    this.#behind = false;
    for (const event of message.events.slice(this.#next - message.seq)) {
      this.#next += 1;
      try {
        receiver.event(event);
      } catch (error) {
        this.#damaged(error);
        return;
      }
    }
    receiver.trouble("");
    this.#askEarlier();
  }

  #snapshot(snapshot: Snapshot): void {
    if (snapshot.epoch === this.#epoch && snapshot.seq < this.#next) return; // older than what we have
    try {
      this.#receiver?.snapshot(snapshot);
      this.#receiver?.trouble("");
      [this.#epoch, this.#next] = [snapshot.epoch, snapshot.seq];
      [this.#behind, this.#before] = [false, 0];
      this.#askEarlier();
    } catch (error) {
      this.#receiver?.trouble(WORDS.damaged(sentence(error)));
    }
  }

  /** They are as they stand where we are, or we have missed something. */
  #earlier(earlier: Earlier): void {
    if (earlier.epoch !== this.#epoch || earlier.seq !== this.#next) {
      [this.#behind, this.#before] = [true, 0];
      this.#resyncSoon();
    } else if (this.#receiver?.earlier(earlier)) {
      this.#askEarlier();
    } else {
      this.resync(true);
    }
  }

  /** Our copy no longer fits the kernel's: say so, and read everything again. */
  #damaged(error: unknown): void {
    this.#receiver?.trouble(WORDS.damaged(sentence(error)));
    this.#epoch = "";
    this.#resyncSoon();
  }

  /** The connection is there again: what was missed is asked for at once, however long it took. */
  #comeBack(): void {
    this.#unanswered = 0;
    if (this.#receiver) this.resync();
  }

  /** A flood of batches behind one gap asks once. */
  #resyncSoon(): void {
    if (Date.now() - this.#asked > RESYNC_MS) this.resync();
  }

  #check(): void {
    const receiver = this.#receiver;
    if (!receiver) return;
    const usual = receiver.waiting() ? QUIET_WAITING_MS : QUIET_MS;
    const patience = Math.min(usual * 2 ** Math.max(0, this.#unanswered - 1), LONGEST_MS);
    if (Date.now() - Math.max(this.#heard, this.#asked) < patience) return;
    if (!receiver.busy() && !this.#behind && this.#epoch !== "" && !receiver.first) return;
    this.#before = 0; // what was asked for may be lost
    this.resync();
  }
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
