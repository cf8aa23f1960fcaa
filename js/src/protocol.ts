/**
 * What the panel and the kernel say to each other, as custom messages of one widget.
 *
 * One rule: the kernel's numbered events are the truth. Whoever misses one asks for it (`sync`)
 * and gets the events or a whole snapshot; nothing of a conversation is ever in a synced trait.
 * The other side is `lmc_jupyter/frontends/panel/panel.py`.
 */

import type { Chunk, Message } from "./lmc";

/** What is going on; there is always exactly one. */
export type Activity =
  | "idle"
  | "thinking"
  | "writing"
  | "waiting"
  | "running"
  | "done"
  | "stopped"
  | "failed";

export interface State {
  state: Activity;
  /** A short sentence in place of the state's own word ("Loading LiteLLM…"); "" for none. */
  note: string;
  /** Seconds of work in this turn, without the person's thinking. */
  elapsed: number;
  /**
   * Where the turn was asked: in a cell its questions are answered there, not in the panel.
   * "agent": an agent outside of the notebook runs code.
   */
  where: "panel" | "cell" | "agent";
}

/** Code that waits for a person, made by the kernel from the bytes that would run. */
export interface Question {
  proposal: string;
  digest: string;
  /** The number of the record that holds the code; -1 in a cell's own row of buttons. */
  at: number;
  /** "python", or "python + shell" when it uses both. */
  language: string;
  /** Per line, [css class, text]; class "h" marks a character that would not be seen. */
  lines: [string, string][][];
  /** The same code, for the editor. */
  code: string;
  /** A sentence to show above the code; "" for none. */
  warning: string;
  /** What the code will do, as far as it is known; an older kernel does not say. */
  effects?: Piece[];
}

/** What the code will do, in the kernel's words: the effects of one kind. */
export interface Piece {
  /** Whether something of the person's is lost. */
  warns: boolean;
  /** [css class, text]; class "name" marks a name, a path or a program. */
  parts: [string, string][];
}

/** What the panel knows of one turn: a question and all that was done to answer it. */
export interface Turn {
  id: string;
  /** The number of the record that holds the question; of an agent's, the one that says who it is. */
  at: number;
  where: "panel" | "cell" | "agent";
  /** The model as a person reads it, or the agent. */
  model: string;
  over: boolean;
  /** Seconds from the question to the end; 0 while it is not over. */
  seconds: number;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  /** Those of the prompt that the provider read from its cache. */
  cached_tokens: number | null;
  /** Tokens by our own count, where the provider did not say them. */
  estimate: number | null;
  /** US dollars; null where the price is not known. */
  cost: number | null;
  /** How many requests the model got; `sent` shows them. */
  requests: number;
  /** A sentence on what of the conversation its last request left out; "" when it had all. */
  left_out: string;
}

/** What has become of a block of code. */
export type Fate = "" | "waits" | "running" | "ran" | "ran unasked" | "edited" | "not run" | "stopped";

/** The names that a block of python made, changed and took away. */
export interface Names {
  new: string[];
  changed: string[];
  removed: string[];
  /** A sentence on what restoring would not bring back; "" when it brings back all. */
  lost: string;
  /** What was found after code that ran unasked: "`df` was changed"; "" or none for nothing. */
  breach?: string;
  /** Whether it can still be restored. */
  restorable: boolean;
}

/** A question that waits. */
export interface Queued {
  id: string;
  text: string;
}

/** A running program asks the person for a line: `input()`, `getpass()`; or we for a key. */
export interface Input {
  id: string;
  prompt: string;
  password: boolean;
  /** We ask, for the key of the name `prompt`; an older kernel does not say. */
  key?: boolean;
  /** We ask, and these are the answers: what is sent, and its button. Empty: a line is typed. */
  choices?: [string, string][];
}

/** What became of HTML or JavaScript in its frame. */
export interface Page {
  /** Its console, its errors and blocked requests, a line each. */
  lines: string[];
  /** Its visible text, bounded. */
  text: string;
  width: number;
  height: number;
  /** HTML without scripts: how it looked, where the kernel keeps that. */
  picture?: string;
}

export interface Marks {
  /** What a block of python did to the names; null when it was restored. */
  names?: Names | null;
  /** It was broken off. */
  partial?: boolean;
  fate?: Fate;
  /** Whether what it put out says that it failed. */
  failed?: boolean;
  /** Seconds that the code has run. */
  seconds?: number;
  /**
   * Of HTML and JavaScript that the computer shows. "awaited": it is loaded at once, and a `page`
   * says what became of it; "heard": that was said, its first lines stand in the records behind.
   */
  page?: "awaited" | "heard" | null;
  /** The id of the model of a live widget that this record stands for, in this kernel. */
  widget?: string;
  /** The person's thumb on an answer; null when it was taken back. */
  feedback?: Rating | null;
  /** Where the person has put a proposal. */
  taken?: Taken;
  /** Of closing words: where their numbers stand. */
  receipts?: Receipts;
  /** Of a question: the id of the one cell that it is about. */
  about?: string;
  /** Of a question: the values of the variables that it names, which went with it. */
  values?: string;
  /** What of the notebook went with a question: "3 cells · 420 tokens", and its exact text. */
  sent?: { line: string; text: string; unseen: Unseen | null };
  /** An image that went with a question: the cell that showed it, "In [3]". */
  figure?: string;
}

/** A number as it is written -> the record where it stands; -1: it is not shown; null: nowhere. */
export interface Receipts {
  [number: string]: number | null;
}

export type Rating = "up" | "down";

/** What the person did with a proposal. */
export type Taken = "inserted" | "replaced" | "ran";

/** A line in the list: a message of the conversation, or a note of ours beside it. */
export interface MessageRecord extends Marks {
  message: Message;
  /** Of a long console: how many characters were left out between `message.content` and `tail`. */
  cut?: number;
  tail?: string;
}
export interface NoteRecord {
  note: string;
  level: "info" | "error";
}
export type Record = MessageRecord | NoteRecord;

export interface Settings {
  /** The model's name, as `choose` takes it. */
  model: string;
  /** The model as a person reads it; "" while none can be made. */
  label: string;
  /** Whether anything was said about which model to use: if not, the first-run screen is shown. */
  chosen: boolean;
  /** Whether code runs unasked: a banner stays visible while it does. */
  auto_run: boolean;
  /** When the person is asked: for each block, only where it changes something, or never. */
  asks: "always" | "changes" | "never";
  /** What a course lets a pupil have: everything, hints, or nothing. */
  tutor: "" | "hints" | "off";
  /** What this conversation is called in the list; "" for a new one. */
  title: string;
  /** A sentence while it cannot be written to disk: a banner stays visible; else "". */
  unsaved: string;
}

/** A conversation of the list. */
export interface ConversationEntry {
  id: string;
  title: string;
  /** The notebook's path, as a person reads it; "" for none. */
  notebook: string;
  model: string;
  /** ISO 8601: when something was last said. */
  changed: string;
  messages: number;
  /** Whether it is the one that is shown here. */
  current: boolean;
  /** Whether it was held in this notebook. */
  here: boolean;
  /** Whether another kernel is writing it: here it opens as a copy. */
  held: boolean;
  /** Of a search: the text around the first place that was found; "" otherwise. */
  found: string;
}

/**
 * One thing that happened, by the name that it has in `lmc_jupyter/conversation/events.py`; what
 * is of the panel alone stands last. Records are numbered from 0 in the order of their beginning.
 */
export type Event =
  /** A chunk of the reply, for the Assembler; `skipped` characters before its content were left out. */
  | { grown: Chunk; skipped?: number }
  /** A whole record at the end of the list. */
  | { appended: Record }
  /** The code in the record `at` is another one: it was edited. */
  | { rewritten: { at: number; content: string } }
  /** The records from this number on are gone (undo, edit, reset), and the turns that began there. */
  | { cut: number }
  /** Another conversation stands here now: its records from `first` on. Turns of before are gone. */
  | { replaced: Record[]; first?: number }
  /** The record `at` has other marks. */
  | { marked: Marks & { at: number } }
  | { waits: Question }
  /** The question of this proposal is answered, or nobody can answer it any more. */
  | { answered: string }
  /** What has become of the code in the record `at`. */
  | { became: { at: number; fate: Fate; seconds?: number } }
  | { names_changed: { at: number; names: Names } }
  | { names_restored: { at: number; names: null } }
  | { began: Turn }
  | { ended: Turn }
  | { configured: Settings }
  | { state: State }
  | { input: Input | null }
  /** The questions that wait, in the order in which they will be asked. */
  | { queued: Queued[] }
  /** A cell of the person has ended: the number of its `In [N]`. */
  | { cell: number };

/** From the kernel. */
export type FromKernel =
  | { kind: "ack"; of: string }
  | { kind: "reply"; of: string; ok: true; value: unknown }
  | { kind: "reply"; of: string; ok: false; error: string }
  /** `seq` is the number of the first event here; they have no gaps. */
  | { kind: "events"; epoch: string; seq: number; events: Event[] }
  | Snapshot
  | Earlier
  /** To the rows of buttons in a cell's output. */
  | ({ kind: "state"; label: string; over: boolean } & Omit<State, "where">)
  | ({ kind: "ask" } & Question)
  /** To the frame in a cell's output. */
  | { kind: "page"; language: "html" | "javascript"; code: string };

/** The kernel's own tables, which the front end does not have of its own. */
export interface Tables {
  /** What can be typed after a slash, in the order of the help. */
  commands: Command[];
  /** What a person reads for each state, and whether no answer is being given in it. */
  states: { [state in Activity]?: { label: string; over: boolean } };
  /** Names of languages -> other words for them. */
  languages: { [name: string]: string[] };
}

export interface Command {
  name: string;
  /** The words that it takes: "NAME VALUE"; "" for none. */
  takes: string;
  does: string;
  /** Words of other programs that mean the same. */
  also: string[];
}

export interface Snapshot {
  kind: "snapshot";
  epoch: string;
  /** The number of the next event. */
  seq: number;
  /** The number of the first record here: those before it are asked for (`earlier`). */
  first: number;
  records: Record[];
  /** Whether the last record is still being written. */
  open: boolean;
  /** The line that runs now. */
  line: number | null;
  ask: Question | null;
  input: Input | null;
  queued: Queued[];
  state: State;
  turns: Turn[];
  settings: Settings;
  tables: Tables;
}

/** Records of before those that a snapshot has, as they stand at the next event's number. */
export interface Earlier {
  kind: "earlier";
  epoch: string;
  seq: number;
  /** The number of the first record here. */
  first: number;
  records: Record[];
}

/** A cell as a notebook shows it. */
export interface ShownCell {
  id: string;
  /** N of its `In [N]`; null where it did not run. */
  number: number | null;
  source: string;
  /** Its traceback; "" for none. */
  error: string;
  /** Whether it has the tag `lmc-hide`: no model gets it. */
  hidden: boolean;
}

/** What a front end asks its panel for, by the event `lmc:about-cell`. */
export type AboutCell =
  | { wish: "fix" | "explain" | "ask"; cell: ShownCell }
  /** Put the proposal with this id into a cell. */
  | { wish: Taken; proposal: string }
  /** A hint for the exercise with this id; what the pupil expected, "" for nothing. `sent` is called once it is. */
  | { wish: "hint"; exercise: string; expected: string; sent: () => void }
  /** Its tests. */
  | { wish: "test"; exercise: string };

/** Where code comes from that is put into a cell: `metadata.lmc` of the cell, with its text's SHA-256. */
export interface Origin {
  /** The model as a person reads it, or the agent. */
  model: string;
  /** The id of its turn; "" for an agent's cell. */
  turn: string;
  /** What became of the code before; "shown" for such as was not to run. */
  decision: Exclude<Fate, ""> | "shown";
  /** Whether the person has changed it on the way. */
  edited: boolean;
}

/** Code of an answer to put in the place of a cell's text, by the event `lmc:replace-cell`. */
export interface ReplaceCell {
  /** The cell's id; "" where only the number of its `In [N]` is known. */
  cell: string;
  number?: number | undefined;
  /** Whether it is to be run in any case. */
  runs?: boolean;
  code: string;
  language: string;
  /** An older panel does not say. */
  origin?: Origin;
  /** Called once it is done. */
  done?(isRun: boolean): void;
}

/** Code of an answer for a new cell below the active one, by the event `lmc:insert-cell`. */
export interface InsertCell {
  code: string;
  language: string;
  /** An older panel does not say. */
  origin?: Origin;
  /** Whether the person wants it run there. */
  run: boolean;
}

/** What the front end knows of the notebook's document. */
export interface Document {
  /** The selected cell, and what is selected in it; the source of one that is no code is "". */
  selected: { id: string; source: string; text: string } | null;
  /** The Markdown directly above it. */
  above: string;
  /** The ids of the cells with the tag `lmc-hide`. */
  hidden: string[];
  /** Each cell from the top: its id, and its headings where it is Markdown; [] where there are many. */
  outline: Outline;
}

export type Outline = [id: string, headings: string][];

/** What the person has chosen of what goes with a question. */
export interface Choice {
  /** The ids of parts that do not go. */
  left_out: string[];
  /** The numbers of cells that go with every question. */
  pinned: number[];
  document: Document | null;
}

/** A part of what the model gets beside the conversation. */
export interface Part {
  kind: string;
  title: string;
  tokens: number;
  /** The exact text; "" of a figure. */
  content: string;
  /** "" where it cannot be left out. */
  id: string;
  /** Of a cell that ran: that of its `In [N]`. */
  number: number | null;
}

export interface Ledger {
  /** "3 cells · 1 figure · 420 tokens + 708 always"; "" where nothing goes. */
  line: string;
  /** What goes with the question, and what the person left out. */
  parts: Part[];
  /** What goes with every question. */
  always: Part[];
  unseen: Unseen | null;
}

/** Figures that do not go with a question, because its model gets no images. */
export interface Unseen {
  /** "figure of In [13]" */
  title: string;
  why: string;
  /** The numbers of their cells. */
  numbers: number[];
  /** Whether the setting `vision` would send them. */
  can_go: boolean;
}

export interface Attachment {
  name: string;
  /** "image/png", … "" where the browser does not know. */
  mime: string;
  /** base64 */
  data: string;
}

/** What the kernel opens a comm `lmc-jupyter:agents` with, to say what an agent does. */
export type OfAgent =
  /** Its code waits for a person, until the comm is closed. */
  | { kind: "asks"; agent: string }
  /** A cell of code is to be inserted below the active one, and not run. */
  | { kind: "add"; agent: string; source: string };

/** What became of that cell, as a custom message of the same comm; it goes out with a fresh `id`. */
export type Added = { kind: "added"; cell: string } | { kind: "refused"; why: string };

/** To the kernel; each goes out with a fresh `id`. What is named in `Values` gets a `reply`. */
export type ToKernel =
  | { kind: "hello" }
  | { kind: "ready" }
  | { kind: "sync"; epoch: string; have: number }
  /** The records before this number; as many as fit, and an `earlier` has them. */
  | { kind: "earlier"; before: number }
  /** A person is about to write: what the model's answer needs may be loaded meanwhile. */
  | { kind: "focus" }
  | { kind: "ask"; text: string; attachments: Attachment[]; choice?: Choice }
  /** What would go with this question. */
  | { kind: "context"; text: string; choice: Choice }
  /** What the person's edit of the code that waits would do. */
  | { kind: "effects"; proposal: string; code: string }
  /** No model gets this run of a cell. */
  | { kind: "hide"; number: number }
  | {
      kind: "decision";
      proposal: string;
      digest: string;
      /** "all": run this and whatever comes in this turn. */
      decision: "run" | "all" | "decline";
      code?: string;
      reason?: string;
    }
  /** What is written while an answer is given: `add` puts it at the end of the queue. */
  | { kind: "queue"; do: "add"; text: string; choice?: Choice }
  | { kind: "queue"; do: "edit"; entry: string; text: string }
  | { kind: "queue"; do: "move"; entry: string; to: number }
  | { kind: "queue"; do: "remove"; entry: string }
  /** Ask it before all others; an answer that is being given is stopped for it. */
  | { kind: "queue"; do: "now"; entry: string }
  /** Ask why this cell failed, and how to correct it. */
  | { kind: "fix"; cell: ShownCell; choice?: Choice }
  /** Ask why this cell failed. */
  | { kind: "explain"; cell: ShownCell; choice?: Choice }
  /** What a question has to say to be about this cell. */
  | { kind: "point"; cell: ShownCell }
  | { kind: "stop" }
  /** What `%lmc` takes: "undo", "reset", "resume", "model NAME", … */
  | { kind: "command"; line: string }
  /** Ask the question of this turn again; what came of it goes. */
  | { kind: "retry"; turn: string }
  /** Put another question in its place, and go on from there. */
  | { kind: "edit"; turn: string; text: string; choice: Choice }
  | { kind: "models" }
  /** "keep": other notebooks start with it too, as `%lmc model NAME --keep` says. */
  | { kind: "choose"; model: string; api_base?: string; keep?: boolean }
  /** `document`: whether the front end knows the notebook's document. */
  | { kind: "names"; prefix: string; document?: boolean }
  | { kind: "sent"; turn: string }
  /** Whether the model sees images. */
  | { kind: "vision" }
  | { kind: "console"; at: number }
  /** Bring back the names as they were before the block `at`. */
  | { kind: "restore"; at: number }
  /** The person's answer to `Input`; null when they gave none (Ctrl-D). */
  | { kind: "input"; input: string; text: string | null }
  /** What became of the computer's code in the record `at` (in a cell's own frame: -1). */
  | { kind: "page"; at: number; page: Page }
  | { kind: "asset"; name: AssetName }
  /**
   * The conversations that are kept, newest first, so many at most: those in which this text is
   * found, and only those of this notebook where `here` says so.
   */
  | { kind: "history"; search: string; here: boolean; most: number }
  /** Go on with a kept conversation. */
  | { kind: "open"; conversation: string }
  /** Go on with a copy of a kept conversation, and let that one be. */
  | { kind: "fork"; conversation: string }
  | { kind: "rename"; conversation: string; title: string }
  | { kind: "delete"; conversation: string }
  /** The person's thumb on the answer in the record `at`; null takes it back. */
  | { kind: "rate"; at: number; rating: Rating | null }
  /** The number of the record with this message; -1 for none. */
  | { kind: "place"; message: string }
  /** The id of the cell that ran as this number. */
  | { kind: "cell"; number: number }
  /** The person has put the proposal in the record `at` into a cell. */
  | { kind: "take"; at: number; how: Taken }
  /** This conversation as a file of this format; it comes as the reply's one buffer. */
  | { kind: "export"; format: string }
  /** Go on from the conversation in a file; `data` is base64. */
  | { kind: "import"; name: string; data: string };

/** What is not in the bundle and is fetched at need. */
export type AssetName = "katex.js" | "highlight.js" | "plotly.js" | "bokeh.js";

export interface Offer {
  name: string;
  /** For a person: "Claude Sonnet", "qwen2.5-coder:7b (Ollama)". */
  label: string;
  /** Why it is usable: "ANTHROPIC_API_KEY is set", "Ollama runs at …", "on this machine, no key". */
  why: string;
  api_base: string | null;
  /** Whether it is the one in use. */
  current: boolean;
}

export interface Name {
  name: string;
  type: string;
  /** "(150, 5)", "12 items"; "" where there is none. */
  shape: string;
}

export interface Request {
  model: string;
  /** The body that the model got, as indented JSON; keys are never in it. */
  body: string;
  /** The same as a person reads it: role by role, the newest last. */
  messages: { role: string; text: string }[];
  seconds: number;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  /** Those of the prompt that the provider read from its cache. */
  cached_tokens: number | null;
  /** Tokens by our own count, where the provider did not say them. */
  estimate: number | null;
  cost: number | null;
}

/** What the replies hold. `asset` comes with the file as its one buffer. */
export interface Values {
  ask: null;
  fix: null;
  explain: null;
  /** "@cell 12 " before it, or a block to stand below it. */
  point: string;
  context: Ledger;
  effects: Piece[];
  /** The cell's id in the notebook; "" where it is not known. */
  hide: string;
  /** What `%lmc` would have printed. */
  command: string;
  retry: null;
  edit: null;
  models: Offer[];
  choose: string;
  names: Name[];
  sent: Request[];
  /** "unknown": they are only described to it, unless a setting says that it sees. "": it does not say. */
  vision: "yes" | "no" | "unknown" | "";
  /** The whole text. */
  console: string;
  /** A sentence on what was brought back. */
  restore: string;
  asset: null;
  history: ConversationEntry[];
  /** Sentences on what a person should know of it. */
  open: string;
  fork: string;
  rename: null;
  delete: string;
  rate: null;
  place: number;
  /** "" where it is not known. */
  cell: string;
  take: null;
  queue: null;
  export: { name: string; mime: string; lost: string[] };
  /** Sentences on what could not be carried over. */
  import: string[];
}
