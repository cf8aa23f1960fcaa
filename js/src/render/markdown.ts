/**
 * Markdown that streams: what can no longer change is drawn once, only the tail is read again.
 *
 * One rule: marked reads, and what it read becomes nodes here, by name and by `textContent`. No
 * HTML is made on the way, so there is none to be trusted: a tag in the text is text. Nothing is
 * fetched, and a link leads to http, https or mailto only. (docs/security.md)
 */

import { Lexer, Tokenizer, type MarkedOptions, type MarkedToken, type Token, type Tokens } from "marked";

import { textOf, type Chunk } from "../lmc";
import { CodeRendering } from "./code";
import { Frames } from "./frames";
import { drawMath, maskMath, mathBlock, mathBlockStart, mathInline, mathInlineStart, type MathToken } from "./math";
import { el, leftOut, sentence, type Host, type Rendering } from "./rendering";

const SLICE = 8_000; // characters that are read at once, of a text that comes whole
const MOST_TAIL = 32_000; // a block longer than this is cut at a line's end, a line goes on as text
// so does one with more of the signs that the reader looks back and forth for: its cost is their
// number squared, and a hostile text is made of nothing else
const MOST_SIGNS = 4_000;
const SIGNS = /[[\]*_`<$\\~@&#]|^[-+>]/gm;
const DEEPEST = 40; // blocks in blocks
const TOO_DEEP = /^ *(?:[-+*>] |>){60}/m; // the reader would run out of stack
const LONG_QUERY = 200; // characters of a link's query that are not sent by one click

/** Tags are text: they are not even looked for. */
class WithoutHtml extends Tokenizer {
  override html(): undefined {}
  override tag(): undefined {}
}

/** The dialect: GitHub's markdown and formulas, without HTML. */
export function dialect(): MarkedOptions {
  return {
    gfm: true,
    tokenizer: new WithoutHtml(),
    extensions: {
      block: [mathBlock],
      inline: [mathInline],
      startBlock: [mathBlockStart],
      startInline: [mathInlineStart],
      renderers: {},
      childTokens: {},
    },
    // the reader asks for this one hook only
    hooks: { emStrongMask: maskMath } as unknown as NonNullable<MarkedOptions["hooks"]>,
  };
}

type Links = Lexer["tokens"]["links"];

interface Block {
  key: string;
  raw: string;
  element: HTMLElement;
  /** Of a code block: it grows without being drawn again. */
  code: CodeRendering | null;
}

/** Markdown in an element, growing; `end` makes it whole. */
export class MarkdownStream {
  readonly element: HTMLElement;
  readonly #host: Host;
  readonly #frames = new Frames(() => this.#read(false));
  #parts: string[] = []; // all of the text, for links that are defined at its end
  #waiting = ""; // has come, is not read
  #tail = ""; // from the first block that may still change
  #live: Block[] = []; // the tail on the screen
  #final: Block[] = [];
  #links: Links = {};
  #fence: { marker: string; line: string } | null = null; // the open fence, and its last line
  #plain: Text | null = null;
  #hasDefinitions = false;
  #wasCut = false;

  constructor(host: Host, element: HTMLElement = el("div", "lmc-md")) {
    this.#host = host;
    this.element = element;
    element.addEventListener("click", askBeforeSending);
    element.addEventListener("auxclick", askBeforeSending);
  }

  push(text: string): void {
    if (!text) return;
    this.#waiting += text;
    this.#frames.ask();
  }

  /** Draw what has come, now. */
  flush(): void {
    this.#frames.cancel();
    this.#read(false);
    for (const block of this.#live) block.code?.flush();
  }

  end(): void {
    this.#frames.cancel();
    this.#read(true);
    if (this.#fence) this.#lex(); // nothing closes it any more
    this.#settle(this.#live.length);
    if (this.#hasDefinitions && !this.#wasCut) this.#resolveLinks();
    for (const block of this.#final) block.code?.end();
    this.#final = [];
    this.#parts = [];
    this.#tail = "";
  }

  dispose(): void {
    this.#frames.cancel();
    for (const block of [...this.#live, ...this.#final]) block.code?.dispose();
  }

  // Reading --------------------------------------------------------------------------------------

  #read(isEnd: boolean): void {
    let text = this.#waiting;
    this.#waiting = "";
    if (text.endsWith("\r") && !isEnd) {
      this.#waiting = "\r"; // its "\n" may follow
      text = text.slice(0, -1);
    }
    text = text.replace(/\r\n?/g, "\n");
    this.#parts.push(text);
    for (let at = 0; at < text.length; at += SLICE) this.#take(text.slice(at, at + SLICE));
  }

  #take(text: string): void {
    if (this.#plain) {
      const rest = this.#takePlain(text);
      if (rest === null) return;
      text = rest;
    }
    this.#tail += text;
    if (this.#fence && this.#staysInFence(text)) {
      this.#live.at(-1)?.code?.push(text);
      return;
    }
    this.#fence = null;
    if (isTooMuch(this.#tail)) this.#cutTail();
    if (isTooMuch(this.#tail)) this.#goOnPlain();
    else this.#readTail();
  }

  #readTail(): void {
    try {
      this.#lex();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#goOnPlain(); // thousands of quotes in quotes
    }
  }

  /** Of a block that is too long all lines but the last become final, and the last begins anew. */
  #cutTail(): void {
    const at = this.#tail.lastIndexOf("\n", this.#tail.length - 2) + 1;
    const last = this.#tail.slice(at);
    if (!at || isHostile(this.#tail.slice(0, at))) return;
    this.#tail = this.#tail.slice(0, at);
    this.#readTail();
    this.#settle(this.#live.length);
    this.#wasCut = true;
    this.#fence = null;
    this.#tail = last;
  }

  #lex(): void {
    const lexer = new Lexer(dialect());
    Object.assign(lexer.tokens.links, this.#links);
    const tokens: Token[] = lexer.lex(this.#tail);
    const starts: number[] = [];
    let at = 0;
    for (const token of tokens) {
      starts.push(at);
      at += token.raw.length;
    }
    const first = firstOpen(this.#tail, tokens, starts);
    this.#show(tokens);
    if (first > 0) {
      for (const token of tokens.slice(0, first)) this.#define(token);
      this.#settle(tokens.slice(0, first).filter(isDrawn).length);
      this.#tail = this.#tail.slice(starts[first]);
    }
    this.#noteFence(tokens.at(-1));
  }

  #define(token: Token): void {
    if (token.type === "def") this.#hasDefinitions = true;
    const { tag, href, title } = token as Tokens.Def;
    if (token.type === "def" && !Object.hasOwn(this.#links, tag)) this.#links[tag] = { href, title };
  }

  /** From here on lines are appended without being read, until one closes the fence. */
  #noteFence(token: Token | undefined): void {
    const opening = token?.type === "code" ? /^(`{3,}|~{3,})[^\n]*\n/.exec(token.raw) : null;
    if (!token || !opening?.[1]) return;
    const line = token.raw.slice(Math.max(opening[0].length, token.raw.lastIndexOf("\n") + 1));
    const isClosed = new RegExp(`\\n {0,3}${opening[1]}+ *\\n?$`).test(token.raw);
    if (isClosed) return;
    this.#fence = { marker: opening[1], line };
    this.#live.at(-1)?.code?.replace(token.raw.slice(opening[0].length)); // with its last line end
  }

  #staysInFence(text: string): boolean {
    const fence = this.#fence;
    if (!fence) return false;
    const lines = (fence.line + text).split("\n");
    const { marker } = fence;
    const closes = lines.some((line) => line.trim().startsWith(marker) && /^ {0,3}([`~])\1* *$/.test(line));
    fence.line = lines.at(-1) ?? "";
    return !closes;
  }

  /** A block without an end: it is shown as it was written, until the next empty line. */
  #goOnPlain(): void {
    for (const block of this.#live.splice(0)) {
      block.code?.dispose();
      block.element.remove();
    }
    this.#wasCut = true;
    this.#plain = document.createTextNode(this.#tail);
    this.#tail = "";
    this.element.append(el("p", "lmc-plain", this.#plain));
  }

  /** What comes after the plain text; null when nothing does. */
  #takePlain(text: string): string | null {
    const plain = this.#plain;
    if (!plain) return text;
    const joined = plain.data.slice(-1) + text;
    const end = joined.indexOf("\n\n");
    if (end < 0) {
      if (plain.length > SLICE) {
        // in pieces: of those out of sight the browser makes no layout
        this.#plain = document.createTextNode(text);
        this.element.append(el("p", "lmc-plain lmc-more", this.#plain));
      } else plain.appendData(text);
      return null;
    }
    const before = joined.slice(plain.data.length ? 1 : 0, end);
    plain.appendData(before);
    this.#plain = null;
    return joined.slice(end + 2);
  }

  // Showing --------------------------------------------------------------------------------------

  /** Bring the live blocks to these tokens; what is the same stays. */
  #show(tokens: Token[]): void {
    const drawn = tokens.filter(isDrawn);
    drawn.forEach((token, index) => {
      const key = `${token.type} ${token.raw}`;
      const old = this.#live[index];
      if (old?.key === key) return;
      if (old?.code && token.type === "code" && old.code.language === languageOf(token)) {
        old.code.replace(codeOf(token));
        this.#live[index] = { ...old, key, raw: token.raw };
        return;
      }
      const block = this.#draw(token, key);
      if (old && !old.code && !block.code && morph(old.element, block.element)) {
        this.#live[index] = { ...block, element: old.element };
        return;
      }
      this.#live[index] = block;
      old?.code?.dispose();
      if (old) old.element.replaceWith(block.element);
      else this.element.append(block.element);
    });
    for (const gone of this.#live.splice(drawn.length)) {
      gone.code?.dispose();
      gone.element.remove();
    }
  }

  #draw(token: Token, key: string): Block {
    if (token.type !== "code") {
      return { key, raw: token.raw, element: drawBlock(token, this.#host), code: null };
    }
    const code = new CodeRendering(languageOf(token), this.#host);
    code.push(codeOf(token));
    return { key, raw: token.raw, element: code.element, code };
  }

  /** The first live blocks can no longer change. */
  #settle(number: number): void {
    for (const block of this.#live.splice(0, number)) {
      block.code?.end();
      this.#final.push(block);
    }
  }

  /** Links whose address came later than their use: what they change is drawn again. */
  #resolveLinks(): void {
    const tokens = new Lexer(dialect()).lex(this.#parts.join("")).filter(isDrawn);
    tokens.forEach((token, index) => {
      const block = this.#final[index];
      if (!block || block.raw !== token.raw || block.code || !token.raw.includes("[")) return;
      const { element } = this.#draw(token, "");
      if (!element.isEqualNode(block.element)) block.element.replaceWith(element);
    });
  }
}

function isTooMuch(tail: string): boolean {
  if (tail.length <= MOST_SIGNS) return false;
  return tail.length > MOST_TAIL || isHostile(tail);
}

function isHostile(text: string): boolean {
  return (text.match(SIGNS)?.length ?? 0) > MOST_SIGNS || TOO_DEEP.test(text);
}

function isDrawn(token: Token): boolean {
  return token.type !== "space" && token.type !== "def";
}

/** The index of the first token that later text may still change. */
function firstOpen(tail: string, tokens: Token[], starts: number[]): number {
  for (let index = tokens.length - 1; index > 0; index--) {
    const token = tokens[index];
    const start = starts[index] ?? 0;
    if (!token || token.type === "space" || tail.slice(start, start + token.raw.length) !== token.raw) {
      continue;
    }
    if (tail.indexOf("\n", start) >= 0) return index; // a whole line: it shows what it begins
    let before = index - 1;
    while (before > 0 && tokens[before]?.type === "space") before -= 1;
    const previous = tokens[before];
    if (previous && cannotGoOn(previous, tail.slice(0, start), tail.slice(start))) return index;
  }
  return 0;
}

/** Whether this block is over, though the line after it has only begun. */
function cannotGoOn(block: Token, before: string, line: string): boolean {
  if (!/\n[ \t]*\n$/.test(before.slice(-200))) return false;
  if (block.type === "list") return /^[^\s\d*+-]/.test(line);
  return !(block.type === "code" && (block as Tokens.Code).codeBlockStyle === "indented");
}

// Blocks and lines as nodes ------------------------------------------------------------------------

let depth = 0;

function drawBlock(token: Token, host: Host): HTMLElement {
  if (depth >= DEEPEST) return el("p", "lmc-plain", token.raw);
  depth += 1;
  try {
    return blockOf(token, host);
  } finally {
    depth -= 1;
  }
}

function blockOf(token: Token, host: Host): HTMLElement {
  const known = token as MarkedToken | MathToken;
  switch (known.type) {
    case "heading":
      return el(`h${Math.min(6, known.depth) as 1 | 2 | 3 | 4 | 5 | 6}`, "", ...drawInline(known.tokens, host));
    case "paragraph":
      return el("p", "", ...drawInline(known.tokens, host));
    case "blockquote":
      return el("blockquote", "", ...drawBlocks(known.tokens, host));
    case "list":
      return drawList(known, host);
    case "table":
      return drawTable(known, host);
    case "hr":
      return el("hr");
    case "code": {
      const code = new CodeRendering(languageOf(known), host);
      code.push(codeOf(known));
      code.end();
      return code.element;
    }
    case "mathBlock":
      return el("div", "lmc-formula", drawMath(known.tex, true, known.raw, host));
    default:
      return el("p", "", token.raw);
  }
}

function drawBlocks(tokens: Token[], host: Host): Node[] {
  return tokens.flatMap((token): Node[] => {
    if (token.type === "text") {
      return drawInline((token as Tokens.Text).tokens ?? [token], host);
    }
    if (token.type === "checkbox") return drawInline([token], host);
    return isDrawn(token) ? [drawBlock(token, host)] : [];
  });
}

function drawList(list: Tokens.List, host: Host): HTMLElement {
  const items = list.items.map((item) =>
    el("li", item.task ? "lmc-task" : "", ...drawBlocks(item.tokens, host)),
  );
  if (!list.ordered) return el("ul", "", ...items);
  const ol = el("ol", "", ...items);
  if (list.start !== 1 && list.start !== "") ol.setAttribute("start", String(list.start));
  return ol;
}

function drawTable(table: Tokens.Table, host: Host): HTMLElement {
  const cell = (each: Tokens.TableCell, tag: "th" | "td") => {
    const node = el(tag, each.align ? `lmc-${each.align}` : "", ...drawInline(each.tokens, host));
    if (tag === "th") node.setAttribute("scope", "col");
    return node;
  };
  const row = (cells: Tokens.TableCell[], tag: "th" | "td") =>
    el("tr", "", ...cells.map((each) => cell(each, tag)));
  const node = el("table", "", el("thead", "", row(table.header, "th")));
  if (table.rows.length) node.append(el("tbody", "", ...table.rows.map((cells) => row(cells, "td"))));
  const box = el("div", "lmc-table", node); // wide tables scroll in themselves
  if (table.header.length > 3) {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Table");
  }
  return box;
}

function drawInline(tokens: Token[], host: Host): Node[] {
  if (depth >= DEEPEST) return tokens.map((token) => document.createTextNode(token.raw));
  depth += 1;
  try {
    return inlineOf(tokens, host);
  } finally {
    depth -= 1;
  }
}

function inlineOf(tokens: Token[], host: Host): Node[] {
  return tokens.flatMap((token): Node[] => {
    const known = token as MarkedToken | MathToken;
    switch (known.type) {
      case "text":
        if (known.tokens) return drawInline(known.tokens, host);
        return [document.createTextNode(decoded(known.text))];
      case "escape":
        return [document.createTextNode(decoded(known.text))];
      case "strong":
      case "em":
      case "del":
        return [el(known.type, "", ...drawInline(known.tokens, host))];
      case "codespan":
        return [el("code", "", known.text)];
      case "br":
        return [el("br")];
      case "checkbox":
        return [drawBox(known.checked)];
      case "link":
        return drawLink(known, host);
      case "image":
        return drawImage(known);
      case "math":
        return [drawMath(known.tex, known.display, known.raw, host)];
      default:
        return [document.createTextNode(token.raw)];
    }
  });
}

function drawBox(isChecked: boolean): HTMLElement {
  const box = el("span", "lmc-box", isChecked ? "☑ " : "☐ ");
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", isChecked ? "done" : "to do");
  return box;
}

function drawLink(link: Tokens.Link, host: Host): Node[] {
  const inner = link.autolink
    ? [document.createTextNode(link.text)]
    : drawInline(link.tokens, host).flatMap(withoutLinks);
  const url = address(link.autolink ? link.href : decoded(link.href));
  if (!url) return inner; // no way there: only what it said
  const a = anchor(url, ...inner);
  if (link.title) a.title = `${decoded(link.title)} (${url.href})`;
  const said = named(a.textContent ?? "");
  const leadsElsewhere = said !== null && url.host !== "" && said !== bare(url.hostname);
  return leadsElsewhere ? [a, el("span", "lmc-host", ` (${url.host})`)] : [a];
}

/** An image in a link is a link of its own otherwise. */
function withoutLinks(node: Node): Node[] {
  if (node instanceof HTMLAnchorElement) return [...node.childNodes];
  if (node instanceof Element) for (const a of node.querySelectorAll("a")) a.replaceWith(...a.childNodes);
  return [node];
}

/** Never fetched: its address would tell its host what the text says. A link instead. */
function drawImage(image: Tokens.Image): Node[] {
  const url = address(decoded(image.href));
  const alt = textOfTokens(image.tokens) || "without a name";
  if (!url) return [document.createTextNode(`image: ${alt}`)];
  return [anchor(url, `image: ${alt} (${url.host || url.protocol})`)];
}

function anchor(url: URL, ...children: (Node | string)[]): HTMLAnchorElement {
  const a = el("a", "", ...children);
  a.href = url.href;
  a.target = "_blank";
  a.rel = "noopener noreferrer nofollow";
  a.title = url.href.slice(0, 500);
  return a;
}

/** Where a link may lead: the web and mail, by a whole address; null for anything else. */
function address(href: string): URL | null {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return null;
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return null; // no address: shown as the text that it is
  }
  return ["https:", "http:", "mailto:"].includes(url.protocol) ? url : null;
}

/** The host that a link's text names, if it names one. */
function named(text: string): string | null {
  const host = /(?:^|[\s/@(])((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})(?=[:/?#)\s]|$)/u.exec(text)?.[1];
  return host ? bare(host) : null;
}

function bare(host: string): string {
  return host.toLowerCase().replace(/^www\./, "");
}

/** A long query may carry what the conversation says: the first click shows where it would go. */
function askBeforeSending(event: Event): void {
  const a = event.target instanceof Element ? event.target.closest("a") : null;
  if (!a || a.dataset["shown"]) return;
  const sent = a.search.length + a.pathname.length;
  if (sent <= LONG_QUERY) return;
  event.preventDefault();
  a.dataset["shown"] = "1";
  const note = el("span", "lmc-host", ` (${a.host}: ${sent} characters go there; click again to open)`);
  note.setAttribute("role", "status");
  a.after(note);
}

function textOfTokens(tokens: Token[]): string {
  return tokens
    .map((token) => {
      const { tokens: inner, text } = token as { tokens?: Token[]; text?: string };
      return inner ? textOfTokens(inner) : decoded(text ?? token.raw);
    })
    .join("");
}

function languageOf(token: Token): string {
  return /^\S*/.exec((token as Tokens.Code).lang ?? "")?.[0] ?? "";
}

function codeOf(token: Token): string {
  return (token as Tokens.Code).text.replace(/\n$/, "");
}

const reader = document.createElement("textarea");

/** `&copy;` -> `©`. Only what looks like one reference is ever given to the browser. */
function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#\d{1,7}|#[Xx][\da-fA-F]{1,6}|\w{1,40});/g, (reference) => {
    reader.innerHTML = reference; // no tag can be in it: & # ; letters and digits
    return reader.value;
  });
}

/** Make `old` like `fresh`, and keep what is the same; false when they are different things. */
function morph(old: Element, fresh: Element): boolean {
  if (old.tagName !== fresh.tagName || old.className !== fresh.className) return false;
  if (old.getAttribute("start") !== fresh.getAttribute("start")) return false;
  const [before, after] = [[...old.childNodes], [...fresh.childNodes]];
  let same = 0;
  while (same < before.length && same < after.length && before[same]?.isEqualNode(after[same] ?? null)) same++;
  const [was, is] = [before[same], after[same]];
  if (was instanceof Element && is instanceof Element && !was.matches(".lmc-codeblock, a") && morph(was, is)) {
    same += 1;
  } else if (was instanceof Text && is instanceof Text) {
    if (is.data.startsWith(was.data)) was.appendData(is.data.slice(was.data.length));
    else was.data = is.data;
    same += 1;
  }
  for (const gone of before.slice(same)) gone.remove();
  old.append(...after.slice(same));
  return true;
}

// The message type ---------------------------------------------------------------------------------

/** What an assistant says is markdown; what a person typed stays as it was typed. */
export function message(head: Chunk, host: Host): Rendering {
  if (head.role !== "assistant") return new PlainRendering();
  let stream = new MarkdownStream(host);
  const element = el("div", "lmc-text", stream.element);
  return {
    element,
    push: (text, cut) => stream.push(cut ? `\n\n${leftOut(cut)}\n\n${text}` : text),
    line: () => undefined,
    replace(content) {
      stream.dispose();
      stream = new MarkdownStream(host);
      element.replaceChildren(stream.element);
      stream.push(textOf(content));
      stream.end();
    },
    end: () => stream.end(),
    dispose: () => stream.dispose(),
  };
}

const MOST_TYPED = 50_000; // characters of a message that is shown as it was typed

const FENCED = /^(`{3,})[^`\n]*\n[^]*?^\1`*[ \t]*$\n?/gm;

/** The text to the character; code and tables between fences stand in columns. */
function typed(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (const found of text.matchAll(FENCED)) {
    parts.push(text.slice(at, found.index), el("span", "lmc-typed-code", found[0]));
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}

class PlainRendering implements Rendering {
  readonly element = el("div", "lmc-text lmc-typed");
  #text = "";
  push(text: string, cut = 0): void {
    this.replace(this.#text + (cut ? `\n${leftOut(cut)}\n` : "") + text);
  }
  line(): void {}
  replace(content: string): void {
    this.#text = content;
    const more = content.length - MOST_TYPED;
    this.element.replaceChildren(...typed(content.slice(0, MOST_TYPED)));
    if (more > 0) this.element.append(sentence(leftOut(more)));
  }
  end(): void {}
  dispose(): void {}
}
