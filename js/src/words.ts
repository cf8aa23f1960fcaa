/**
 * Every word that the panel says to a person.
 *
 * One rule: no other file holds a sentence; to translate the panel, translate this one.
 */

import type { Activity, Fate } from "./protocol";

export const STATES: Readonly<Record<Activity, string>> = {
  idle: "Ready",
  thinking: "Thinking…",
  writing: "Writing…",
  waiting: "Waiting for you",
  running: "Running…",
  done: "Done",
  stopped: "Stopped",
  failed: "Failed",
};

export const FATES: Readonly<Record<Fate, string>> = {
  "": "",
  waits: "waits for you",
  running: "running…",
  ran: "you ran this",
  "ran unasked": "ran unasked",
  edited: "you edited and ran this",
  "not run": "not run",
  stopped: "stopped",
};

/** What `%lmc` takes, for the composer: name, what follows it, what it does. */
export const COMMANDS: readonly { name: string; takes: string; does: string }[] = [
  { name: "model", takes: "NAME", does: "go on with another model" },
  { name: "fix", takes: "", does: "send the last error of the notebook to the model" },
  { name: "explain", takes: "NAME", does: "have the last cell explained, or a variable" },
  { name: "retry", takes: "", does: "ask the last question again" },
  { name: "undo", takes: "", does: "take back the last question" },
  { name: "restore", takes: "", does: "bring back the variables that the last code changed" },
  { name: "resume", takes: "", does: "go on after a break" },
  { name: "stop", takes: "", does: "stop what is being answered" },
  { name: "reset", takes: "", does: "begin a new conversation" },
  { name: "history", takes: "WORDS", does: "the conversations that are kept" },
  { name: "open", takes: "CONVERSATION", does: "go on with one that is kept" },
  { name: "fork", takes: "CONVERSATION", does: "go on with a copy of this one, or of another" },
  { name: "rename", takes: "TITLE", does: "give this conversation a title" },
  { name: "delete", takes: "CONVERSATION", does: "take one away for good" },
  { name: "save", takes: "PATH", does: "write this conversation to a file" },
  { name: "load", takes: "PATH", does: "go on with the conversation of a file" },
  { name: "export", takes: "PATH", does: "write it as a notebook, Markdown, …" },
  { name: "tokens", takes: "", does: "how full the model's window is" },
  { name: "cost", takes: "", does: "what this conversation has cost" },
  { name: "config", takes: "NAME VALUE", does: "the settings" },
  { name: "profile", takes: "NAME", does: "which profiles there are; use one" },
  { name: "models", takes: "", does: "which models could be used now" },
  { name: "languages", takes: "", does: "which languages can run here" },
  { name: "state", takes: "", does: "what is going on" },
  { name: "help", takes: "COMMAND", does: "list the commands" },
];

/** To begin with; the embedded model, which is a small one, answers them too. */
export const EXAMPLES: readonly string[] = [
  "Plot sin(x) and cos(x) from 0 to 10.",
  "Print the first ten prime numbers.",
  "Which version of Python is this?",
];

export const WORDS = {
  panel: "LMC chat",
  messages: "Messages",
  toEnd: "Jump to the end",
  dismiss: "Dismiss",
  autoRun: "Code runs without asking.",
  autoRunHow: "To be asked again: %config LMC.auto_run = False",

  // the record of a message
  you: "You",
  model: "Model",
  computer: "Computer",
  note: "Note",
  partial: "Broken off here.",
  kernelEnded: "Broken off: the kernel ended",
  forModel: "For the model",
  thoughts: "Thoughts",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "The browser did not allow copying: select the text and press Ctrl+C.",
  copyCode: "Copy the code",
  insert: "Insert as a new cell below",
  inserted: "Inserted below the active cell.",
  insertCopied: "There is no notebook here to insert into: the code was copied instead.",
  edit: "Edit the question",
  editLabel: "Your question, to edit",
  editSend: "Ask this instead",
  editHint: "What came after it is taken back; variables stay as they are.",
  cancel: "Cancel",
  retry: "Ask again",
  undo: "Take this back",
  sent: "What was sent",
  names: "What this code did to your variables",
  nameNew: "new:",
  nameChanged: "changed:",
  nameRemoved: "removed:",
  moreNames: (count: number) => `… ${count} more`,
  restore: "Restore",
  restoreLabel: "Restore the variables that this code changed.",
  restoreHint:
    "Bring these variables back as they were before this code. Files, network and other programs stay as they are.",
  restored: "Restored: these variables are as they were before this code.",
  hasRun: (fate: string, seconds: string) => (seconds ? `${fate} · ${seconds}` : fate),

  good: "Good answer",
  bad: "Bad answer",

  // the head, the history, files
  untitled: "Without a title",
  newChatHint: "New conversation: this one stays in the history",
  history: "Conversations",
  historyOf: (title: string) => `Conversations; this one: ${title}`,
  historyNone: "Nothing is kept yet. A conversation is kept from its first question on.",
  search: "Search titles and contents",
  foundNone: (search: string) => `“${search}” was found in no conversation.`,
  foundMany: (count: string) => (count === "1" ? "1 conversation" : `${count} conversations`),
  more: "Show more",
  current: "open here",
  held: "open elsewhere",
  heldHint: "Another kernel is writing it: here it opens as a copy.",
  here: "this notebook",
  messageCount: (count: number) => (count === 1 ? "1 message" : `${count} messages`),
  ofKept: (act: string, title: string) => `${act}: ${title}`,
  fork: "Open a copy",
  rename: "Rename",
  renameLabel: "The conversation's title",
  delete: "Delete",
  deleteAsk: (title: string) => `Delete “${title}” for good? It cannot be brought back.`,
  deleted: (title: string) => `“${title}” was deleted.`,
  keep: "Keep it",
  continue: "Continue in this notebook",
  files: "Save or open a file",
  saveAs: "Save as",
  asNotebook: "Notebook",
  asMarkdown: "Markdown",
  asLmc: "LMC JSON",
  asGlm: "GLM YAML",
  asOpenAI: "OpenAI JSON",
  saved: (name: string) => `Saved as ${name}, where your browser keeps downloads.`,
  noFile: (name: string) => `The kernel sent nothing for ${name}: try again.`,
  openFile: "Open a file…",
  openingFile: (name: string) => `Opening “${name}”…`,
  openedFile: (name: string) => `Opened “${name}”. The conversation from before is in the history.`,
  fileRefused: (name: string, why: string) => `“${name}” was not opened: ${why}`,
  fileUnreadable: (name: string) =>
    `“${name}” could not be read: it may be a folder, or it was moved. Choose it again.`,
  fileTooBig: (name: string, size: string, limit: string) =>
    `“${name}” is ${size}: the browser hands over at most ${limit}. Put it beside the notebook and write /load ${name}`,
  leftOut: "Not everything was sent",

  // what a turn took
  tokens: (count: string) => `${count} tokens`,
  tokensHint: (prompt: string, completion: string) =>
    `${prompt} tokens to the model, ${completion} back`,
  sentTitle: "What was sent to the model",
  sentIntro: "The exact requests of this turn, in order. Keys are never part of them.",
  sentNone: "Nothing was sent to a model in this turn.",
  sentOne: (number: number, of: number) => `Request ${number} of ${of}`,
  copyRequest: "Copy this request",
  loading: "Loading…",
  close: "Close",

  // the question about code
  askLabel: (language: string) => `Run this ${language} code?`,
  lines: (count: number) => (count === 1 ? "1 line" : `${count} lines`),
  run: "Run",
  runEdited: "Run edited",
  change: "Edit",
  undoEdit: "Undo edit",
  decline: "Don't run",
  reason: "Reason for not running it",
  reasonHint: "Why not? (optional)",
  runAll: "Run all in this turn",
  runAllHint: "Run this, and whatever else this answer brings",
  code: "The code, to edit",
  unread: "I have not read it all",
  unreadHint: "Scroll to the end of the code to run it.",
  takenOut: (number: number) =>
    `${number === 1 ? "One hidden character was" : `${number} hidden characters were`} taken out here: ` +
    "what runs is what you see.",
  again: "The kernel did not answer: press again.",
  decided: "Sent…",
  notRun: "did not run: the kernel ended",
  unanswered: "The code at the end has not run: nobody has said yes or no to it.",
  goOn: "Decide now",
  inCell: "This code waits for you in the notebook cell where you asked.",
  announceAsk: (language: string) => `The model wants to run ${language} code: run it or not?`,

  // a running program's question
  inputLabel: "The code asks you",
  inputHint: "Esc stops",
  inputSent: "Sent…",
  inputSend: "Answer",
  inputLine: "A line of input",
  inputPassword: "A password",
  announceInput: (prompt: string) => `The code asks you: ${prompt || "a line of input"}`,

  // the state line
  stop: "Stop",
  stopHint: "Stop this answer; what there is stays",
  stopping: "Stopping…",
  connecting: "Connecting to the kernel…",

  // the composer
  composer: "Your message",
  placeholder: "Ask about your notebook",
  placeholderBusy: "Write the next question",
  send: "Send",
  sendHint: (key: string) => `Send (${key})`,
  attach: "Attach images or files",
  remove: (name: string) => `Remove ${name}`,
  attachments: "Attached",
  dropHere: "Drop to attach",
  record: "Record your voice",
  recording: "Recording",
  recordStop: "Stop and attach",
  recordEnds: "One moment…",
  recordedAll: (most: string) => `A recording takes at most ${most} here: it was stopped, and is attached.`,
  recordNoRoom: "There is no room for a recording beside what is attached: remove an attachment first.",
  discard: "Discard",
  discarded: "The recording was discarded.",
  micInsecure:
    "The browser lets pages record only on https or localhost: open Jupyter at such an address, or attach a wav file.",
  micNone: "This browser cannot record sound: attach a wav file instead.",
  micDenied:
    "The microphone was not allowed: allow it for this page in the browser (beside the address), then press again.",
  micMissing: "No microphone was found: connect one, then press again; or attach a wav file.",
  micBusy: "The microphone could not be opened: another program may be using it. Close that, then press again.",
  micFailed: (why: string) => `Nothing was recorded: ${why}. Try again, or attach a wav file.`,
  micEmpty: "Nothing was heard: the recording is empty. Check the microphone, then record again.",
  suggestions: "Suggestions",
  menu: "More actions",
  newChat: "New conversation",
  enterSends: "Enter sends",
  enterSendsHint: (on: boolean) =>
    on ? "Shift+Enter adds a line" : "Enter adds a line, Shift+Enter sends",
  help: "Commands",

  // the model picker
  pickModel: (label: string) => `Model: ${label}`,
  noModel: "Choose a model",
  models: "Models that work here now",
  noModels: "No other model was found on this machine.",
  looking: "Looking for models…",
  another: "Another model…",
  anotherName: "Name of the model, as LiteLLM knows it",
  anotherNameHint: "openai/gpt-5-mini",
  anotherBase: "Address of its server (optional)",
  anotherBaseHint: "http://127.0.0.1:11434",
  anotherKey: "Its key belongs in the environment, for example OPENAI_API_KEY.",
  use: "Use this model",
  using: "Preparing the model…",

  // the first-run screen
  welcome: "Talk with your notebook",
  welcomeText:
    "Ask in plain words. The model answers here and proposes code, and when you press Run it " +
    "runs in your notebook's own kernel, with your variables.",
  answersNow: "Answers now:",
  alsoUsable: "Also usable here",
  chooseOne: "Choose who answers",
  nothingUsable: "There is no model to answer yet.",
  nothingUsableHow: [
    "Do one of these, then press Look again:",
    "Set a key before Jupyter starts, for example OPENAI_API_KEY or ANTHROPIC_API_KEY.",
    "Or start a local server: install Ollama and run “ollama pull qwen2.5-coder:7b”.",
    "Or name any model that LiteLLM knows under “Another model…”.",
  ],
  lookAgain: "Look again",
  tryOne: "Try one of these",

  // images
  image: "Image",
  enlarge: "Enlarged image",

  // trouble
  silent: "The kernel did not answer. It may be restarting, or gone: check it and try again.",
  late: (what: string, seconds: number) =>
    `The kernel heard “${what}” but gave no answer within ${seconds} s. Try again, or restart the kernel.`,
  damaged: (why: string) =>
    `A part of this conversation could not be read (${why}). Reload the page to see it again.`,
  unknownKind: (kind: string) =>
    `This page is older or newer than the kernel's package: it does not know “${kind}”. Reload the page.`,
  noCommand: (name: string) =>
    `There is no command “/${name}”: /help lists them. To ask it as a question, put a space before it.`,
  empty: (name: string) => `“${name}” is empty: there is nothing to send.`,
  unreadable: (name: string) =>
    `“${name}” could not be read: it may be a folder, or it was moved. Attach it again.`,
  tooBig: (name: string, size: string, limit: string) =>
    `“${name}” is ${size}: a question carries at most ${limit}. Give the model its path instead.`,
  tooMuch: (name: string, sum: string, limit: string) =>
    `With “${name}” the attachments are ${sum} together: a question carries at most ${limit}.`,
  tooMany: (name: string, limit: number) =>
    `“${name}” was left out: a question takes at most ${limit} attachments.`,
} as const;

/** Seconds for a person: 3.2 s, 48 s, 2 min 05 s. */
export function span(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
}

/** 950 B, 12 kB, 3.4 MB. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** US dollars: $0.000021, $0.0012, $0.013, $1.25. */
export function dollars(cost: number): string {
  if (cost < 0.0001) return `$${cost.toFixed(Math.min(12, 1 - Math.floor(Math.log10(cost))))}`;
  return `$${cost.toFixed(cost < 0.01 ? 4 : cost < 1 ? 3 : 2)}`;
}

/** 950, 2.7k, 1.2M */
export function short(number: number): string {
  if (number < 1_000) return String(number);
  if (number < 999_950) return `${(number / 1_000).toFixed(1)}k`;
  return `${(number / 1_000_000).toFixed(1)}M`;
}

/** 12,345 */
export function count(number: number): string {
  return number.toLocaleString("en-US");
}

const DAY_MS = 86_400_000;
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A time as a person says it: just now, 5 min ago, 14:05, yesterday 14:05, Monday 14:05, 3 May 2025. */
export function when(iso: string, now = new Date()): string {
  const time = new Date(iso);
  const passed = now.getTime() - time.getTime();
  if (Number.isNaN(passed)) return "";
  if (passed >= 0 && passed < 60_000) return "just now";
  if (passed >= 0 && passed < 3_600_000) return `${Math.floor(passed / 60_000)} min ago`;
  const clock = `${time.getHours()}:${String(time.getMinutes()).padStart(2, "0")}`;
  const days = Math.round((midnight(now) - midnight(time)) / DAY_MS); // a day may have 23 hours
  if (days === 0) return clock;
  if (days === 1) return `yesterday ${clock}`;
  if (days > 1 && days < 7) return `${DAYS[time.getDay()] ?? ""} ${clock}`;
  const day = `${time.getDate()} ${MONTHS[time.getMonth()] ?? ""}`;
  return time.getFullYear() === now.getFullYear() ? day : `${day} ${time.getFullYear()}`;
}

function midnight(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}
