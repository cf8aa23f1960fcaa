/**
 * HTML and JavaScript of others, shown where they can reach nothing: two nested frames.
 *
 * One rule: the outer frame lets the inner one go nowhere (`frame-src 'none'`), the inner one has
 * no network and no origin; out of them come only sizes and text, all of it bounded, and none of
 * it believed. A single frame leaks by navigating itself. What the frames may do stands in
 * `frames.json`, for Python and for here.
 */

import { before, outer } from "../../../lmc_jupyter/content/frames.js";
import frames from "../../../lmc_jupyter/content/frames.json";
import type { Page } from "../protocol";
import { inside, runs } from "./inside";
import { button, el, sentence } from "./rendering";

const MOST_HEIGHT = 2_000; // px
const HEIGHT_MS = 100; // between two heights
const TALL_PX = 360; // where the page measures itself by the height of its window
const MOST_TEXT = 10_000; // characters of one line of its console, and of its text
const MOST_LINES = 200;
const MOST_PICTURE = 500_000; // characters of how a page looks
const MOST_CONSOLE = 100_000; // characters of all lines of a report
const MOST_SOURCE = 8_000_000; // characters
const MOST_LIVE = 12; // frames at once: one that is out of sight gives way
const PING_MS = 2_000;
const SILENT_MS = 10_000;
const REPORT_MS = 10_000; // what has come by then is reported
const LEFT_OUT = "… more lines are left out …";

type Language = "html" | "javascript";

const live = new Set<Sandbox>();

export interface Options {
  /** Gets what became of it, once, after its first moments; it is loaded at once, wherever it stands. */
  report?: ((page: Page) => void) | undefined;
  /** What it says in its first moments stands elsewhere: it is not drawn here. */
  isHeard?: boolean;
  /** A page of the past: its scripts run when a person presses the button in it. */
  isStill?: boolean;
  /** Whether the report says how it looks. */
  pictured?: boolean;
  /** Of JavaScript: an empty page runs it. */
  language?: Language;
  /** After so long without an answer it is taken away. */
  silentMs?: number;
}

/** Foreign HTML in a frame of its own; remove it with `dispose`. */
export class Sandbox {
  readonly element = el("div", "lmc-sandbox");
  readonly #html: string;
  readonly #language: Language;
  readonly #silentMs: number;
  readonly #isStill: boolean;
  readonly #isPictured: boolean;
  readonly #lines = el("pre", "lmc-console");
  readonly #columns = el("p", "lmc-note");
  readonly #token = token();
  #frame: HTMLIFrameElement | null = null;
  #timer = 0;
  #height = { at: 0, height: 0, timer: 0 };
  #said = 0;
  #heard = 0;
  #pingedAt = 0;
  #theme: MutationObserver | null = null;
  #sight: IntersectionObserver | null = null;
  #isSeen = false;
  #isStopped = false;
  /** Until it has settled, where others draw what it says. */
  #isQuiet: boolean;
  #report: ((page: Page) => void) | null;
  #console: string[] = []; // of the report
  #deadline = 0;

  constructor(html: string, options: Options = {}) {
    const { report, isHeard, isStill = false, pictured = false, language = "html", silentMs = SILENT_MS } = options;
    this.#html = html;
    this.#isStill = isStill;
    this.#isPictured = pictured;
    this.#language = language;
    this.#silentMs = silentMs;
    this.#report = report ?? null;
    this.#isQuiet = Boolean(report ?? isHeard);
    this.#lines.hidden = true;
    if (html.length > MOST_SOURCE) {
      const notice = `This HTML is too long to be shown (${html.length} characters).`;
      this.element.append(sentence(notice));
      this.#tellPage(notice);
      return;
    }
    if (report || typeof IntersectionObserver === "undefined") this.#begin();
    if (typeof IntersectionObserver === "undefined") return;
    this.#sight = new IntersectionObserver((entries) => {
      this.#isSeen = entries.at(-1)?.isIntersecting ?? false;
      if (this.#isSeen && !this.#frame && !this.#isStopped) this.#begin();
    });
    if (!this.#frame) this.element.style.minHeight = "40px"; // what has no height is never seen
    this.#sight.observe(this.element);
  }

  /** Whether its frame is there: it comes when it is scrolled to. */
  get isLive(): boolean {
    return this.#frame !== null;
  }

  dispose(): void {
    this.#sight?.disconnect();
    this.#sight = null;
    this.#stop();
    this.element.replaceChildren();
  }

  #begin(): void {
    const idle = live.size >= MOST_LIVE ? [...live].find((each) => !each.#isSeen && !each.#report) : undefined;
    if (idle) idle.#sleep();
    live.add(this);
    this.#isStopped = false;
    const frame = document.createElement("iframe");
    for (const [name, value] of Object.entries(frames.attributes)) frame.setAttribute(name, value);
    frame.title = "HTML output, in a frame without network";
    if (/\d\s*[dls]?vh\b/i.test(this.#html)) frame.style.height = `${TALL_PX}px`;
    frame.srcdoc = nestedDocument(this.#html, this.#token, {
      language: this.#language,
      isStill: this.#isStill,
      pictured: this.#isPictured,
    });
    this.#frame = frame;
    this.#said = 0;
    this.#lines.replaceChildren();
    this.#lines.hidden = true;
    this.#columns.textContent = "";
    this.element.replaceChildren(frame, this.#columns, this.#lines);
    window.addEventListener("message", this.#hear);
    // a slow page may take its time to load, twice what it may be silent later
    this.#heard = performance.now() + this.#silentMs;
    this.#pingedAt = performance.now();
    this.#timer = window.setInterval(() => this.#watch(), Math.min(PING_MS, this.#silentMs / 2));
    if (this.#report) this.#deadline = window.setTimeout(() => this.#late(), REPORT_MS);
    this.#theme = new MutationObserver(() => this.#tell({ theme: themeOf(this.element) }));
    this.#theme.observe(document.body, {
      attributes: true,
      attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class"],
    });
  }

  /** Out of sight: the frame goes, its place stays, and it comes back when it is scrolled to. */
  #sleep(): void {
    const { height } = this.#height;
    this.#stop();
    this.element.style.minHeight = `${Math.max(40, height)}px`;
    this.element.replaceChildren();
  }

  /** Take the frame away, say why, and offer it again. */
  #rest(why: string): void {
    this.#tellPage(why);
    this.#stop();
    this.#isStopped = true;
    this.element.style.minHeight = "";
    const again = button("Show again", () => this.#begin());
    this.element.replaceChildren(sentence(why), again, this.#lines);
  }

  #stop(): void {
    live.delete(this);
    window.removeEventListener("message", this.#hear);
    window.clearInterval(this.#timer);
    window.clearTimeout(this.#height.timer);
    window.clearTimeout(this.#deadline);
    this.#height = { at: 0, height: 0, timer: 0 };
    this.#theme?.disconnect();
    this.#theme = null;
    this.#frame?.remove();
    this.#frame = null;
  }

  #tell(message: { ping: number } | { theme: string }): void {
    this.#frame?.contentWindow?.postMessage({ ...message, lmc: this.#token }, "*");
  }

  /** It must answer; but time in which this page itself was asleep does not count. */
  #watch(): void {
    const now = performance.now();
    const isLate = now - this.#pingedAt > 2 * PING_MS;
    this.#pingedAt = now;
    if (document.hidden || isLate || !this.element.isConnected) {
      this.#heard = Math.max(this.#heard, now);
    } else if (now - this.#heard > this.#silentMs) {
      const seconds = Math.round(this.#silentMs / 1000);
      this.#rest(`This HTML was stopped: its script gave no answer for ${seconds} s.`);
      return;
    }
    this.#tell({ ping: 1 });
  }

  readonly #hear = (event: MessageEvent): void => {
    const frame = this.#frame;
    if (!frame || event.source !== frame.contentWindow) return;
    const data: unknown = event.data;
    if (typeof data !== "object" || data === null) return;
    const signal = data as { [key in "lmc" | "height" | "say" | "text" | "pong" | "page" | "gone" | "columns"]?: unknown };
    if (signal.lmc !== this.#token) return;
    this.#heard = Math.max(this.#heard, performance.now());
    if (signal.pong === 1 && this.#height.at === 0) this.#tell({ theme: themeOf(this.element) });
    if (typeof signal.height === "number" && Number.isInteger(signal.height)) this.#resize(signal.height);
    if (typeof signal.say === "string") this.#print(signal.say === "error", String(signal.text));
    if (typeof signal.page === "object" && signal.page !== null) this.#settled(signal.page);
    if (signal.gone === 1) this.#settled({});
    if (Array.isArray(signal.columns)) {
      const [inSight = 0, all = 0] = signal.columns.map(pixels);
      this.#columns.textContent = inSight < all ? `${inSight} of ${all} columns in sight: scroll sideways for the others` : "";
    }
  };

  /** It has loaded and is quiet, or has gone: the first moments are over. */
  #settled({ text, width, height, picture }: { [key in "text" | "width" | "height" | "picture"]?: unknown }): void {
    this.#tellPage("", {
      text: typeof text === "string" ? text.slice(0, MOST_TEXT) : "",
      width: pixels(width),
      height: pixels(height),
      ...(this.#isPictured && typeof picture === "string" && picture.length <= MOST_PICTURE ? { picture } : {}),
    });
    this.#isQuiet = false;
  }

  /** It has not settled in time. A frame that nobody has attached has not begun, and says nothing. */
  #late(): void {
    if (!this.element.isConnected) return;
    this.#tellPage(`It had not finished loading after ${REPORT_MS / 1_000} s.`);
    this.#isQuiet = false;
  }

  /** Report it, the first time; `line` is said at the end of its console. */
  #tellPage(line: string, page: Omit<Page, "lines"> = { text: "", width: 0, height: 0 }): void {
    const report = this.#report;
    if (!report) return;
    this.#report = null;
    window.clearTimeout(this.#deadline);
    report({ lines: line ? [...this.#console, line] : this.#console, ...page });
    this.#console = [];
  }

  /** Heights are clamped, and at most ten a second. */
  #resize(wanted: number): void {
    const height = this.#height;
    height.height = Math.min(MOST_HEIGHT, Math.max(0, wanted));
    if (height.timer) return;
    const wait = height.at ? Math.max(0, height.at + HEIGHT_MS - performance.now()) : 0;
    height.timer = window.setTimeout(() => {
      height.timer = 0;
      height.at = performance.now();
      if (this.#frame) this.#frame.style.height = this.element.style.minHeight = `${height.height}px`;
    }, wait);
  }

  #print(isError: boolean, text: string): void {
    this.#said += 1;
    if (this.#said > MOST_LINES) return;
    const line = this.#said === MOST_LINES ? LEFT_OUT : text.slice(0, MOST_TEXT);
    if (this.#report) {
      const room = MOST_CONSOLE - this.#console.reduce((sum, each) => sum + each.length, 0);
      if (room > 0) this.#console.push(line.slice(0, room));
    }
    if (this.#isQuiet) return;
    this.#lines.append(el("span", isError ? "lmc-bad" : "", `${line}\n`));
    this.#lines.hidden = false;
  }
}

/** The document of the outer frame, which makes the inner one. */
export function nestedDocument(
  code: string,
  ours: string,
  { language = "html", isStill = false, pictured = false }: Pick<Options, "language" | "isStill" | "pictured"> = {},
): string {
  const head = `<style data-lmc>${BASE}</style><style data-lmc id="lmc-theme"></style>`;
  const first = `(${before})();`;
  const lines = `${head}${first}${inside}`.split("\n").length - 1;
  const settings = {
    page: language === "html" ? code : `<script>(${runs})(${json(code)})</script>`,
    head,
    policy: frames.inner,
    attributes: frames.attributes,
    prelude: `${first}(${inside})(${json(ours)},${MOST_TEXT},${lines},${pictured ? MOST_PICTURE : 0})`,
    token: ours,
    isStill,
  };
  return (
    `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${frames.outer}">` +
    `<style>${frames.around}</style><body><script>(${outer})(${json(settings)})</script>`
  );
}

/** A value as a script may hold it. */
function json(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

function pixels(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? Math.min(100_000, Math.max(0, Math.round(value))) : 0;
}

/** A table of pandas looks as it does in a notebook. */
const BASE = `body{margin:0;font:13px/1.4 system-ui,sans-serif;overflow-x:auto}
table{border-collapse:collapse;border:0;font-size:12px;margin:0}
td,th{border:0;padding:.3em .6em;text-align:right;white-space:nowrap;max-width:none}
thead{border-bottom:1px solid var(--line,#bbb)}
tbody tr:nth-child(odd){background:var(--stripe,rgba(128,128,128,.1))}
img,svg,canvas{max-width:100%}a{color:var(--link,#1565c0)}`;

/** The colours of the page around, as plain values: no variable of the page is known inside. */
function themeOf(element: Element): string {
  const style = getComputedStyle(element);
  const surface = el("i");
  surface.style.cssText =
    "display:none;color:var(--lmc-ground,#fff);background:var(--jp-layout-color2,#eee);" +
    "border-color:var(--jp-border-color1,#bbb);outline-color:var(--lmc-link,#1565c0)";
  element.append(surface);
  const other = getComputedStyle(surface);
  const [ground, stripe] = [safe(other.color, "#fff"), safe(other.backgroundColor, "#eee")];
  const [line, link] = [safe(other.borderTopColor, "#bbb"), safe(other.outlineColor, "#1565c0")];
  surface.remove();
  const text = safe(style.color, "#000");
  const scheme = lightness(ground) < lightness(text) ? "dark" : "light";
  return (
    `:root{color-scheme:${scheme};--line:${line};--stripe:${stripe};--link:${link}}` +
    `body{color:${text};background:${ground};font-family:${safe(style.fontFamily, "sans-serif")}}`
  );
}

/** A value of ours that goes into a style sheet: only what colours and font names are made of. */
function safe(value: string, otherwise: string): string {
  return /^[\w\s(),.%#"'/-]{1,300}$/.test(value) ? value : otherwise;
}

/** How light an `rgb(…)` is, 0 to 255; anything else counts as light. */
function lightness(color: string): number {
  const [red = 255, green = 255, blue = 255] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return 0.3 * red + 0.6 * green + 0.1 * blue;
}

function token(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
