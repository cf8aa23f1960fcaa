/**
 * A console: what a program printed, in colour, bounded however much it is.
 *
 * One rule: the cost of drawing does not grow with the text. The head is drawn once, the tail at
 * most a few times a second; the middle is counted, and is fetched when a person asks for it.
 */

import type { Chunk } from "../lmc";
import { Frames } from "./frames";
import { button, count, el, leftOut, scrolls, sentence, sentenceOf, type Host, type Rendering } from "./rendering";
import { Terminal, type Run } from "./terminal";

/** About so many characters are kept of the head, and of the tail. */
export const KEPT = 20_000;
const SLACK = 2_000; // so much more, to cut between two lines
const TAIL_MS = 80; // between two drawings of the tail
const PIECE = 4_000; // characters of one piece of the whole text
const COLUMNS = /\S(?: {2,}|\t+)\S/; // a gap in a line, as between the columns of a table
const WIDEST = 100; // characters of a line of a table; longer ones are those of a log
const MOST_WHOLE = 3_000_000; // characters of the whole text that are put into the page

class ConsoleRendering implements Rendering {
  readonly element = el("div", "lmc-consoles");
  readonly #host: Host;
  readonly #text = el("div");
  readonly #pre = el("pre", "lmc-console lmc-screen", this.#text);
  readonly #head = el("span");
  readonly #open = el("span"); // the head's last line, which may still change
  readonly #tail = el("span");
  readonly #frames = new Frames(() => this.#drawHead());
  readonly #tailFrames = new Frames(() => this.#drawTail(), TAIL_MS);
  #terminal = new Terminal();
  #headText = ""; // what has come for the head and is not drawn
  #headLength = 0;
  #headIsClosed = false;
  #tailText = "";
  #gaps: { at: number; cut: number }[] = []; // where in the tail the kernel has left something out
  #leftOut = 0;
  #columns = false; // there are two lines with a gap, one below the other
  #isLong = false;
  #gap: HTMLElement | null = null;
  #offer: HTMLElement | null = null;
  #whole: HTMLElement | null = null;

  constructor(host: Host) {
    this.#host = host;
    this.#text.append(this.#head, this.#open);
    this.element.append(this.#pre);
  }

  push(text: string, cut = 0): void {
    if (cut > 0) this.#cut(cut);
    let rest = text;
    if (!this.#headIsClosed) {
      this.#align(text);
      rest = this.#pushHead(text);
      this.#frames.ask();
    }
    if (rest) {
      this.#tailText += rest;
      if (this.#tailText.length > 2 * KEPT + SLACK) this.#trim();
      this.#tailFrames.ask();
    }
  }

  line(): void {}

  replace(content: string): void {
    this.#frames.cancel();
    this.#tailFrames.cancel();
    this.#terminal = new Terminal();
    this.#headText = this.#tailText = "";
    this.#headLength = this.#leftOut = 0;
    this.#gaps = [];
    this.#headIsClosed = false;
    this.#gap = this.#offer = this.#whole = null;
    this.#columns = this.#isLong = false;
    this.#text.className = "";
    for (const part of [this.#head, this.#open, this.#tail]) part.replaceChildren();
    this.#text.replaceChildren(this.#head, this.#open);
    this.element.replaceChildren(this.#pre);
    this.push(content);
  }

  end(): void {
    this.#frames.now();
    if (this.#headIsClosed) this.#tailFrames.now();
    this.#align(this.#text.textContent);
    if (this.#text.className || this.#headLength + this.#tailText.length > 1_500) scrolls(this.#pre, "Output");
  }

  dispose(): void {
    this.#frames.cancel();
    this.#tailFrames.cancel();
  }

  /** A table keeps its columns, and is scrolled; the lines of anything else are broken. */
  #align(text: string): void {
    let above = false;
    for (const line of text.split("\n")) {
      const gap = line.length <= WIDEST && COLUMNS.test(line);
      this.#columns ||= gap && above;
      this.#isLong ||= line.length > WIDEST;
      above = gap;
    }
    this.#text.className = this.#columns && !this.#isLong ? "lmc-aligned" : "";
  }

  /** Takes what belongs to the head; gives back what is beyond it. */
  #pushHead(text: string): string {
    const room = KEPT - this.#headLength;
    if (text.length <= room) {
      this.#headText += text;
      this.#headLength += text.length;
      return "";
    }
    const lineEnd = text.indexOf("\n", room);
    const at = lineEnd >= 0 && lineEnd < room + SLACK ? lineEnd + 1 : between(text, room);
    this.#headText += text.slice(0, at);
    this.#headLength += at;
    this.#closeHead();
    return text.slice(at);
  }

  #closeHead(): void {
    this.#headIsClosed = true;
    this.#text.append(this.#tail);
  }

  /** The kernel has left something out here. */
  #cut(characters: number): void {
    if (!this.#headIsClosed) this.#closeHead();
    if (this.#tailText) {
      this.#gaps.push({ at: this.#tailText.length, cut: characters });
      this.#offerAll();
    } else this.#leftOut += characters;
    this.#tailFrames.ask();
  }

  #trim(): void {
    const text = this.#tailText;
    const cut = text.length - KEPT;
    const lineEnd = text.indexOf("\n", cut);
    const at = lineEnd >= 0 && lineEnd < cut + SLACK ? lineEnd + 1 : between(text, cut);
    this.#leftOut += at;
    this.#tailText = text.slice(at);
    const gaps = this.#gaps;
    this.#gaps = [];
    for (const gap of gaps) {
      if (gap.at <= at) this.#leftOut += gap.cut;
      else this.#gaps.push({ at: gap.at - at, cut: gap.cut });
    }
  }

  /** The tail, and in it what is missing there. */
  #tailAsShown(): string {
    let drawing = "";
    let from = 0;
    for (const { at, cut } of this.#gaps) {
      drawing += `${this.#tailText.slice(from, at)}\n${leftOut(cut)}\n`;
      from = at;
    }
    return drawing + this.#tailText.slice(from);
  }

  #drawHead(): void {
    const { done, open } = this.#terminal.write(this.#headText);
    this.#headText = "";
    append(this.#head, done);
    this.#open.replaceChildren();
    append(this.#open, open);
  }

  #drawTail(): void {
    if (this.#headText) this.#frames.now();
    if (this.#tailText.length > KEPT + SLACK) this.#trim();
    if (this.#leftOut) this.#drawGap();
    // the tail goes on from the head's state only when nothing is missing between
    const terminal = this.#leftOut ? new Terminal() : this.#terminal.fork();
    const { done, open } = terminal.write(this.#tailAsShown());
    this.#open.hidden = !this.#leftOut;
    this.#tail.replaceChildren();
    append(this.#tail, done);
    append(this.#tail, open);
  }

  #drawGap(): void {
    if (!this.#gap) {
      this.#gap = el("span", "lmc-gap");
      this.#tail.before(this.#gap);
      this.#offerAll();
    }
    const text = leftOut(this.#leftOut);
    if (this.#gap.textContent !== text) this.#gap.textContent = text;
  }

  #offerAll(): void {
    if (this.#offer || !this.#host.wholeConsole) return;
    this.#offer = button("Show all of it", () => void this.#showAll());
    this.#pre.after(this.#offer);
  }

  async #showAll(): Promise<void> {
    const { wholeConsole } = this.#host;
    if (!wholeConsole) return;
    this.#whole?.remove();
    const box = el("div", "lmc-whole", sentence("Fetching the whole output…"));
    this.#whole = box;
    this.element.append(box);
    try {
      const text = await wholeConsole.call(this.#host);
      box.replaceChildren(...wholeText(text));
      scrolls(box, "The whole output");
      box.focus({ preventScroll: true });
    } catch (error) {
      const why = sentenceOf(error);
      box.replaceChildren(sentence(`The whole output could not be fetched: ${why}`));
    }
  }
}

/** A long text in pieces, of which the browser lays out only those in sight. */
function wholeText(text: string): HTMLElement[] {
  const beginning = text.length > MOST_WHOLE ? text.slice(0, MOST_WHOLE) : text;
  const pieces: HTMLElement[] = [];
  const terminal = new Terminal();
  for (let at = 0; at < beginning.length; ) {
    const lineEnd = beginning.indexOf("\n", at + PIECE);
    const end = lineEnd >= 0 && lineEnd < at + 2 * PIECE ? lineEnd + 1 : between(beginning, at + PIECE);
    const { done, open } = terminal.write(beginning.slice(at, end));
    const piece = el("pre", "lmc-piece");
    append(piece, done);
    append(piece, open);
    terminal.newLine();
    pieces.push(piece);
    at = end;
  }
  if (beginning.length < text.length) {
    pieces.push(
      sentence(
        `The first ${count(beginning.length)} of ${count(text.length)} characters; ` +
          "copy the output, or write it to a file, to see the rest.",
      ),
    );
  }
  return pieces;
}

/** Near `at`, but in the middle of no character and of no colour's escape. */
function between(text: string, at: number): number {
  if (at >= text.length) return text.length;
  let place = at;
  const escape = /\x1b(?:\[[0-?]{0,40})?$/.exec(text.slice(Math.max(0, place - 48), place));
  if (escape) place += /^\[?[0-?]{0,40}[ -/]*[@-~]?/.exec(text.slice(place, place + 48))?.[0].length ?? 0;
  const code = text.charCodeAt(place);
  return code >= 0xdc00 && code <= 0xdfff ? place + 1 : place;
}

function append(parent: HTMLElement, runs: Run[]): void {
  for (const run of runs) {
    if (!run.css && !run.style) {
      parent.append(run.text);
      continue;
    }
    const span = el("span", run.css, run.text);
    if (run.style) span.style.cssText = run.style;
    parent.append(span);
  }
}

export function console_(_head: Chunk, host: Host): Rendering {
  return new ConsoleRendering(host);
}
