/**
 * Markdown that streams: what can no longer change is drawn once, only the tail is read again.
 *
 * One rule: marked reads, and what it read becomes nodes here, by name and by `textContent`. No
 * HTML is made on the way, so there is none to be trusted: a tag in the text is text. Nothing is
 * fetched, and a link leads to http, https or mailto only. (docs/security.md)
 */

import { Lexer, type Token, type Tokens } from "marked";

import { textOf, type Chunk } from "../lmc";
import { CodeRendering } from "./code";
import { dialect } from "./dialect";
import { Frames } from "./frames";
import { askBeforeSending, codeOf, drawBlock, isDrawn, languageOf, morph } from "./nodes";
import { el, leftOut, sentence, type Host, type Rendering } from "./rendering";

const SLICE = 8_000; // characters that are read at once, of a text that comes whole
const MOST_TAIL = 32_000; // a block longer than this is cut at a line's end, a line goes on as text
// so does one with more of the signs that the reader looks back and forth for: its cost is their
// number squared, and a hostile text is made of nothing else
const MOST_SIGNS = 4_000;
const SIGNS = /[[\]*_`<$\\~@&#]|^[-+>]/gm;
const TOO_DEEP = /^ *(?:[-+*>] |>){60}/m; // the reader would run out of stack

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
    const joint = plain.data.slice(-1) + text;
    const end = joint.indexOf("\n\n");
    if (end < 0) {
      if (plain.length > SLICE) {
        // in pieces: of those out of sight the browser makes no layout
        this.#plain = document.createTextNode(text);
        this.element.append(el("p", "lmc-plain lmc-more", this.#plain));
      } else plain.appendData(text);
      return null;
    }
    const before = joint.slice(plain.data.length ? 1 : 0, end);
    plain.appendData(before);
    this.#plain = null;
    return joint.slice(end + 2);
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
    for (const surplus of this.#live.splice(drawn.length)) {
      surplus.code?.dispose();
      surplus.element.remove();
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
function drawTyped(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (const fence of text.matchAll(FENCED)) {
    parts.push(text.slice(at, fence.index), el("span", "lmc-typed-code", fence[0]));
    at = fence.index + fence[0].length;
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
    this.element.replaceChildren(...drawTyped(content.slice(0, MOST_TYPED)));
    if (more > 0) this.element.append(sentence(leftOut(more)));
  }
  end(): void {}
  dispose(): void {}
}
