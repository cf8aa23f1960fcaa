/**
 * The conversation as the panel knows it: the kernel's records, turns, question and state.
 *
 * One rule: it draws nothing and asks nobody. It applies what the kernel says, numbers records
 * exactly as the kernel does (from 0, in the order of their beginning; a confirmation is none),
 * and tells who watches what has changed, record by record.
 */

import { learnLanguages, textOf, type Chunk, type Message } from "./lmc";
import type {
  Earlier,
  Event,
  Input,
  Marks,
  MessageRecord,
  NoteRecord,
  Origin,
  Question,
  Queued,
  Record as WireRecord,
  Settings,
  Snapshot,
  State,
  Tables,
  Turn,
} from "./protocol";
import { visible } from "./render/hidden";
import { Assembler, headOf, message } from "./stream";

/** A line of the list. While `open`, `message.content` is what had come when it was first seen. */
export type Entry =
  | { kind: "note"; at: number; note: NoteRecord }
  | { kind: "message"; at: number; record: MessageRecord; open: boolean };

export type MessageEntry = Extract<Entry, { kind: "message" }>;

/** What a watcher hears. */
export type Happening =
  | { kind: "appended"; entry: Entry }
  /** The entries from this number to that one are there now, which come before the others. */
  | { kind: "filled"; from: number; to: number }
  /** More of the open entry; `cut` characters before it were left out. */
  | { kind: "grown"; entry: MessageEntry; text: string; cut: number }
  /** It is whole now. */
  | { kind: "whole"; entry: MessageEntry }
  /** Its marks have changed, and its content where `content` is given. */
  | { kind: "marked"; entry: MessageEntry; content?: string }
  /** The entries from this number on are gone. */
  | { kind: "cut"; from: number }
  /** The line that runs now, of the code before the open console. */
  | { kind: "line"; line: number | null }
  | { kind: "ask" }
  | { kind: "input" }
  | { kind: "queued" }
  | { kind: "state" }
  | { kind: "turns" }
  /** A cell of the person has ended. */
  | { kind: "cell" }
  | { kind: "configured" }
  | { kind: "trouble" }
  /** Another conversation stands here. */
  | { kind: "replaced" }
  /** The first snapshot is here; everything before it was nothing. */
  | { kind: "ready" };

export type Watcher = (happening: Happening) => void;

/** The store of one panel. */
export class Conversation {
  /** By their numbers. The earliest ones come last: until then there is a hole in their place. */
  entries: Entry[] = [];
  /** The kernel is asked for the entries before this number: they are not here, or of before a gap. */
  first = 0;
  turns: Turn[] = [];
  ask: Question | null = null;
  /** What a running program asks the person for. */
  input: Input | null = null;
  /** The questions that wait for the end of the answer. */
  queued: Queued[] = [];
  state: State = { state: "idle", note: "", elapsed: 0, where: "panel" };
  /** When the turn began, by this page's clock. */
  since = performance.now();
  settings: Settings = { model: "", label: "", chosen: true, auto_run: false, asks: "always", tutor: "", title: "", unsaved: "" };
  tables: Tables = { commands: [], states: { idle: { label: "", over: true } }, languages: {} };
  ready = false;
  /** Tells this kernel's numbers of cells from those of another kernel. */
  epoch = "";
  problem = "";
  #assembler = new Assembler();
  #open: Open | null = null;
  #watchers = new Set<Watcher>();

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  busy(): boolean {
    return !this.tables.states[this.state.state]?.over;
  }

  waiting(): boolean {
    return this.state.state === "waiting" || this.input !== null;
  }

  trouble(sentence: string): void {
    if (sentence === this.problem) return;
    this.problem = sentence;
    this.#say({ kind: "trouble" });
  }

  get line(): number | null {
    return this.#assembler.activeLine;
  }

  /** The name of the agent whose turn it is; "" where a model answers. */
  get agent(): string {
    const turn = this.turns[this.turns.length - 1];
    return turn?.where === "agent" && !turn.over ? visible(turn.model) : "";
  }

  /** The turn that a record belongs to. */
  turnOf(at: number): Turn | null {
    let lastTurn: Turn | null = null;
    for (const turn of this.turns) if (turn.at <= at) lastTurn = turn;
    return lastTurn;
  }

  /** Where the code of a record comes from; of an edit that the person makes of it now, say so. */
  originOf(at: number, edited = false): Origin {
    const turn = this.turnOf(at);
    const entry = this.entries[at];
    const fate = (entry?.kind === "message" && entry.record.fate) || "shown";
    return { model: turn?.model ?? "", turn: turn?.id ?? "", decision: fate, edited: edited || fate === "edited" };
  }

  /** What the person has asked, oldest first. */
  questions(): string[] {
    return this.entries.flatMap((entry) =>
      entry.kind === "message" && isQuestion(entry.record.message)
        ? [textOf(entry.record.message.content)]
        : [],
    );
  }

  /** The id of the cell that the last question before this record is about; "" for none. */
  about(at: number): string {
    return this.#questionOf(at)?.about ?? "";
  }

  /** The number of that cell, as the question names it; "" where it does not. */
  numberAbout(at: number): string {
    return /@cell (\d+)/.exec(textOf(this.#questionOf(at)?.message.content))?.[1] ?? "";
  }

  #questionOf(at: number): MessageRecord | null {
    if (this.turnOf(at)?.where === "agent") return null; // it was asked nothing here
    for (let before = at; before >= 0; before--) {
      const entry = this.entries[before];
      if (entry?.kind === "message" && isQuestion(entry.record.message)) return entry.record;
    }
    return null;
  }

  /** Whether it ends with code that nobody has said yes or no to: of a file, or of a kept conversation. */
  unanswered(): boolean {
    const last = this.entries[this.entries.length - 1];
    return last?.kind === "message" && !last.open && isCode(last.record.message) && !last.record.fate;
  }

  // What the kernel says -------------------------------------------------------------------------

  /** Throws what the Assembler throws; then a snapshot must follow. */
  event(event: Event): void {
    if ("grown" in event) this.#chunk(event.grown, event.skipped ?? 0);
    else if ("appended" in event) this.#add(this.#entry(event.appended, false));
    else if ("rewritten" in event) this.#mark(event.rewritten.at, {}, event.rewritten.content);
    else if ("cut" in event) this.#cut(event.cut);
    else if ("replaced" in event) this.#replace(event.replaced, event.first ?? 0);
    else if ("marked" in event) this.#mark(event.marked.at, event.marked);
    else if ("waits" in event) this.#ask(event.waits);
    else if ("answered" in event) this.#ask(null);
    else if ("became" in event) this.#mark(event.became.at, event.became);
    else if ("names_changed" in event) this.#mark(event.names_changed.at, event.names_changed);
    else if ("names_restored" in event) this.#mark(event.names_restored.at, event.names_restored);
    else if ("began" in event) this.#turn(event.began);
    else if ("ended" in event) this.#turn(event.ended);
    else if ("configured" in event) this.#configure(event.configured);
    else if ("state" in event) this.#state(event.state);
    else if ("input" in event) this.#input(event.input);
    else if ("queued" in event) this.#queue(event.queued);
    else if ("cell" in event) this.#say({ kind: "cell" });
    // a newer kernel may tell more: what is not known here changes nothing that is shown
  }

  /** Take the kernel's view; what is the same stays, and whoever watches hears little. */
  snapshot(snapshot: Snapshot): void {
    this.epoch = snapshot.epoch;
    this.tables = snapshot.tables ?? this.tables; // an older kernel has none
    learnLanguages(this.tables.languages); // first: what is drawn is named by them
    this.turns = [...snapshot.turns]; // the same: code of an agent is about no cell
    const first = snapshot.first ?? 0; // the same
    const last = first + snapshot.records.length - 1;
    const next = snapshot.records.map((record, n) =>
      this.#entry(record, snapshot.open && first + n === last, first + n),
    );
    let same = 0;
    while (same < next.length && this.#take(next[same], this.entries[first + same])) same += 1;
    const another = same === 0 && next.length > 0 && this.entries[first] !== undefined;
    const kept = another ? 0 : first + same;
    if (kept < this.entries.length) this.#cut(kept, false);
    this.#addAll(next.slice(same), first);
    if (another) this.#say({ kind: "replaced" });
    const tail = this.entries[last];
    this.#close();
    if (snapshot.open && tail?.kind === "message") this.#reopen(tail);
    this.#line(snapshot.line);
    this.#say({ kind: "turns" });
    this.#configure(snapshot.settings);
    this.#ask(snapshot.ask);
    this.#input(snapshot.input ?? null); // an older kernel has none
    this.#queue(snapshot.queued ?? []); // the same
    this.#enter(snapshot.state);
    if (!this.ready) {
      this.ready = true;
      this.#say({ kind: "ready" });
    }
  }

  /** Take records of before; false when this is another conversation: then a whole snapshot must follow. */
  earlier({ first, records }: Pick<Earlier, "first" | "records">): boolean {
    const to = this.first;
    if (first >= to || first + records.length < to) return true; // asked for before a cut
    for (const [n, record] of records.slice(0, to - first).entries()) {
      const entry = this.#entry(record, false, first + n);
      const mine = this.entries[entry.at];
      if (mine && !this.#take(entry, mine)) {
        this.#cut(0, false);
        return false;
      }
      this.entries[entry.at] = mine ?? entry;
    }
    this.first = first;
    this.#say({ kind: "filled", from: first, to });
    this.#say({ kind: "turns" });
    return true;
  }

  #replace(records: readonly WireRecord[], first: number): void {
    this.#cut(0);
    this.#addAll(
      records.map((record, n) => this.#entry(record, false, first + n)),
      first,
    );
    this.#say({ kind: "replaced" });
  }

  #entry(record: WireRecord, open: boolean, at = this.entries.length): Entry {
    if ("note" in record) return { kind: "note", at, note: record };
    return { kind: "message", at, record: { ...record, message: { ...record.message } }, open };
  }

  #add(entry: Entry): void {
    this.entries.push(entry);
    this.#say({ kind: "appended", entry });
  }

  /** All of them first: who draws wants to know how many there are, and where the first is. */
  #addAll(fresh: readonly Entry[], first: number): void {
    for (const entry of fresh) this.entries[entry.at] = entry;
    this.first = first;
    for (const entry of fresh) this.#say({ kind: "appended", entry });
  }

  // A message that streams -----------------------------------------------------------------------

  #chunk(chunk: Chunk, cut: number): void {
    const whole = this.#assembler.feed(chunk);
    if (chunk.type === "confirmation") return;
    if (chunk.format === "active_line") {
      this.#say({ kind: "line", line: this.line });
    } else if (whole !== null && this.#open === null) {
      const entry = this.#entry({ message: whole, ...(cut ? { cut, tail: "" } : {}) }, false);
      this.#add(entry); // a whole message without flags
      return;
    }
    if (chunk.start) this.#begin(chunk);
    if (this.#open && chunk.content != null && chunk.format !== "active_line") {
      this.#grow(this.#open, textOf(chunk.content), cut);
      if (chunk.type === "console") this.#open.entry.record.message.format = "output";
    }
    if (whole !== null) this.#end(whole);
  }

  #begin(head: Chunk): void {
    const record = { message: message(head, head.format, "") };
    const entry: MessageEntry = { kind: "message", at: this.entries.length, record, open: true };
    this.#open = { entry, length: 0, head: null, tail: 0, cut: 0 };
    this.#add(entry);
  }

  #grow(open: Open, text: string, cut: number): void {
    if (cut > 0) {
      open.head ??= open.length;
      open.cut += cut;
      open.tail = open.length;
    }
    open.length += text.length;
    this.#say({ kind: "grown", entry: open.entry, text, cut });
  }

  #end(whole: Message): void {
    const open = this.#open;
    if (!open) return;
    this.#open = null;
    const { record } = open.entry;
    const text = typeof whole.content === "string" ? whole.content : null;
    record.message = { ...record.message, ...whole };
    if (text !== null && open.head !== null) {
      record.message.content = text.slice(0, open.head);
      record.cut = open.cut + open.tail - open.head;
      record.tail = text.slice(open.tail);
    }
    open.entry.open = false;
    this.#say({ kind: "whole", entry: open.entry });
    this.#say({ kind: "line", line: null });
  }

  /** The stream goes on in the middle of this entry. */
  #reopen(entry: MessageEntry): void {
    const { message: now, cut = 0, tail = "" } = entry.record;
    const head = headOf(now);
    this.#assembler = new Assembler();
    this.#assembler.feed(head);
    const { start: _, ...piece } = head;
    const text = textOf(now.content);
    const format = now.type === "console" ? { format: "output" } : {};
    if (text + tail) this.#assembler.feed({ ...piece, ...format, content: text + tail });
    const length = text.length + tail.length;
    this.#open = { entry, length, head: cut ? text.length : null, tail: cut ? text.length : 0, cut };
  }

  /** A stopped reply ends without a word; what had come is all of it. */
  #breakOff(): void {
    const whole = this.#assembler.flush();
    if (whole !== null) this.#end(whole);
  }

  #close(): void {
    this.#assembler = new Assembler();
    this.#open = null;
  }

  /** Whether `mine` can stay where the kernel has `theirs`; if so its marks are taken over. */
  #take(theirs: Entry | undefined, mine: Entry | undefined): boolean {
    if (!theirs || !mine || theirs.kind !== mine.kind) return false;
    if (theirs.kind === "note" || mine.kind === "note") {
      return JSON.stringify(theirs) === JSON.stringify(mine);
    }
    if (theirs.open || mine.open) return false; // what is being written is drawn anew
    const [now, then] = [theirs.record, mine.record];
    if (kindOf(now.message) !== kindOf(then.message)) return false;
    if ((now.cut ?? 0) !== (then.cut ?? 0) || (now.tail ?? "") !== (then.tail ?? "")) return false;
    if (now.message.id && then.message.id && now.message.id !== then.message.id) return false;
    if (textOf(now.message.content) !== textOf(then.message.content)) return false;
    const before = marksOf(then);
    mine.record = now;
    if (marksOf(now) !== before) this.#say({ kind: "marked", entry: mine });
    return true;
  }

  // The rest -------------------------------------------------------------------------------------

  #mark(at: number, { at: _, ...marks }: Marks & { at?: number }, content?: string): void {
    const entry = this.entries[at];
    if (!entry && at < this.first) return; // it comes with this mark
    if (entry?.kind !== "message") throw new Error(`there is no record ${at} to mark`);
    Object.assign(entry.record, marks);
    if (content !== undefined) entry.record.message.content = content;
    if (marks.partial && entry === this.#open?.entry) this.#breakOff();
    this.#say({ kind: "marked", entry, ...(content === undefined ? {} : { content }) });
  }

  #line(line: number | null): void {
    if (line !== this.line && this.#open?.entry.record.message.type === "console") {
      this.#assembler.feed({ role: "computer", type: "console", format: "active_line", content: line });
    }
    this.#say({ kind: "line", line });
  }

  #ask(ask: Question | null): void {
    this.ask = ask;
    this.#say({ kind: "ask" });
  }

  #input(input: Input | null): void {
    if (input?.id === this.input?.id) return;
    this.input = input;
    this.#say({ kind: "input" });
  }

  #queue(queued: Queued[]): void {
    this.queued = queued;
    this.#say({ kind: "queued" });
  }

  #state(state: State): void {
    this.#enter(state);
    if (!this.busy()) this.#breakOff();
  }

  #enter(state: State): void {
    this.state = state;
    this.since = performance.now() - state.elapsed * 1_000;
    this.#say({ kind: "state" });
  }

  #turn(turn: Turn): void {
    const at = this.turns.findIndex((known) => known.id === turn.id);
    if (at < 0) this.turns.push(turn);
    else this.turns[at] = turn;
    this.#say({ kind: "turns" });
  }

  #cut(from: number, turns = true): void {
    if (this.#open && this.#open.entry.at >= from) this.#close();
    this.entries.length = Math.min(this.entries.length, from);
    this.first = Math.min(this.first, from);
    if (turns) this.turns = this.turns.filter((turn) => turn.at < from);
    this.#say({ kind: "cut", from });
    this.#say({ kind: "turns" });
  }

  #configure(settings: Settings): void {
    this.settings = settings;
    this.#say({ kind: "configured" });
  }

  #say(happening: Happening): void {
    for (const watcher of [...this.#watchers]) watcher(happening);
  }
}

/** What is known of the entry that is still being written. */
interface Open {
  entry: MessageEntry;
  /** Characters that have come. */
  length: number;
  /** Where the first cut was, or null; where the last one was; what was left out in all. */
  head: number | null;
  tail: number;
  cut: number;
}

export function isQuestion(message: Message): boolean {
  return message.role === "user" && message.type === "message";
}

/** Code that a model wrote to be run. */
export function isCode(message: Message): boolean {
  return message.role === "assistant" && message.type === "code" && message.recipient !== "user";
}

/** Code that a model wrote for a cell of the person: nothing runs it. */
export function isProposal(message: Message): boolean {
  return message.role === "assistant" && message.type === "code" && message.recipient === "user";
}

/** What a model said to itself; as `is_thought` of lmc.py. */
export function isThought({ role, type, recipient, was }: Message): boolean {
  return role === "assistant" && type === "message" && recipient === "user" && !was;
}

function kindOf({ role, type, format, recipient }: Message): string {
  return JSON.stringify([role, type, type === "console" ? null : format, recipient]);
}

function marksOf({ partial, fate, failed, seconds, names, widget, feedback, taken, receipts }: Marks): string {
  const mask = names === undefined ? 0 : names;
  const texts = [widget ?? "", feedback ?? "", taken ?? "", receipts ?? {}];
  return JSON.stringify([partial ?? false, fate ?? "", failed ?? false, seconds ?? 0, mask, ...texts]);
}
