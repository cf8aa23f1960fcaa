/**
 * HTML and JavaScript of others, shown where they can reach nothing: two nested frames.
 *
 * One rule: the outer frame lets the inner one go nowhere (`frame-src 'none'`), the inner one has
 * no network and no origin; out of them come only a height and lines of text, both bounded.
 * (security.md, 0.4 and 2.3: a single frame leaks by navigating itself.)
 */

import { button, el, sentence } from "./rendering";

const INNER_POLICY =
  "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; " +
  "img-src data: blob:; font-src data:; media-src data: blob:; form-action 'none'; " +
  "base-uri 'none'";
const OUTER_POLICY =
  "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; " +
  "img-src data: blob:; font-src data:; media-src data: blob:; form-action 'none'; " +
  "base-uri 'none'; frame-src 'none'; child-src 'none'";

const MOST_HEIGHT = 2_000; // px
const HEIGHT_MS = 100; // between two heights
const MOST_TEXT = 10_000; // characters of one line of its console
const MOST_LINES = 200;
const MOST_SOURCE = 8_000_000; // characters
const MOST_LIVE = 12; // frames at once: one that is out of sight gives way
const PING_MS = 2_000;
const SILENT_MS = 10_000;

/**
 * What runs inside, in a world of its own: it reports and takes the theme, nothing else.
 *
 * Its text goes into the frame, so it uses nothing of this module.
 */
function inside(token: string, most: number): void {
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport"]) {
    try {
      Object.defineProperty(window, name, { value: undefined, configurable: false, writable: false });
    } catch {
      // it is not there to be taken away
    }
  }
  const post = (message: object) => parent.postMessage({ ...message, lmc: token }, "*");
  const text = (value: unknown): string => {
    try {
      if (value instanceof Error) return value.stack ?? String(value);
      return typeof value === "object" ? JSON.stringify(value) : String(value);
    } catch {
      return String(value);
    }
  };
  const say = (kind: string, words: string) => post({ say: kind, text: words.slice(0, most) });
  for (const kind of ["log", "info", "warn", "error", "debug"] as const) {
    const old = console[kind];
    console[kind] = (...values: unknown[]) => {
      say(kind, values.map(text).join(" "));
      old.apply(console, values);
    };
  }
  addEventListener("error", (event) => say("error", text(event.error ?? event.message)));
  addEventListener("unhandledrejection", (event) => say("error", `Unhandled: ${text(event.reason)}`));
  const root = document.documentElement;
  const size = () =>
    post({ height: Math.ceil(Math.max(root.getBoundingClientRect().height, document.body.scrollHeight)) });
  addEventListener("load", () => {
    size();
    new ResizeObserver(size).observe(root);
  });
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || !data || data.lmc !== token) return;
    if (data.ping) post({ pong: data.ping });
    const theme = document.getElementById("lmc-theme");
    if (theme && typeof data.theme === "string") theme.textContent = data.theme;
  });
  post({ pong: 1 });
}

/** In the outer frame: what passes between the page and the inner one; nobody else is heard. */
function relay(): void {
  addEventListener("message", ({ source, data }) => {
    const inner = frames[0];
    if (inner && source === inner) parent.postMessage(data, "*");
    else if (inner && source === parent) inner.postMessage(data, "*");
  });
}

const live = new Set<Sandbox>();

/** Foreign HTML in a frame of its own; remove it with `dispose`. */
export class Sandbox {
  readonly element = el("div", "lmc-sandbox");
  readonly #html: string;
  readonly #silentMs: number;
  readonly #lines = el("pre", "lmc-console");
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

  /** `silentMs`: after so long without an answer it is taken away. */
  constructor(html: string, silentMs = SILENT_MS) {
    this.#html = html;
    this.#silentMs = silentMs;
    this.#lines.hidden = true;
    if (html.length > MOST_SOURCE) {
      this.element.append(sentence(`This HTML is too long to be shown (${html.length} characters).`));
      return;
    }
    if (typeof IntersectionObserver === "undefined") {
      this.#begin();
      return;
    }
    this.#sight = new IntersectionObserver((entries) => {
      this.#isSeen = entries.at(-1)?.isIntersecting ?? false;
      if (this.#isSeen && !this.#frame && !this.#isStopped) this.#begin();
    });
    this.element.style.minHeight = "40px"; // what has no height is never seen
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
    const idle = live.size >= MOST_LIVE ? [...live].find((each) => !each.#isSeen) : undefined;
    if (idle) idle.#sleep();
    live.add(this);
    this.#isStopped = false;
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts"); // nothing else; never allow-same-origin
    frame.setAttribute("referrerpolicy", "no-referrer");
    frame.setAttribute("allow", "");
    frame.title = "HTML output, in a frame without network";
    frame.srcdoc = nested(this.#html, this.#token);
    this.#frame = frame;
    this.#said = 0;
    this.#lines.replaceChildren();
    this.#lines.hidden = true;
    this.element.replaceChildren(frame, this.#lines);
    window.addEventListener("message", this.#hear);
    // a slow page may take its time to load, twice what it may be silent later
    this.#heard = performance.now() + this.#silentMs;
    this.#pingedAt = performance.now();
    this.#timer = window.setInterval(() => this.#watch(), Math.min(PING_MS, this.#silentMs / 2));
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
    const said = data as { lmc?: unknown; height?: unknown; say?: unknown; text?: unknown; pong?: unknown };
    if (said.lmc !== this.#token) return;
    this.#heard = Math.max(this.#heard, performance.now());
    if (said.pong === 1 && this.#height.at === 0) this.#tell({ theme: themeOf(this.element) });
    if (typeof said.height === "number" && Number.isInteger(said.height)) this.#resize(said.height);
    if (typeof said.say === "string") this.#print(said.say === "error", String(said.text));
  };

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
    const line = this.#said === MOST_LINES ? "… more lines are left out …" : text.slice(0, MOST_TEXT);
    this.#lines.append(el("span", isError ? "lmc-bad" : "", `${line}\n`));
    this.#lines.hidden = false;
  }
}

/** The document of the outer frame, with the inner one in it. */
export function nested(html: string, ours: string): string {
  const inner =
    `<!doctype html><meta charset="utf-8">${policy(INNER_POLICY)}` +
    `<meta name="referrer" content="no-referrer"><style>${BASE}</style>` +
    `<style id="lmc-theme"></style><script>(${inside})(${JSON.stringify(ours)},${MOST_TEXT})</script><body>${html}`;
  return (
    `<!doctype html><meta charset="utf-8">${policy(OUTER_POLICY)}` +
    "<style>html,body,iframe{margin:0;border:0;padding:0;width:100%;height:100%;display:block}</style>" +
    `<script>(${relay})()</script><body>` +
    `<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" allow="" title="HTML output" ` +
    `srcdoc="${attribute(inner)}"></iframe>`
  );
}

function policy(csp: string): string {
  return `<meta http-equiv="Content-Security-Policy" content="${csp}">`;
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
}

/** A table of pandas looks as it does in a notebook. */
const BASE = `body{margin:0;font:13px/1.4 system-ui,sans-serif;overflow-x:auto}
table{border-collapse:collapse;border:0;font-size:12px;margin:0}
td,th{border:0;padding:.3em .6em;text-align:right;white-space:nowrap;max-width:none}
thead{border-bottom:1px solid var(--line,#bbb)}
tbody tr:nth-child(odd){background:var(--stripe,rgba(128,128,128,.1))}
img,svg,canvas{max-width:100%}a{color:var(--link,#1565c0)}`;

/** The colours of the page around, as plain values: no variable of the page is known inside. */
export function themeOf(element: Element): string {
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
