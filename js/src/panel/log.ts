/**
 * The list of records: imperative, so that a chunk costs what it changes and no more.
 *
 * One rule: every record has its own node from the start; what is in it is drawn when it is
 * near, and one record changes without the others. It follows the end only while the reader is
 * there (within 40 px), and never moves what is being read.
 */

import {
  isCode,
  isQuestion,
  type Conversation,
  type Entry,
  type Happening,
  type MessageEntry,
} from "../conversation";
import { canonical, textOf, type Chunk, type Message } from "../lmc";
import type { Names, Rating, Turn } from "../protocol";
import { begin, whole, type Host, type Rendering } from "../render";
import type { ShowWidget } from "../widgets";
import { visible } from "../render/hidden";
import { el } from "../render/rendering";
import { count, FATES, span, WORDS } from "../words";
import { icon, type IconName } from "./icons";
import { namesLine } from "./names";
import { took } from "./sent";
import { stretches } from "./stretches";

const NEAR_END_PX = 40;
const AT_ONCE = 60; // records that are drawn at once; the ones before them in idle time
const PAGE = 25; // records that the browser skips together: to skip each by itself costs each frame
const SLICE_MS = 8;
const AHEAD = "1500px 0px";
const DATA_FRAME = /<table\b[^>]*class="dataframe/;

/** What the person can do with a record; the panel does it. */
export interface Acts {
  copy(text: string, button: HTMLElement): void;
  insert(code: string, language: string, button: HTMLElement): void;
  edit(turn: Turn, text: string): Promise<void>;
  retry(turn: Turn): void;
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

interface Row {
  entry: Entry;
  node: HTMLElement;
  drawn: boolean;
  rendering: Rendering | null;
  fate: HTMLElement | null;
  /** The live widget in the place of what it stands for: its id, and what takes it away. */
  widget?: { id: string; end(): void };
  /** The names that its code changed, as they are drawn. */
  names?: { said: Names | null; node: HTMLElement };
}

type Schedule = (work: () => void) => () => void;

export class MessageList {
  readonly element: HTMLElement;
  /** Called when the reader leaves the end, or comes back to it. */
  onFollow: (following: boolean) => void = () => undefined;
  readonly #conversation: Conversation;
  readonly #acts: Acts;
  readonly #list: HTMLElement;
  readonly #rows: Row[] = [];
  readonly #pages: { node: HTMLElement; height: number }[] = [];
  readonly #footers = new Map<string, { node: HTMLElement; said: string }>();
  readonly #undo: (() => void)[] = [];
  readonly #near: IntersectionObserver | null;
  #following = true;
  #lastTop = 0;
  #idle: (() => void) | null = null;
  #marked: Row | null = null;

  constructor(conversation: Conversation, acts: Acts) {
    this.#conversation = conversation;
    this.#acts = acts;
    this.#list = el("div", "lmc-list");
    this.element = el("div", "lmc-log", this.#list);
    this.element.setAttribute("role", "log");
    this.element.setAttribute("aria-label", WORDS.messages);
    // a whole message is announced once, in a status of its own; not each piece of it
    this.element.setAttribute("aria-live", "off");
    this.element.tabIndex = 0;
    this.element.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#near = this.#observeNearness();
    this.#observeSizes();
    this.#setFollowing(true);
    for (const entry of conversation.entries) this.#add(entry);
    this.#placeFooters();
    this.#undo.push(conversation.watch((happening) => this.#on(happening)));
  }

  get following(): boolean {
    return this.#following;
  }

  toEnd(): void {
    this.#setFollowing(true);
    this.#pin();
  }

  dispose(): void {
    for (const undo of this.#undo.splice(0)) undo();
    this.#idle?.();
    this.#near?.disconnect();
    for (const row of this.#rows) dispose(row);
    this.element.remove();
  }

  // What happens ---------------------------------------------------------------------------------

  #on(happening: Happening): void {
    switch (happening.kind) {
      case "appended":
        this.#add(happening.entry);
        break;
      case "grown":
        this.#grow(happening.entry, happening.text, happening.cut);
        break;
      case "whole":
        this.#end(happening.entry);
        break;
      case "marked":
        this.#mark(happening.entry, happening.content);
        break;
      case "cut":
        this.#remove(happening.from);
        break;
      case "line":
        this.#line(happening.line);
        break;
      case "turns":
        this.#placeFooters();
        break;
      case "ask":
      case "state":
        this.#markAsked();
        break;
      case "replaced":
      case "ready":
        this.toEnd();
        break;
      default:
        break;
    }
  }

  #add(entry: Entry): void {
    const node = el("article", "lmc-record");
    node.dataset["at"] = String(entry.at);
    const row: Row = { entry, node, drawn: false, rendering: null, fate: null };
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
    this.#rows.push(row);
    this.#page(entry).append(node);
    const last = this.#conversation.entries.length - 1;
    if (entry.at > last - AT_ONCE || (entry.kind === "message" && entry.open)) this.#draw(row);
    else if (!this.#idle) this.#drawInIdle();
    if (entry.kind === "note" && this.#conversation.ready) this.#acts.announce(entry.note.note);
  }

  /** The page that it belongs to, which is a little taller now. */
  #page(entry: Entry): HTMLElement {
    const at = Math.floor(entry.at / PAGE);
    let page = this.#pages[at];
    if (!page) {
      page = { node: el("div", "lmc-page"), height: 0 };
      page.node.dataset["page"] = String(at);
      this.#pages[at] = page;
      this.#list.append(page.node);
      this.#near?.observe(page.node);
    }
    page.height += entry.kind === "message" ? guess(entry.record.message) : 40;
    page.node.style.setProperty("--lmc-guess", `${page.height}px`);
    return page.node;
  }

  #grow(entry: MessageEntry, text: string, cut: number): void {
    const row = this.#rows[entry.at];
    if (!row) return;
    this.#draw(row);
    row.rendering?.push(text, cut);
    if (text) row.node.classList.remove("lmc-empty");
  }

  #end(entry: MessageEntry): void {
    const row = this.#rows[entry.at];
    if (!row) return;
    this.#draw(row);
    row.rendering?.end();
    row.node.removeAttribute("aria-busy");
    this.#label(row);
    this.#acts.announce(announcement(entry.record.message));
  }

  #mark(entry: MessageEntry, content: string | undefined): void {
    const row = this.#rows[entry.at];
    if (!row) return;
    row.entry = entry;
    if (!row.drawn) return;
    if (content !== undefined) row.rendering?.replace(content);
    this.#label(row);
  }

  #remove(from: number): void {
    for (const row of this.#rows.splice(from)) {
      dispose(row);
      row.node.remove();
      if (row === this.#marked) this.#marked = null;
    }
    for (const { node } of this.#pages.splice(Math.ceil(from / PAGE))) {
      this.#near?.unobserve(node);
      node.remove();
    }
  }

  /** The active line belongs to the code that runs: the last one before the console. */
  #line(line: number | null): void {
    let row = this.#marked;
    if (line !== null) {
      row = this.#rows.filter(({ entry }) => entry.kind === "message" && isCode(entry.record.message)).pop() ?? null;
    }
    if (this.#marked !== row) this.#marked?.rendering?.line(null);
    row?.rendering?.line(line);
    this.#marked = line === null ? null : row;
  }

  // Drawing one record ---------------------------------------------------------------------------

  #draw(row: Row): void {
    if (row.drawn) return;
    row.drawn = true;
    const { entry, node } = row;
    if (entry.kind === "note") {
      const parts = stretches(entry.note.note);
      node.append(el("p", "lmc-said-text", ...parts.map(({ text, code }) => (code ? el("code", "", text) : text))));
      return;
    }
    const { message, cut, tail } = entry.record;
    const host = this.#acts.host(entry.at);
    if (entry.open) {
      const rendering = begin(headOf(message), host);
      row.rendering = rendering;
      const text = textOf(message.content);
      if (text) rendering.push(text);
      if (cut !== undefined) rendering.push(tail ?? "", cut);
    } else {
      const rest = cut === undefined ? undefined : { cut, text: tail ?? "" };
      row.rendering = whole(message, { ...host, isPast: true }, rest);
    }
    if (message.content === "" && message.type === "console") node.classList.add("lmc-empty");
    row.fate = el("span", "lmc-fate");
    const content = folded(message, row.rendering.element);
    if (message.type === "code") {
      const head = el("div", "lmc-code-head", el("b", "", blockName(message)), row.fate);
      head.append(this.#tools(row));
      node.append(el("div", "lmc-code-card", head, content));
    } else {
      node.append(content, row.fate);
      const tools = this.#tools(row);
      if (tools.childElementCount) node.append(tools);
    }
    this.#label(row);
  }

  /** What has become of it, in words. */
  #label(row: Row): void {
    if (row.entry.kind !== "message" || !row.fate) return;
    const { fate = "", seconds, partial, message } = row.entry.record;
    const time = seconds !== undefined && fate !== "running" ? span(seconds) : "";
    const said = fate ? WORDS.hasRun(FATES[fate] ?? fate, time) : partial ? WORDS.partial : "";
    row.fate.textContent = said;
    const heading = row.node.querySelector(".lmc-code-head > b");
    if (heading) heading.textContent = blockName(message); // a table is known when it is whole
    row.node.dataset["fate"] = fate;
    row.node.classList.toggle("lmc-partial", Boolean(partial));
    if (message.content !== "") row.node.classList.remove("lmc-empty");
    this.#name(row);
    this.#rate(row);
    this.#showWidget(row);
  }

  /** The person's thumb, which stays in sight. */
  #rate(row: Row): void {
    if (row.entry.kind !== "message") return;
    const { feedback } = row.entry.record;
    row.node.classList.toggle("lmc-rated", Boolean(feedback));
    for (const button of row.node.querySelectorAll<HTMLElement>(".lmc-thumb")) {
      button.setAttribute("aria-pressed", String(button.dataset["rating"] === feedback));
    }
  }

  /** The widget in place of its text, which stays where it cannot be shown, or is closed. */
  #showWidget(row: Row): void {
    const { widget: show } = this.#acts;
    if (row.entry.kind !== "message" || !show) return;
    const { widget: id } = row.entry.record;
    if (id === undefined || id === row.widget?.id) return;
    row.widget?.end();
    const place = el("div", "lmc-widget");
    const take = show(id, place, (live) => row.node.classList.toggle("lmc-has-widget", live));
    row.node.prepend(place);
    const end = () => {
      take();
      place.remove();
    };
    row.widget = { id, end };
  }

  /** What code did to the user's names, below it. */
  #name(row: Row): void {
    if (row.entry.kind !== "message") return;
    const { names } = row.entry.record;
    if (names === row.names?.said) return;
    const before = row.names?.node;
    const focused = before?.contains(focusOf(row.node)) ?? false;
    before?.remove();
    delete row.names;
    if (names === undefined) return;
    const node = namesLine(names, (button) => this.#acts.restore(row.entry.at, button));
    row.node.querySelector(".lmc-code-card")?.append(node);
    row.names = { said: names, node };
    if (names === null && before) this.#acts.announce(WORDS.restored);
    if (focused) {
      node.tabIndex = -1; // the button is gone, the focus must not go with it
      node.focus({ preventScroll: true });
    }
  }

  /** Code that waits is shown in the question below; here only that it does. */
  #markAsked(): void {
    const { ask, state } = this.#conversation;
    const at = ask && state.where === "panel" ? ask.at : -1;
    for (const row of this.#rows.slice(-20)) {
      row.node.classList.toggle("lmc-asked", row.entry.at === at);
    }
  }

  #tools(row: Row): HTMLElement {
    const tools = el("div", "lmc-tools");
    if (row.entry.kind !== "message") return tools;
    const { message } = row.entry.record;
    const text = () =>
      row.entry.kind === "message" ? textOf(row.entry.record.message.content) + (row.entry.record.tail ?? "") : "";
    const add = (label: string, name: IconName, act: (button: HTMLButtonElement) => void) =>
      tools.append(tool(label, name, act));
    if (message.type === "code") {
      add(WORDS.copyCode, "copy", (button) => this.#acts.copy(text(), button));
      const language = message.format ?? "";
      if (isCode(message)) add(WORDS.insert, "insert", (button) => this.#acts.insert(text(), language, button));
    } else if (message.type === "message" || message.type === "console") {
      add(WORDS.copy, "copy", (button) => this.#acts.copy(text(), button));
    }
    if (isQuestion(message)) add(WORDS.edit, "edit", () => this.#edit(row));
    if (isAnswer(message)) {
      for (const rating of ["up", "down"] as const) {
        const thumb = tool(rating === "up" ? WORDS.good : WORDS.bad, rating === "up" ? "good" : "bad", () => {
          const now = row.entry.kind === "message" ? row.entry.record.feedback : null;
          this.#acts.rate(row.entry.at, now === rating ? null : rating);
        });
        thumb.classList.add("lmc-thumb");
        thumb.dataset["rating"] = rating;
        tools.append(thumb);
      }
    }
    return tools;
  }

  /** The question becomes an editor in its own place. */
  #edit(row: Row): void {
    const turn = this.#conversation.turns.find((one) => one.at === row.entry.at);
    if (!turn || row.entry.kind !== "message" || row.node.querySelector(".lmc-edit")) return;
    const area = el("textarea", "lmc-edit-area");
    area.value = textOf(row.entry.record.message.content);
    area.setAttribute("aria-label", WORDS.editLabel);
    area.rows = Math.min(12, area.value.split("\n").length + 1);
    const send = el("button", "lmc-button run", WORDS.editSend);
    const cancel = el("button", "lmc-button", WORDS.cancel);
    send.type = cancel.type = "button";
    const hint = el("small", "lmc-hint", WORDS.editHint);
    const form = el("div", "lmc-edit", area, hint, el("div", "lmc-row", send, cancel));
    const close = () => {
      form.remove();
      row.node.classList.remove("lmc-editing");
      row.node.querySelector<HTMLElement>(".lmc-tools button:last-child")?.focus();
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
    row.node.classList.add("lmc-editing");
    row.node.append(form);
    area.focus();
  }

  // Turns ----------------------------------------------------------------------------------------

  /** Under the last record of each turn that is over: what it took, and what can be done. */
  #placeFooters(): void {
    const turns = this.#conversation.turns;
    const known = new Set(turns.map((turn) => turn.id));
    for (const [id, { node }] of this.#footers) {
      if (known.has(id)) continue;
      node.remove();
      this.#footers.delete(id);
    }
    turns.forEach((turn, index) => {
      const last = index === turns.length - 1;
      const said = JSON.stringify([turn, last]);
      let footer = this.#footers.get(turn.id);
      if (footer?.said !== said) {
        const node = this.#footer(turn, last);
        footer?.node.replaceWith(node);
        footer = { node, said };
        this.#footers.set(turn.id, footer);
      }
      const next = turns[index + 1];
      const anchor = this.#rows[(next ? this.#beginning(next) : this.#rows.length) - 1]?.node;
      if (anchor && anchor.nextSibling !== footer.node) anchor.after(footer.node);
    });
  }

  /** The number of a turn's first record: what was attached stands before the question. */
  #beginning(turn: Turn): number {
    let { at } = turn;
    for (; at > 0; at--) {
      const entry = this.#rows[at - 1]?.entry;
      if (entry?.kind !== "message" || entry.record.message.role !== "user") break;
      if (isQuestion(entry.record.message)) break;
    }
    return at;
  }

  #footer(turn: Turn, last: boolean): HTMLElement {
    const node = el("div", "lmc-turn");
    node.hidden = !turn.over;
    if (!turn.over) return node;
    const facts = took(turn).join(" · ");
    const time = el("span", facts ? "lmc-turn-time" : "", `${facts ? " · " : ""}${span(turn.seconds)}`);
    const said = el("span", "lmc-turn-facts", facts, time);
    if (turn.prompt_tokens !== null || turn.completion_tokens !== null) {
      said.title = WORDS.tokensHint(count(turn.prompt_tokens ?? 0), count(turn.completion_tokens ?? 0));
    }
    node.append(said);
    if (turn.requests > 0) {
      const sent = el("button", "lmc-link", WORDS.sent);
      sent.type = "button";
      sent.addEventListener("click", () => this.#acts.sent(turn, sent));
      node.append(sent);
    }
    if (turn.left_out) {
      const note = el("details", "lmc-left-out", el("summary", "", WORDS.leftOut), el("p", "", turn.left_out));
      node.append(note);
    }
    if (last) {
      const tools = el("span", "lmc-turn-tools");
      tools.append(
        tool(WORDS.retry, "retry", () => this.#acts.retry(turn)),
        tool(WORDS.undo, "undo", () => this.#acts.undo()),
      );
      node.append(tools);
    }
    return node;
  }

  // Scrolling ------------------------------------------------------------------------------------

  #scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const near = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    // growth alone never counts as leaving: only the reader's own way up does
    if (near) this.#setFollowing(true);
    else if (scrollTop < this.#lastTop) this.#setFollowing(false);
    this.#lastTop = scrollTop;
  }

  #setFollowing(following: boolean): void {
    if (this.#following !== following) {
      this.#following = following;
      this.onFollow(following);
    }
    // while it follows, the browser's own anchoring would pull the other way
    this.element.style.setProperty("overflow-anchor", following ? "none" : "auto");
  }

  #pin(): void {
    this.element.scrollTop = this.element.scrollHeight;
    this.#lastTop = this.element.scrollTop;
  }

  #observeSizes(): void {
    if (typeof ResizeObserver !== "function") return;
    const observer = new ResizeObserver(() => {
      if (this.#following) this.#pin();
    });
    observer.observe(this.#list);
    observer.observe(this.element);
    this.#undo.push(() => observer.disconnect());
  }

  #observeNearness(): IntersectionObserver | null {
    if (typeof IntersectionObserver !== "function") return null;
    return new IntersectionObserver(
      (seen) => {
        for (const { isIntersecting, target } of seen) {
          if (!isIntersecting || !(target instanceof HTMLElement)) continue;
          const from = Number(target.dataset["page"]) * PAGE;
          for (const row of this.#rows.slice(from, from + PAGE)) this.#draw(row);
          this.#near?.unobserve(target);
        }
      },
      { root: this.element, rootMargin: AHEAD },
    );
  }

  /** From the end to the beginning, a few milliseconds at a time. */
  #drawInIdle(): void {
    const work = () => {
      this.#idle = null;
      const until = performance.now() + SLICE_MS;
      for (let at = this.#rows.length - 1; at >= 0; at--) {
        const row = this.#rows[at];
        if (!row || row.drawn) continue;
        this.#draw(row);
        if (performance.now() < until) continue;
        this.#idle = whenIdle(work);
        return;
      }
    };
    this.#idle = whenIdle(work);
  }
}

/** Let go of what a row has drawn, while it still stands in the page. */
function dispose(row: Row): void {
  row.widget?.end();
  row.rendering?.dispose();
}

const whenIdle: Schedule = (work) => {
  if (typeof requestIdleCallback === "function") {
    const id = requestIdleCallback(work, { timeout: 2_000 });
    return () => cancelIdleCallback(id);
  }
  const id = setTimeout(work, 30);
  return () => clearTimeout(id);
};

/**
 * What is for the model only is folded away, and what it thinks aloud; one click shows it. What
 * code shows to the person, while the model gets a text in its place, is just shown.
 */
function folded(message: Message, content: HTMLElement): HTMLElement {
  const isSaid = message.role === "assistant" && message.type === "message";
  const thoughts = isSaid && message.recipient === "user";
  if (message.recipient !== "assistant" && !thoughts) return content;
  const summary = el("summary", "", thoughts ? WORDS.thoughts : WORDS.forModel);
  return el("details", "lmc-folded", summary, content);
}

/** What the model says to the person, not what it thinks aloud. */
function isAnswer(message: Message): boolean {
  return message.role === "assistant" && message.type === "message" && message.recipient !== "user";
}

function nameOf(message: Message): string {
  if (message.role === "user") return WORDS.you;
  return message.role === "computer" ? WORDS.computer : WORDS.model;
}

/** What a block of code is called: a frame of pandas or Polars is a table to whoever reads it. */
function blockName({ role, format, content }: Message): string {
  const isTable = role === "computer" && format === "html" && typeof content === "string" && DATA_FRAME.test(content);
  return isTable ? WORDS.table : visible(canonical(format ?? "code"));
}

function headOf(message: Message): Chunk {
  const head: Chunk = { role: message.role, type: message.type, start: true };
  if (message.format != null) head.format = message.format;
  if (message.recipient != null) head.recipient = message.recipient;
  return head;
}

/** A first guess of the height in px; the browser remembers the real one. */
function guess(message: Message): number {
  const text = typeof message.content === "string" ? message.content : "";
  if (message.type === "image") return 300;
  const lines = Math.ceil(text.length / 60) + (text.match(/\n/g)?.length ?? 0);
  return Math.min(24 + lines * 20, 900);
}

function focusOf(node: Node): Element | null {
  const tree = node.getRootNode();
  return tree instanceof Document || tree instanceof ShadowRoot ? tree.activeElement : null;
}

const ANNOUNCED = 1_500; // characters

function announcement(message: Message): string {
  if (message.role === "user" || message.recipient === "assistant") return "";
  if (message.type !== "message") return "";
  const text = textOf(message.content);
  return text.length > ANNOUNCED ? `${text.slice(0, ANNOUNCED)} …` : text;
}

function tool(label: string, name: IconName, act: (button: HTMLButtonElement) => void): HTMLButtonElement {
  const button = el("button", "lmc-iconbutton");
  button.type = "button";
  button.title = label;
  button.setAttribute("aria-label", label);
  button.append(icon(name));
  button.addEventListener("click", () => act(button));
  return button;
}
