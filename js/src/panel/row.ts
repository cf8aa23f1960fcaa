/**
 * One record of the list, as it stands in the page.
 *
 * One rule: it has its node from the start, and draws what is in it once, when it is asked to; what
 * changes later changes in place.
 */

import { isCode, isProposal, isQuestion, isThought, type Conversation, type Entry } from "../conversation";
import { canonical, textOf, type Message } from "../lmc";
import type { InsertCell, MessageRecord, Names, Origin, Rating, Receipts, ReplaceCell, Taken, Turn, Unseen } from "../protocol";
import { begin, whole, type Host, type Rendering } from "../render";
import { isFrame } from "../render/code";
import { visible } from "../render/hidden";
import { el, focusIn } from "../render/rendering";
import { headOf } from "../stream";
import type { ShowWidget } from "../widgets";
import { FATES, SHORTEST_SPAN, span, WORDS } from "../words";
import { offerCells } from "./fences";
import { icon, iconButton, type IconName } from "./icons";
import { namesLine } from "./names";
import { markNumbers, showRecord } from "./receipts";
import { stretches } from "./stretches";

const DATA_FRAME = /<table\b[^>]*class="dataframe/;

/** What the person can do with a record; the panel does it. */
export interface Acts {
  copy(text: string, button: HTMLElement): void;
  /** By a press, of which `event` tells whether a person's hand made it. */
  insert(asked: InsertCell, event: Event): void;
  /** The front end shows first what it changes. */
  replace(asked: ReplaceCell, button: HTMLElement): void;
  /** Put the proposal of this record into a cell. */
  take(entry: Entry, how: Taken, event: Event): void;
  edit(turn: Turn, text: string): Promise<void>;
  retry(turn: Turn): void;
  /** Send figures from now on, and ask again about these cells. */
  sendFigures(numbers: number[]): void;
  undo(): void;
  sent(turn: Turn, button: HTMLElement): void;
  restore(at: number, button: HTMLButtonElement): void;
  /** The person's thumb; null takes it back. */
  rate(at: number, rating: Rating | null): void;
  host(at: number): Host;
  /** Where the front end can show a live widget. */
  widget: ShowWidget | null;
  announce(sentence: string): void;
}

/** One record: its node, and how it changes. */
export class Row {
  readonly node = el("article", "lmc-record");
  readonly #conversation: Conversation;
  readonly #acts: Acts;
  #drawn = false;
  #rendering: Rendering | null = null;
  #fate: HTMLElement | null = null;
  /** The live widget in the place of what it stands for: its id, and what takes it away. */
  #widget: { id: string; end(): void } | null = null;
  #receipts: Receipts | undefined; // as they are marked
  /** The names that its code changed, as they are drawn. */
  #names: { said: Names | null; node: HTMLElement } | null = null;

  constructor(
    public entry: Entry,
    conversation: Conversation,
    acts: Acts,
  ) {
    this.#conversation = conversation;
    this.#acts = acts;
    const { node } = this;
    node.dataset["at"] = String(entry.at);
    if (entry.kind === "message") {
      const { message } = entry.record;
      node.dataset["role"] = message.role;
      node.dataset["type"] = message.type;
      node.setAttribute("aria-label", nameOf(message));
      if (entry.open) node.setAttribute("aria-busy", "true");
    } else {
      node.classList.add("lmc-said");
      node.dataset["level"] = entry.note.level;
      node.setAttribute("aria-label", WORDS.note);
    }
  }

  get drawn(): boolean {
    return this.#drawn;
  }

  get isCode(): boolean {
    return this.entry.kind === "message" && isCode(this.entry.record.message);
  }

  get isQuestion(): boolean {
    return this.entry.kind === "message" && this.entry.record.message.role === "user" && !this.isFigure;
  }

  /** The figure of a cell, which went with a question. */
  get isFigure(): boolean {
    return this.entry.kind === "message" && Boolean(this.entry.record.figure);
  }

  /** Code that was stopped. */
  get isStopped(): boolean {
    return this.entry.kind === "message" && this.entry.record.fate === "stopped";
  }

  /** A line of ours that is no error of the turn before it; or a note to the model after its answer. */
  get isNotice(): boolean {
    if (this.entry.kind === "note") return this.entry.note.level === "info";
    const { role, recipient } = this.entry.record.message;
    const before = this.#conversation.entries[this.entry.at - 1];
    return role === "computer" && recipient === "assistant" && before?.kind === "message" && isAnswer(before.record.message);
  }

  /** More of the open message; `cut` characters before it were left out. */
  grow(text: string, cut: number): void {
    this.draw();
    this.#rendering?.push(text, cut);
    if (text) this.node.classList.remove("lmc-empty");
  }

  /** The message is whole. */
  end(): void {
    this.draw();
    this.#rendering?.end();
    this.node.removeAttribute("aria-busy");
    this.#label();
  }

  /** Its marks have changed, and its content where `content` is given. */
  mark(entry: Entry, content: string | undefined): void {
    this.entry = entry;
    if (!this.#drawn) return;
    if (content !== undefined) {
      this.#rendering?.replace(content);
      this.#receipts = undefined;
    }
    this.#label();
  }

  /** This is where an agent comes in: its name stands in place of what the model reads of it. */
  sign(agent: string): void {
    this.draw();
    if (this.node.querySelector(".lmc-agent")) return;
    this.node.prepend(el("p", "lmc-agent", icon("agent"), WORDS.agent(visible(agent))));
    this.node.classList.add("lmc-signed");
    this.node.classList.remove("lmc-empty");
  }

  /** The line that runs now. */
  line(line: number | null): void {
    this.#rendering?.line(line);
  }

  /** Let go of what is drawn, while it still stands in the page. */
  dispose(): void {
    this.#widget?.end();
    this.#rendering?.dispose();
  }

  /** Draw it, unless it is drawn. */
  draw(): void {
    if (this.#drawn) return;
    this.#drawn = true;
    const { entry, node } = this;
    if (entry.kind === "note") {
      const parts = stretches(entry.note.note);
      node.append(el("p", "lmc-said-text", ...parts.map(({ text, code }) => (code ? el("code", "", text) : text))));
      return;
    }
    const { message, cut, tail } = entry.record;
    const host = this.#acts.host(entry.at);
    if (entry.open) {
      const rendering = begin(headOf(message), host);
      this.#rendering = rendering;
      const text = textOf(message.content);
      if (text) rendering.push(text);
      if (cut !== undefined) rendering.push(tail ?? "", cut);
    } else {
      const rest = cut === undefined ? undefined : { cut, text: tail ?? "" };
      this.#rendering = whole(message, { ...host, isPast: true }, rest);
    }
    if (message.content === "" && message.type === "console") node.classList.add("lmc-empty");
    const before = this.#conversation.entries[entry.at - 1];
    const isBehind = before?.kind === "message" && isFrame(before.record.message);
    node.classList.toggle("lmc-behind", isBehind && message.recipient === "assistant");
    this.#fate = el("span", "lmc-fate");
    const content = fold(entry.record, this.#rendering.element);
    if (message.type === "code") {
      const head = el("div", "lmc-code-head", el("b", "", blockName(message)), this.#fate);
      if (isFrame(message)) head.append(this.#more());
      head.append(this.#tools());
      node.append(el("div", "lmc-code-card", head, content));
      if (isProposal(message)) node.firstElementChild?.append(this.#offers(message));
    } else {
      node.append(content, this.#fate);
      const { sent, values } = entry.record;
      if (values) node.append(folded(WORDS.sentWith(WORDS.values), values));
      if (sent) {
        node.append(folded(WORDS.sentWith(sent.line), sent.text));
        if (sent.unseen) node.append(unseenLine(sent.unseen, (numbers) => this.#acts.sendFigures(numbers)));
      }
      const tools = this.#tools();
      if (tools.childElementCount) node.append(tools);
    }
    this.#label();
  }

  /** Shows what stands behind a frame: its source, and what the model reads of it. */
  #more(): HTMLElement {
    const button = iconButton(WORDS.moreOfFrame, "more", () => {
      const next = this.node.closest(".lmc-list")?.querySelector(`[data-at="${this.entry.at + 1}"]`);
      const isOpen = this.node.classList.toggle("lmc-opened");
      next?.classList.toggle("lmc-opened", isOpen);
      button.setAttribute("aria-expanded", String(isOpen));
    });
    button.setAttribute("aria-expanded", "false");
    return button;
  }

  /** What has become of it, in words. */
  #label(): void {
    if (this.entry.kind !== "message" || !this.#fate) return;
    const { fate = "", failed, seconds, partial, message, cut, taken } = this.entry.record;
    const time = seconds !== undefined && seconds >= SHORTEST_SPAN && fate !== "running" ? span(seconds) : "";
    const isCut = partial && message.role !== "computer"; // of a block its head says it
    const stateText = fate || failed ? WORDS.hasRun(FATES[fate] ?? fate, time, failed) : isCut ? WORDS.partial : taken ? WORDS.taken[taken] : "";
    this.#fate.textContent = stateText;
    const heading = this.node.querySelector(".lmc-code-head > b");
    if (heading) heading.textContent = blockName(message); // a table is known when it is whole
    this.node.dataset["fate"] = failed ? "failed" : fate;
    if (!this.entry.open) this.node.classList.toggle("lmc-empty", message.type === "console" && message.content === "");
    if (isAnswer(message) && !this.entry.open && !partial && cut === undefined) {
      offerCells(this.node, this.#origin, this.#acts.insert);
    }
    this.#name();
    this.#rate();
    this.#markNumbers();
    this.#showWidget();
  }

  /** The person's thumb, which stays in sight. */
  #rate(): void {
    if (this.entry.kind !== "message") return;
    const { feedback } = this.entry.record;
    this.node.classList.toggle("lmc-rated", Boolean(feedback));
    for (const button of this.node.querySelectorAll<HTMLElement>(".lmc-thumb")) {
      button.setAttribute("aria-pressed", String(button.dataset["rating"] === feedback));
    }
  }

  /** Where the numbers of closing words stand. */
  #markNumbers(): void {
    if (this.entry.kind !== "message" || this.entry.open || !this.#rendering) return;
    const { receipts } = this.entry.record;
    if (!receipts || this.#receipts) return;
    this.#receipts = receipts;
    markNumbers(this.#rendering.element, receipts, (at, number) => showRecord(this.node.closest(".lmc-list"), at, number));
  }

  /** The widget in place of its text, which stays where it cannot be shown, or is closed. */
  #showWidget(): void {
    const { widget: show } = this.#acts;
    if (this.entry.kind !== "message" || !show) return;
    const { widget: id } = this.entry.record;
    if (id === undefined || id === this.#widget?.id) return;
    this.#widget?.end();
    const place = el("div", "lmc-widget");
    const take = show(id, place, (live) => this.node.classList.toggle("lmc-has-widget", live));
    this.node.prepend(place);
    const end = () => {
      take();
      place.remove();
    };
    this.#widget = { id, end };
  }

  /** What code did to the user's names, below it. */
  #name(): void {
    if (this.entry.kind !== "message") return;
    const { names } = this.entry.record;
    if (names === this.#names?.said) return;
    const before = this.#names?.node;
    const hasFocus = before?.contains(focusIn(this.node)) ?? false;
    before?.remove();
    this.#names = null;
    if (names === undefined) return;
    const node = namesLine(names, (button) => this.#acts.restore(this.entry.at, button));
    this.node.querySelector(".lmc-code-card")?.append(node);
    this.#names = { said: names, node };
    if (names === null && before) this.#acts.announce(WORDS.restored);
    if (hasFocus) {
      node.tabIndex = -1; // the button is gone, the focus must not go with it
      node.focus({ preventScroll: true });
    }
  }

  /** What the person can do with a proposal, once it is whole. */
  #offers({ cell: number }: Message): HTMLElement {
    const offers = el("div", "lmc-row lmc-offers");
    const { at } = this.entry;
    const cell = this.#conversation.about(at);
    const add = (label: string, how: Taken) => {
      const button = el("button", "lmc-button", label);
      button.type = "button";
      button.addEventListener("click", (event) => this.#acts.take(this.entry, how, event));
      offers.append(button);
    };
    add(WORDS.insertBelow, "inserted");
    if (!number && !cell) return offers;
    add(WORDS.replaceCell(String(number ?? this.#conversation.numberAbout(at))), "replaced");
    add(WORDS.replaceRun, "ran");
    return offers;
  }

  readonly #origin = (): Origin => this.#conversation.originOf(this.entry.at);

  #tools(): HTMLElement {
    const tools = el("div", "lmc-tools");
    if (this.entry.kind !== "message") return tools;
    const { message } = this.entry.record;
    const text = () =>
      this.entry.kind === "message" ? textOf(this.entry.record.message.content) + (this.entry.record.tail ?? "") : "";
    const add = (label: string, name: IconName, act: (button: HTMLButtonElement, event: Event) => void) =>
      tools.append(iconButton(label, name, act));
    if (message.type === "code") {
      add(WORDS.copyCode, "copy", (button) => this.#acts.copy(text(), button));
      const language = message.format ?? "";
      if (isCode(message)) {
        const cell = this.#conversation.about(this.entry.at);
        const code = () => ({ code: text(), language, origin: this.#origin() });
        if (cell) add(WORDS.replace, "replace", (button) => this.#acts.replace({ cell, ...code() }, button));
        add(WORDS.insert, "insert", (_, event) => this.#acts.insert({ ...code(), run: false }, event));
      }
    } else if (message.type === "message" || message.type === "console") {
      add(WORDS.copy, "copy", (button) => this.#acts.copy(text(), button));
    }
    if (isQuestion(message)) add(WORDS.edit, "edit", () => this.#edit());
    if (isAnswer(message)) {
      for (const rating of ["up", "down"] as const) {
        const thumb = iconButton(rating === "up" ? WORDS.good : WORDS.bad, rating === "up" ? "good" : "bad", () => {
          const now = this.entry.kind === "message" ? this.entry.record.feedback : null;
          this.#acts.rate(this.entry.at, now === rating ? null : rating);
        });
        thumb.classList.add("lmc-thumb");
        thumb.dataset["rating"] = rating;
        tools.append(thumb);
      }
    }
    return tools;
  }

  /** The question becomes an editor in its own place. */
  #edit(): void {
    const turn = this.#conversation.turns.find((one) => one.at === this.entry.at);
    if (!turn || this.entry.kind !== "message" || this.node.querySelector(".lmc-edit")) return;
    const area = el("textarea", "lmc-edit-area");
    area.value = textOf(this.entry.record.message.content);
    area.setAttribute("aria-label", WORDS.editLabel);
    area.rows = Math.min(12, area.value.split("\n").length + 1);
    const send = el("button", "lmc-button run", WORDS.editSend);
    const cancel = el("button", "lmc-button", WORDS.cancel);
    send.type = cancel.type = "button";
    const hint = el("small", "lmc-hint", WORDS.editHint);
    const form = el("div", "lmc-edit", area, hint, el("div", "lmc-row", send, cancel));
    const close = () => {
      form.remove();
      this.node.classList.remove("lmc-editing");
      this.node.querySelector<HTMLElement>(".lmc-tools button:last-child")?.focus();
    };
    const go = () => {
      if (!area.value.trim() || send.disabled) return;
      send.disabled = true;
      // it stays as it was typed until the kernel has taken it; then the record itself goes
      void this.#acts.edit(turn, area.value).then(close, () => {
        send.disabled = false;
        area.focus();
      });
    };
    send.addEventListener("click", go);
    cancel.addEventListener("click", close);
    area.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") {
        event.stopPropagation();
        close();
      } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        go();
      }
    });
    this.node.classList.add("lmc-editing");
    this.node.append(form);
    area.focus();
  }
}

/** What went with a question, one click away. */
function folded(line: string, text: string): HTMLElement {
  return el("details", "lmc-folded", el("summary", "", line), el("pre", "", text));
}

/** A figure that is not sent, and why. */
export function unseenLine({ title, why, numbers, can_go }: Unseen, send: (numbers: number[]) => void): HTMLElement {
  const line = el("div", "lmc-hint lmc-not-sent", el("s", "", title), ` ${why}`);
  if (!can_go) return line;
  const button = el("button", "lmc-link", WORDS.sendFigure);
  button.type = "button";
  button.addEventListener("click", () => send(numbers));
  line.append(" · ", button);
  return line;
}

function nameOf(message: Message): string {
  if (message.role === "user") return WORDS.you;
  return message.role === "computer" ? WORDS.computer : WORDS.model;
}

/**
 * What is for the model only is folded away, and what it thinks aloud; one click shows it. What
 * code shows to the person, while the model gets a text in its place, is just shown.
 */
function fold({ message, figure }: MessageRecord, content: HTMLElement): HTMLElement {
  if (figure) return el("details", "lmc-folded", el("summary", "", WORDS.sentFigure(figure)), content);
  const thoughts = isThought(message);
  if (message.recipient !== "assistant" && !thoughts) return content;
  const summary = el("summary", "", thoughts ? WORDS.thoughts : WORDS.forModel);
  return el("details", "lmc-folded", summary, content);
}

/** What the model says to the person, not what it thinks aloud. */
function isAnswer(message: Message): boolean {
  return message.role === "assistant" && message.type === "message" && !isThought(message);
}

/** What a block of code is called: a frame of pandas or Polars is a table to whoever reads it. */
function blockName(message: Message): string {
  const { role, format, content, cell } = message;
  if (isProposal(message)) return WORDS.proposal(cell);
  const isTable = role === "computer" && format === "html" && typeof content === "string" && DATA_FRAME.test(content);
  return isTable ? WORDS.table : visible(canonical(format ?? "code"));
}
