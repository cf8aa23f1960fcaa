/**
 * The list of records: imperative, so that a chunk costs what it changes and no more.
 *
 * One rule: every record has its own node from the start; what is in it is drawn when it is
 * near, and one record changes without the others. It follows the end only while the reader is
 * there (within 40 px), and never moves what is being read.
 */

import { isQuestion, type Conversation, type Entry, type Happening } from "../conversation";
import { textOf, type Message } from "../lmc";
import type { Turn } from "../protocol";
import { el } from "../render/rendering";
import { WORDS } from "../words";
import { footer } from "./footer";
import { Row, type Acts } from "./row";

const NEAR_END_PX = 40;
const AT_ONCE = 60; // records that are drawn at once; the ones before them in idle time
const PAGE = 25; // records that the browser skips together: to skip each by itself costs each frame
const SLICE_MS = 8;
const AHEAD = "1500px 0px";
type Schedule = (work: () => void) => () => void;
interface Page {
  node: HTMLElement;
  height: number;
}

export class MessageList {
  readonly element: HTMLElement;
  /** Called when the reader leaves the end, or comes back to it. */
  onFollow: (following: boolean) => void = () => undefined;
  readonly #conversation: Conversation;
  readonly #acts: Acts;
  readonly #list: HTMLElement;
  readonly #above = el("p", "lmc-hint lmc-earlier", WORDS.earlier);
  readonly #rows: Row[] = [];
  readonly #pages: Page[] = [];
  readonly #footers = new Map<string, { node: HTMLElement; signature: string }>();
  readonly #undo: (() => void)[] = [];
  readonly #near: IntersectionObserver | null;
  #following = true;
  #last = { scrollTop: 0, scrollHeight: 0, clientHeight: 0 };
  #idle: (() => void) | null = null;
  #marked: Row | null = null;

  constructor(conversation: Conversation, acts: Acts) {
    this.#conversation = conversation;
    this.#acts = acts;
    this.#list = el("div", "lmc-list");
    this.element = el("div", "lmc-log", this.#above, this.#list);
    this.element.setAttribute("role", "log");
    this.element.setAttribute("aria-label", WORDS.messages);
    // a whole message is announced once, in a status of its own; not each piece of it
    this.element.setAttribute("aria-live", "off");
    this.element.tabIndex = 0;
    this.element.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#near = this.#observeNearness();
    this.#observeSizes();
    this.#setFollowing(true);
    conversation.entries.forEach((entry) => this.#add(entry)); // it leaves out the holes
    this.#placeFooters();
    this.#above.hidden = conversation.first === 0;
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
    this.#rows.forEach((row) => row.dispose());
    this.element.remove();
  }

  // What happens ---------------------------------------------------------------------------------

  #on(happening: Happening): void {
    this.#show(happening);
    this.#above.hidden = this.#conversation.first === 0;
  }

  #show(happening: Happening): void {
    switch (happening.kind) {
      case "appended":
        this.#add(happening.entry);
        this.#announceNote(happening.entry);
        break;
      case "filled":
        this.#fill(happening.from, happening.to);
        break;
      case "grown":
        this.#rows[happening.entry.at]?.grow(happening.text, happening.cut);
        break;
      case "whole":
        this.#rows[happening.entry.at]?.end();
        this.#acts.announce(announcement(happening.entry.record.message));
        break;
      case "marked":
        this.#rows[happening.entry.at]?.mark(happening.entry, happening.content);
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
    const row = new Row(entry, this.#conversation, this.#acts);
    this.#rows[entry.at] = row;
    const page = this.#place(row);
    page.height += entry.kind === "message" ? guess(entry.record.message) : 40;
    page.node.style.setProperty("--lmc-guess", `${page.height}px`);
    for (let at = entry.at - 1; row.isQuestion; at -= 1) {
      const before = this.#rows[at];
      if (!before?.isFigure) break;
      this.#place(before);
    }
    const last = this.#conversation.entries.length - 1;
    if (entry.at > last - AT_ONCE || (entry.kind === "message" && entry.open)) row.draw();
    else if (!this.#idle) this.#drawInIdle();
  }

  /** Show those of before which have come, from the last one on; some may have stood here all the time. */
  #fill(from: number, to: number): void {
    // at its very top a browser does not keep in place what is read there
    const isAtTop = !this.#following && this.element.scrollTop === 0;
    const before = isAtTop ? this.element.scrollHeight : 0;
    for (const entry of this.#conversation.entries.slice(from, to).reverse()) {
      if (!this.#rows[entry.at]) this.#add(entry);
    }
    if (isAtTop) this.element.scrollTop = this.element.scrollHeight - before;
  }

  /** Put a row into its page, before those that come after it. */
  #place(row: Row): Page {
    const [number, place] = this.#order(row);
    const page = this.#page(number);
    const next = [...page.node.children].find((node) => {
      const other = node instanceof HTMLElement && node !== row.node && this.#rows[Number(node.dataset["at"])];
      if (!other) return false;
      const [after, behind] = this.#order(other);
      return after > number || (after === number && behind > place);
    });
    page.node.insertBefore(row.node, next ?? null);
    return page;
  }

  /** Figures of cells go before their question, and stand below it, where its cells are named. */
  #order({ entry, isFigure }: Row): [number: number, place: number] {
    let { at } = entry;
    while (isFigure && this.#rows[at]?.isFigure) at += 1;
    return isFigure && this.#rows[at]?.isQuestion ? [at, entry.at] : [entry.at, -1];
  }

  #announceNote(entry: Entry): void {
    if (entry.kind === "note" && this.#conversation.ready) this.#acts.announce(entry.note.note);
  }

  /** The page of the record with this number. */
  #page(number: number): Page {
    const at = Math.floor(number / PAGE);
    let page = this.#pages[at];
    if (!page) {
      page = { node: el("div", "lmc-page"), height: 0 };
      page.node.dataset["page"] = String(at);
      this.#pages[at] = page;
      let next = at + 1;
      while (next < this.#pages.length && !this.#pages[next]) next += 1;
      this.#list.insertBefore(page.node, this.#pages[next]?.node ?? null);
    }
    this.#near?.observe(page.node); // again where it was near once, and gets something new
    return page;
  }

  /** Code that waits is shown in the question below; here only that it does. */
  #markAsked(): void {
    const { ask, state } = this.#conversation;
    const at = ask && state.where !== "cell" ? ask.at : -1;
    this.#rows.slice(-20).forEach((row) => row.node.classList.toggle("lmc-asked", row.entry.at === at));
  }

  #remove(from: number): void {
    this.#rows.splice(from).forEach((row) => {
      row.dispose();
      row.node.remove();
      if (row === this.#marked) this.#marked = null;
    });
    this.#pages.splice(Math.ceil(from / PAGE)).forEach(({ node }) => {
      this.#near?.unobserve(node);
      node.remove();
    });
  }

  /** The active line belongs to the code that runs: the last one before the console. */
  #line(line: number | null): void {
    let row = this.#marked;
    if (line !== null) {
      row = this.#rows.filter(({ isCode }) => isCode).pop() ?? null;
    }
    if (this.#marked !== row) this.#marked?.line(null);
    row?.line(line);
    this.#marked = line === null ? null : row;
  }

  // Turns ----------------------------------------------------------------------------------------

  /** Under the last record of each turn that is over: what it took, and what can be done. */
  #placeFooters(): void {
    const turns = this.#conversation.turns;
    const ids = new Set(turns.map((turn) => turn.id));
    for (const [id, { node }] of this.#footers) {
      if (ids.has(id)) continue;
      node.remove();
      this.#footers.delete(id);
    }
    turns.forEach((turn, index) => {
      if (turn.where === "agent") this.#rows[turn.at]?.sign(turn.model);
      const next = turns[index + 1];
      const last = !next;
      let at = (next ? this.#beginning(next) : this.#rows.length) - 1;
      const isStopped = this.#rows.slice(turn.at, at + 1).some(({ isStopped }) => isStopped);
      const signature = JSON.stringify([turn, last, isStopped]);
      let entry = this.#footers.get(turn.id);
      if (entry?.signature !== signature) {
        const node = footer(turn, last, isStopped, this.#acts);
        entry?.node.replaceWith(node);
        entry = { node, signature };
        this.#footers.set(turn.id, entry);
      }
      while (at > turn.at && this.#rows[at]?.isNotice) at -= 1; // it came after the answer
      const anchor = this.#rows[at]?.node;
      if (anchor && anchor.nextSibling !== entry.node) anchor.after(entry.node);
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

  // Scrolling ------------------------------------------------------------------------------------

  #scrolled(): void {
    const last = this.#last;
    const { scrollTop, scrollHeight, clientHeight } = this.#measure();
    // growth alone never counts as leaving, nor does the way up of a list that got more room, or
    // less to show: that was the browser, and it may have grown since; only the reader's own does
    const isMoved = clientHeight !== last.clientHeight || scrollHeight < last.scrollHeight;
    if (scrollHeight - scrollTop - clientHeight < NEAR_END_PX) this.#setFollowing(true);
    else if (scrollTop < last.scrollTop && !isMoved) this.#setFollowing(false);
    else if (this.#following) this.#pin();
  }

  #measure() {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    return (this.#last = { scrollTop, scrollHeight, clientHeight });
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
    this.#measure();
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
          this.#rows.slice(from, from + PAGE).forEach((row) => row.draw());
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
        row.draw();
        if (performance.now() < until) continue;
        this.#idle = whenIdle(work);
        return;
      }
    };
    this.#idle = whenIdle(work);
  }
}

const whenIdle: Schedule = (work) => {
  if (typeof requestIdleCallback === "function") {
    const id = requestIdleCallback(work, { timeout: 2_000 });
    return () => cancelIdleCallback(id);
  }
  const id = setTimeout(work, 30);
  return () => clearTimeout(id);
};

/** A first guess of the height in px; the browser remembers the real one. */
function guess(message: Message): number {
  const text = typeof message.content === "string" ? message.content : "";
  if (message.type === "image") return 300;
  const lines = Math.ceil(text.length / 60) + (text.match(/\n/g)?.length ?? 0);
  return Math.min(24 + lines * 20, 900);
}

const ANNOUNCED = 1_500; // characters

function announcement(message: Message): string {
  if (message.role === "user" || message.recipient === "assistant") return "";
  if (message.type !== "message") return "";
  const text = textOf(message.content);
  return text.length > ANNOUNCED ? `${text.slice(0, ANNOUNCED)} …` : text;
}

