/**
 * Every word that the panel's own parts say to a person.
 *
 * One rule: no file of `panel/` holds a sentence. What is said of a message that cannot be shown
 * stands beside what draws it (`render/`), the sidebar's words are JupyterLab's to translate
 * (`lab/`), and the names of the states and the commands are the kernel's (`Tables` of protocol.ts).
 */

import type { Fate } from "./protocol";

export const FATES: Readonly<Record<Fate, string>> = {
  "": "",
  waits: "waits for your decision",
  running: "running…",
  ran: "you ran this",
  "ran unasked": "ran without asking",
  edited: "you edited and ran this",
  "not run": "not run",
  stopped: "stopped",
};

/** Where the notebook has a frame of data. */
export const EXAMPLES_OF_FRAME: readonly ((name: string) => string)[] = [
  (name) => `Which columns of ${name} have missing values?`,
  (name) => `Describe the columns of ${name} in a table.`,
  (name) => `Plot the most interesting columns of ${name}.`,
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
  earlier: "The earlier messages are still on their way.",
  toEnd: "Jump to the end",
  dismiss: "Dismiss",
  autoRun: "Code runs without asking.",
  autoRunHow: "To be asked again: %config LMC.auto_run = False",
  asksForChanges: "Code that only reads and makes new names runs without asking.",
  asksForChangesHow: "It is watched while it runs. To be asked for all code: the menu below the field.",
  tutor: {
    hints: ["This course gives hints and no answers.", "Whatever you ask, you get the next hint; %lmc test says which tests fail."],
    off: ["In this course no model is asked.", "%lmc test says which tests fail."],
  },
  promiseLabel: "This code wants to do more",
  asks: "Ask before code runs",
  askWays: {
    always: ["For each block", ""],
    changes: ["Only for changes", "what only reads and makes new names runs"],
    never: ["Never", "all code runs with your rights"],
  },

  // the record of a message
  you: "You",
  model: "Model",
  computer: "Computer",
  note: "Note",
  partial: "Stopped here.",
  underlined: "Underlined",
  inNoOutput: "not found in any output",
  whereItStands: "Show where it stands",
  kernelEnded: "Stopped here: the kernel ended",
  forModel: "For the model",
  moreOfFrame: "Source, and what the model reads",
  thoughts: "Thoughts",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "The browser did not allow copying: select the text and press Ctrl+C.",
  copyCode: "Copy the code",
  insert: "Insert as a new cell below",
  insertShort: "Insert",
  runInCell: "Insert as a new cell below, and run it there",
  inserted: "Inserted below the active cell.",
  insertCopied: "There is no notebook here to insert into: the code was copied instead.",
  replace: "Replace the cell with this code",
  proposal: (cell: number | undefined) => (cell ? `Proposal for In [${cell}]` : "Proposal for a cell"),
  taken: { inserted: "inserted as a cell", replaced: "cell replaced", ran: "cell replaced and run" },
  proposalGone: "This proposal is no longer in the conversation.",
  insertBelow: "Insert below",
  replaceRun: "Replace and run…",
  replaceCopied: "The cell cannot be replaced from here: the code was copied instead.",
  edit: "Edit the question",
  editLabel: "Your question, to edit",
  editSend: "Ask this instead",
  editHint: "Everything after this question is removed from the conversation. Your variables do not change.",
  cancel: "Cancel",
  retry: "Ask again",
  undo: "Remove this question and its answer",
  sent: "What was sent",
  names: "What this code did to your variables",
  nameNew: "new:",
  nameChanged: "changed:",
  nameRemoved: "removed:",
  moreNames: (count: number) => `… ${count} more`,
  restore: "Restore",
  restoreLabel: "Restore the variables that this code changed.",
  restoreHint:
    "Give these variables the values from before this code. Files, the network and other programs are not restored.",
  breach: (what: string) => `While this ran unasked, ${what}.`,
  restored: "Restored: these variables are as they were before this code.",
  hasRun: (fate: string, seconds: string, failed = false) =>
    [fate, failed ? (seconds ? `failed after ${seconds}` : "failed") : seconds].filter(Boolean).join(" · "),

  good: "Good answer",
  bad: "Bad answer",

  // the head, the history, files
  untitled: "New conversation",
  newChatHint: "Start a new conversation. This one stays in the history.",
  history: "Conversations",
  historyOf: (title: string) => `Conversations; this one: ${title}`,
  historyNone: "No conversation is saved yet. A conversation is saved from its first question on.",
  search: "Search titles and contents",
  foundNone: (search: string) => `No conversation contains “${search}”.`,
  foundMany: (count: string) => (count === "1" ? "1 conversation" : `${count} conversations`),
  more: "Show more",
  current: "open in this notebook",
  held: "open in another notebook",
  heldHint: "Another kernel uses this conversation. Here it opens as a copy.",
  here: "This notebook",
  elsewhere: "Other notebooks",
  messageCount: (count: number) => (count === 1 ? "1 message" : `${count} messages`),
  ofKept: (act: string, title: string) => `${act}: ${title}`,
  fork: "Open a copy",
  rename: "Rename",
  renameLabel: "The conversation's title",
  delete: "Delete",
  deleteAsk: (title: string) => `Delete “${title}” permanently? You cannot undo this.`,
  deleted: (title: string) => `“${title}” was deleted.`,
  deleteAll: "Delete all of these…",
  deleteAllAsk: (number: number) =>
    `Delete ${number} conversations permanently? The ones that are open stay. You cannot undo this.`,
  deletedAll: (number: number) => `${number} conversations were deleted.`,
  keep: "Keep",
  continue: (title: string) => `Continue “${title}”`,
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
  openedFile: (name: string) => `Opened “${name}”. The previous conversation is in the history.`,
  fileRefused: (name: string, why: string) => `“${name}” was not opened: ${why}`,
  fileUnreadable: (name: string) =>
    `“${name}” could not be read: it may be a folder, or it was moved. Choose it again.`,
  fileTooBig: (name: string, size: string, limit: string) =>
    `“${name}” is ${size}: the browser can send at most ${limit}. Put it beside the notebook and write /load ${name}`,
  leftOut: "Older messages were left out",

  // what a turn took
  tokens: (count: string) => `${count} tokens`,
  tokensCounted: (count: string, cached: string) => `${count} tokens (counted${cached && `, ${cached} cached`})`,
  tokensEstimate: (count: string) => `about ${count} tokens (estimated)`,
  tokensHint: (prompt: string, completion: string) =>
    `${prompt} tokens sent to the model, ${completion} tokens received`,
  sentTitle: "What was sent to the model",
  sentIntro: "The exact requests of this turn, in order. They never contain keys.",
  sentRaw: "Raw JSON",
  characters: (text: string) => `${count(text.length)} characters`,
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
  replaceCell: (number: string) => (number ? `Replace cell ${number}…` : "Replace the cell…"),
  replaced: (isRun: boolean) => `the user put this code into the cell${isRun ? " and ran it there" : ""}`,
  replaceNot: "The cell cannot be replaced from here.",
  decline: "Don't run",
  reason: "Reason for not running it",
  reasonHint: "Reason (optional, the model reads it)",
  runAll: "Run everything in this answer",
  onlyChanges: "Ask only for changes",
  onlyChangesHint: "From now on, code that only reads and makes new names runs without asking",
  runAllHint: "Run this code, and all further code of this answer without asking",
  agent: (name: string) => `${name} (agent)`,
  runAllAgent: (name: string) => `Run all blocks from ${name} (until one minute of silence)`,
  code: "The code, to edit",
  codeKeys: "Tab indents. Ctrl+Enter runs the edited code. Press Escape, then Tab, to go on to the buttons.",
  effectsLater: "Reading what the edited code will do…",
  effectsUnknown: "What the edited code will do is not known.",
  unread: "Run without reading it all",
  unreadHint: "Scroll to the end of the code to run it.",
  takenOut: (number: number) =>
    `${number === 1 ? "One hidden character was" : `${number} hidden characters were`} removed here: ` +
    "what runs is what you see.",
  again: "The kernel did not answer: press again.",
  decided: "Sent…",
  notRun: "not run: the kernel ended",
  unanswered: "The last code has not run: it waits for your decision.",
  goOn: "Decide now",
  inCell: "This code waits for you in the notebook cell where you asked.",
  toCell: "Go to the cell",
  notInSight: "The cell is not in this page: open its notebook, and look for the running cell.",
  announceAsk: (language: string, agent = "") =>
    `${agent || "The model"} wants to run ${language} code: run it or not?`,

  // a running program's question
  inputLabel: "The code asks you",
  inputHint: "Esc stops the code",
  inputSent: "Sent…",
  inputSend: "Answer",
  inputLine: "A line of input",
  inputPassword: "A password",
  announceInput: (prompt: string) => `The code asks you: ${prompt || "a line of input"}`,
  keyLabel: (name: string) => `API key for ${name}`,
  keyHint: "Esc cancels",
  keySend: "Use this key",

  // the state line
  stop: "Stop",
  stopHint: "Stop this answer. The text so far stays.",
  stopping: "Stopping…",
  connecting: "Connecting to the kernel…",

  // the ledger
  goes: "Sends",
  goesAlways: "This goes with every question",
  ledgerHint: "What of the notebook goes with your question: look, untick, pin",
  reset: "Reset",
  resetHint: "Tick again all that you have unticked",
  pin: "Send with every question",
  hide: "Hide from all models",
  look: "Show its exact text",
  hidden: (title: string, tagged: boolean) =>
    tagged
      ? `${title} goes to no model any more: its cell has the tag lmc-hide now.`
      : `${title} goes to no model any more. To hide later runs of the cell too, give it the tag lmc-hide.`,
  sentWith: (line: string) => `Sent with the question: ${line}`,
  values: "values of variables",
  sentFigure: (cell: string) => `Sent with the question: figure of ${cell}`,

  // the composer
  composer: "Your message",
  placeholder: "Ask about your notebook",
  placeholderBusy: "Next question; Enter adds it to the queue",
  busyCommand: "The model is answering. Your command stays here: press Enter again after the answer, or press Stop.",
  busyAttached: "The model is answering. A question with attachments cannot wait in the queue: send it after the answer.",
  queue: "Questions that wait",
  queueHint: "Queued. Sent with the next step, or when this answer ends:",
  queueStopped: "These questions were not asked:",
  queueNow: "Now",
  queueNowHint: "Stop this answer and ask this now",
  queueAskHint: "Ask this now",
  queueEdit: (text: string) => `Edit “${text}”`,
  queueSave: "Save",
  queueEarlier: (text: string) => `Ask “${text}” earlier`,
  send: "Send",
  sendHint: (key: string) => `Send (${key})`,
  attach: "Attach images or files",
  remove: (name: string) => `Remove ${name}`,
  attachments: "Attached",
  seesUnknown: (model: string) =>
    `${model} is not known to see images. It only gets the format and size of yours.`,
  seesNot: (model: string) => `${model} does not see images. It only gets the format and size of yours.`,
  sendAnyway: "Send the image anyway",
  sendFigure: "Send anyway",
  figureGoes: (numbers: number[]) =>
    `Now ${numbers.map((number) => `@cell ${number}`).join(" and ")} comes with its figure. Please answer again.`,
  dropHere: "Drop to attach",
  record: "Record your voice",
  recording: "Recording",
  recordStop: "Stop and attach",
  recordEnds: "Finishing the recording…",
  recordedAll: (most: string) => `The recording stopped at its limit of ${most}. It is attached.`,
  recordNoRoom: "The attachments leave no room for a recording: remove an attachment first.",
  discard: "Discard",
  discarded: "The recording was discarded.",
  micInsecure:
    "The browser lets pages record only on https or localhost: open Jupyter at such an address, or attach a wav file.",
  micNone: "This browser cannot record sound: attach a wav file instead.",
  micDenied:
    "The browser did not allow the microphone: allow it for this page in the browser (beside the address), then press again.",
  micMissing: "No microphone was found: connect one, then press again; or attach a wav file.",
  micBusy: "The microphone could not be opened: another program may be using it. Close that, then press again.",
  micFailed: (why: string) => `Nothing was recorded: ${why}. Try again, or attach a wav file.`,
  micEmpty: "The recording is empty. Check the microphone, then record again.",
  suggestions: "Suggestions",
  menu: "More actions",
  newChat: "New conversation",
  enterSends: "Enter sends",
  enterSendsHint: (on: boolean) =>
    on ? "Shift+Enter adds a line" : "Enter adds a line, Shift+Enter sends",
  commands: "Commands",
  references: "Cells and variables",

  // the model picker
  pickModel: (label: string) => `Model: ${label}`,
  noModel: "Choose a model",
  models: "Models that are available now",
  noModels: "No other model was found on this machine.",
  looking: "Looking for models…",
  another: "Another model…",
  anotherName: "Name of the model, as LiteLLM knows it",
  anotherNameHint: "openai/gpt-5-mini",
  anotherBase: "Address of its server (optional)",
  anotherBaseHint: "http://127.0.0.1:11434",
  anotherKey: "Its key: type /key in the message field, or put it into an environment variable.",
  forAll: "For all notebooks",
  use: "Use this model",
  using: "Preparing the model…",

  // the first-run screen
  course: "Work on your exercise",
  courseText: "Write your solution into the cell of the exercise and run it. Then press one of these.",
  courseWays: [
    ["%lmc test", "says which test fails, in your teacher's words"],
    ["%lmc hint", "says one step; the next one when you have changed the cell and run it"],
  ] as readonly (readonly [string, string])[],
  welcome: "Chat with a model in your notebook",
  welcomeText:
    "Ask in plain words. The model answers here and proposes code, and when you press Run it " +
    "runs in your notebook's own kernel, with your variables.",
  answersNow: "Model:",
  alsoUsable: "Also available here",
  chooseOne: "Choose a model",
  nothingUsable: "No model is available yet.",
  nothingUsableHow: [
    "Do one of these, then press Look again:",
    "Set a key before Jupyter starts, for example OPENAI_API_KEY or ANTHROPIC_API_KEY.",
    "Or start a local server: install Ollama and run “ollama pull qwen2.5-coder:7b”.",
    "Or name any model of LiteLLM under “Another model…”, e.g. openai/gpt-5-mini.",
  ],
  lookAgain: "Look again",
  tryOne: "Try one of these",

  // images
  image: "Image",
  table: "table",
  enlarge: "Enlarged image",

  // trouble
  silent: "The kernel did not answer. It may be restarting, or it may have ended: check it and try again.",
  late: (what: string, seconds: number) =>
    `The kernel received “${what}” but did not answer within ${seconds} s. Try again, or restart the kernel.`,
  damaged: (why: string) =>
    `A part of this conversation could not be read (${why}). Reload the page to see it again.`,
  unknownKind: (kind: string) =>
    `This page and the kernel's package have different versions: the page does not know “${kind}”. Reload the page.`,
  noCommand: (name: string) =>
    `There is no command “/${name}”: /help lists them. To ask it as a question, put a space before it.`,
  empty: (name: string) => `“${name}” is empty: there is nothing to send.`,
  unreadable: (name: string) =>
    `“${name}” could not be read: it may be a folder, or it was moved. Attach it again.`,
  tooBig: (name: string, size: string, limit: string) =>
    `“${name}” is ${size}: a question can carry at most ${limit}. Write its path into the question instead.`,
  tooMuch: (name: string, sum: string, limit: string) =>
    `With “${name}” the attachments are ${sum} in total: a question can carry at most ${limit}.`,
  tooMany: (name: string, limit: number) =>
    `“${name}” was not attached: a question takes at most ${limit} attachments.`,
} as const;

/** Seconds from which on a block says how long it ran: "0.0 s" tells nobody anything. */
export const SHORTEST_SPAN = 0.05;

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
  const age = now.getTime() - time.getTime();
  if (Number.isNaN(age)) return "";
  if (age >= 0 && age < 60_000) return "just now";
  if (age >= 0 && age < 3_600_000) return `${Math.floor(age / 60_000)} min ago`;
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
