/**
 * Code: highlighted while it streams, with the line that runs now marked.
 *
 * One rule: code is drawn from tokens by `textContent`. HTML and JavaScript that the computer
 * shows go into the nested sandbox, and nothing of it runs again by itself.
 */

import { canonical, type Chunk } from "../lmc";
import { Frames } from "./frames";
import { highlight, plain, whenColoured, type Lines } from "./highlight";
import { libraries, withLibraries } from "./libraries";
import { button, count, el, leftOut, scrolls, sentence, sentenceOf, type Host, type Rendering } from "./rendering";
import { Sandbox, type Options } from "./sandbox";

/** Longer code is plain while it streams, and coloured at its end. */
const HIGHLIGHTED_LIVE = 8_000;
/** More lines than this are drawn when a person asks for them. */
const MOST_LINES = 5_000;
/** Of a longer line only so much is drawn, with a mark: one of megabytes would hold up the page. */
const LONGEST_LINE = 20_000;

const NARROW = 30; // characters, side by side in the narrowest panel
const ROWS = 20; // that are never more than the block's height

/**
 * Lines of [css class, text] as a block of code: the question's, and our own. Without `joints` its
 * rows break where those of a text field do.
 */
export function drawLines(lines: Lines, joints = true): HTMLElement {
  return el("pre", "lmc-source", el("code", "", ...lines.map((line) => drawLine(line, joints))));
}

/** A chain of calls goes on in the next row before a dot, and behind what opens. */
function jointed(text: string): (Node | string)[] {
  return text
    .split(/(?=\.)|(?<=[([{])/)
    .flatMap((part) => [...(part.startsWith(".") ? [el("wbr")] : []), part, ...(/[([{]$/.test(part) ? [el("wbr")] : [])]);
}

function drawLine(line: [string, string][], joints: boolean): HTMLElement {
  const { length } = /^ */.exec(line[0]?.[1] ?? "")?.[0] ?? "";
  const row = el("span", length ? `lmc-line lmc-in-${Math.min(4, Math.ceil(length / 4))}` : "lmc-line");
  const isLong = joints && line.reduce((sum, [, text]) => sum + text.length, 0) > NARROW;
  for (const [css, text] of line) {
    const parts = isLong && !/^[scnh]$/.test(css) ? jointed(text) : [text];
    row.append(...(/^[kscnfboh]$/.test(css) ? [el("span", css, ...parts)] : parts));
  }
  row.append("\n"); // in the row, so that the active line is marked to the edge
  return row;
}

function shorten(line: [string, string][]): [string, string][] {
  const length = line.reduce((sum, [, text]) => sum + text.length, 0);
  if (length <= LONGEST_LINE) return line;
  let room = LONGEST_LINE;
  const pieces: [string, string][] = [];
  for (const [css, text] of line) {
    if (room > 0) pieces.push([css, text.slice(0, room)]);
    room -= text.length;
  }
  return [...pieces, ["h", leftOut(length - LONGEST_LINE)]];
}

/** A whole block of code, such as the one of a question of the past. */
export function drawCode(code: string, language: string, host: Host): HTMLElement {
  const rendering = new CodeRendering(language, host);
  rendering.push(code);
  rendering.end();
  return rendering.element;
}

/** The language of each block that is drawn, as it was written. */
export const LANGUAGES = new WeakMap<Element, string>();

/** The block that grows. */
export class CodeRendering implements Rendering {
  readonly element: HTMLElement;
  readonly #code = el("code");
  readonly #pre: HTMLElement;
  /** As it was written: "py", "python", "". */
  readonly language: string;
  readonly #frames = new Frames(() => this.#draw());
  #text = "";
  #carriage = ""; // a "\r" at the end, whose "\n" may follow
  #rows: { key: string; node: HTMLElement }[] = []; // the lines on the screen
  #lastLine = { at: 0, number: 0 }; // where appending without colours goes on
  #active: number | null = null;
  #marked: HTMLElement | undefined;
  #isWhole = false;
  #showsAll = false;
  readonly #waitNoLonger: () => void;

  constructor(language: string, host: Host) {
    this.language = language;
    this.#waitNoLonger = language ? whenColoured(host, () => this.#frames.now()) : () => undefined;
    this.#pre = el("pre", "lmc-source", this.#code);
    this.element = el("div", "lmc-codeblock", this.#pre);
    LANGUAGES.set(this.element, language);
  }

  push(text: string): void {
    const all = this.#carriage + text;
    this.#carriage = all.endsWith("\r") ? "\r" : "";
    this.#text += (this.#carriage ? all.slice(0, -1) : all).replaceAll("\r\n", "\n");
    this.#frames.ask();
  }

  line(active: number | null): void {
    if (active === this.#active) return;
    this.#active = active;
    this.#frames.ask();
  }

  replace(content: string): void {
    this.#text = content.replaceAll("\r\n", "\n");
    this.#carriage = "";
    this.#lastLine = { at: 0, number: 0 };
    this.#frames.now();
  }

  /** Draw what has come, now. */
  flush(): void {
    this.#frames.now();
  }

  end(): void {
    this.#isWhole = true;
    this.#text += this.#carriage;
    this.#carriage = "";
    this.#frames.now();
  }

  dispose(): void {
    this.#frames.cancel();
    this.#waitNoLonger();
  }

  #draw(): void {
    if (this.#isWhole || this.#text.length <= HIGHLIGHTED_LIVE) {
      const lines = highlight(this.#text, this.language);
      this.#show(lines, 0);
      this.#lastLine = { at: this.#text.lastIndexOf("\n") + 1, number: lines.length - 1 };
    } else {
      // the coloured lines stay; what is new is appended as it is
      const { at, number } = this.#lastLine;
      const lines = plain(this.#text.slice(at));
      this.#show(lines, number);
      this.#lastLine = {
        at: this.#text.lastIndexOf("\n") + 1,
        number: number + lines.length - 1,
      };
    }
    this.#mark();
    if (this.#isWhole && this.#rows.length + this.#text.length / NARROW > ROWS) {
      scrolls(this.#pre, `${this.language || "some"} code`);
    }
  }

  /** Put these lines in place of those from the line `first` on; equal ones stay. */
  #show(lines: Lines, first: number): void {
    const isBroken = first + lines.length > 1 && !lines.at(-1)?.length; // behind the last line break is no line
    const all = first + lines.length - Number(isBroken);
    const total = Math.min(all, this.#showsAll ? Infinity : MOST_LINES);
    const fresh: HTMLElement[] = [];
    for (let at = first; at < total; at++) {
      const line = lines[at - first] ?? [];
      const key = line.map(([css, text]) => `${css}\u0001${text}`).join("\u0002");
      const old = this.#rows[at];
      if (old?.key === key) continue;
      const node = drawLine(shorten(line), true);
      this.#rows[at] = { key, node };
      if (old) old.node.replaceWith(node);
      else fresh.push(node);
    }
    this.#code.append(...fresh);
    for (const surplus of this.#rows.splice(total)) surplus.node.remove();
    this.#offerRest(all - total);
  }

  #offerRest(missing: number): void {
    this.element.querySelector(".lmc-rest")?.remove();
    if (missing <= 0 || !this.#isWhole) return;
    const rest = button(`Show ${count(missing)} more lines`, () => {
      this.#showsAll = true;
      this.#frames.now();
    });
    rest.classList.add("lmc-rest");
    this.element.append(rest);
  }

  #mark(): void {
    const now = this.#active === null ? undefined : this.#rows[this.#active - 1]?.node;
    if (this.#marked !== now) this.#marked?.classList.remove("lmc-now");
    now?.classList.add("lmc-now");
    this.#marked = now;
  }
}

/**
 * HTML that the computer shows: in the sandbox at once, the source one click away. Scripts run there
 * as they come, JavaScript when the kernel waits for what becomes of it; those of the past run when
 * a person says so.
 */
class ShownRendering implements Rendering {
  readonly element = el("div", "lmc-shown");
  readonly #language: string;
  readonly #host: Host;
  #content = "";
  #sandbox: Sandbox | null = null;
  #isWhole = false;

  constructor(language: string, host: Host) {
    this.#language = language;
    this.#host = host;
  }

  push(text: string): void {
    this.#content += text;
    if (this.#isWhole) this.#draw();
  }
  line(): void {}
  replace(content: string): void {
    this.#content = content;
    if (this.#isWhole) this.#draw();
  }
  end(): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    this.#draw();
  }
  dispose(): void {
    this.#sandbox?.dispose();
    this.#sandbox = null;
  }

  #draw(): void {
    this.dispose();
    this.element.replaceChildren();
    const page = this.#host.page?.() ?? null;
    const report = typeof page === "function" ? page : undefined;
    if (this.#language === "html" || report) {
      this.#show({ report, isHeard: page === "heard", isStill: !report && Boolean(this.#host.isPast) });
      const name = this.#language === "html" ? "HTML" : "JavaScript";
      const source = el("details", "lmc-fold", el("summary", "", `${name} source`));
      source.addEventListener("toggle", () => {
        if (source.open && source.childElementCount === 1) {
          source.append(this.#source());
        }
      });
      this.element.append(source);
    } else {
      const show = button("Show", () => {
        show.remove();
        this.#show({});
      });
      show.title = "Runs this in a frame of its own, without network and without your notebook";
      this.element.append(this.#source(), show);
    }
  }

  #source(): HTMLElement {
    return drawCode(this.#content, this.#language, this.#host);
  }

  #show(options: Options): void {
    const language = this.#language === "html" ? "html" : "javascript";
    if (libraries(this.#content).length > 0) {
      if (options.isStill) this.#offerChart();
      else void this.#showChart(options);
      return;
    }
    this.#sandbox = new Sandbox(this.#content, { ...options, language });
    this.element.append(this.#sandbox.element);
  }

  #offerChart(): void {
    const place = el("div", "", sentence("A chart, drawn by a script: it does not run again by itself."));
    place.append(
      button("Run again", () => {
        place.remove();
        void this.#showChart({});
      }),
    );
    this.element.append(place);
  }

  /** A page that asks for a library of the kernel's: it comes first. */
  async #showChart(options: Options): Promise<void> {
    const content = this.#content;
    const place = el("div", "", sentence("Loading the library that draws this chart…"));
    this.element.append(place);
    let page: string;
    try {
      page = await withLibraries(content, this.#host);
    } catch (error) {
      const why = sentenceOf(error);
      place.replaceChildren(sentence(`This chart cannot be drawn here: ${why}`));
      return;
    }
    if (!place.isConnected && place.parentElement !== this.element) return; // it was drawn anew
    this.#sandbox = new Sandbox(page, options);
    place.replaceChildren(this.#sandbox.element);
  }
}

/** Whether it is shown in a frame; a page for nobody's eyes is not run. */
export function isFrame({ role, type, format, recipient }: Pick<Chunk, "role" | "type" | "format" | "recipient">): boolean {
  const isPage = ["html", "javascript"].includes(canonical(format ?? ""));
  return isPage && role === "computer" && type === "code" && recipient !== "assistant";
}

export function code(head: Chunk, host: Host): Rendering {
  const language = canonical(head.format ?? "");
  return isFrame(head) ? new ShownRendering(language, host) : new CodeRendering(language, host);
}
