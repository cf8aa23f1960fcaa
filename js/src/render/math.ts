/**
 * Formulas: `$…$`, `$$…$$`, `\(…\)`, `\[…\]` in markdown, typeset by KaTeX: as its own layout, which
 * is seen, and as MathML, which is read aloud.
 *
 * One rule: KaTeX comes only when there is a formula, and what it makes is not trusted either
 * (formula.ts). A formula that cannot be typeset is shown as it was written.
 */

import type { Tokens } from "marked";

import { Asset } from "./asset";
import { layout, rebuilt } from "./formula";
import { el, type Host } from "./rendering";

export interface MathToken {
  type: "math" | "mathBlock";
  raw: string;
  tex: string;
  display: boolean;
}

const NO_BLANK_LINE = String.raw`(?:(?!\n[ \t]*\n)[^])`;
// one way to read each character, and no second: a backslash that could be read in two ways would double
// the time with each one of a formula whose end has not come
const WITHIN_DOLLARS = String.raw`(?:\\${NO_BLANK_LINE}|(?!\$\$|\\)${NO_BLANK_LINE})`;
// a dollar of money: `$5 and $6`. So no space inside at the ends, and no digit after
const INLINE = [
  new RegExp(String.raw`^\$\$(${WITHIN_DOLLARS}+?)\$\$`),
  /^\$(?![\s$])((?:\\.|[^\\$\n])*?(?:\\.|[^\\$\s]))\$(?![\d$])/,
  new RegExp(String.raw`^\\\(((?:\\[^)]|(?!\\)${NO_BLANK_LINE})+?)\\\)`),
  new RegExp(String.raw`^\\\[((?:\\[^\]]|(?!\\)${NO_BLANK_LINE})+?)\\\]`),
];
const BLOCK = [
  new RegExp(String.raw`^ {0,3}\$\$(${WITHIN_DOLLARS}+?)\$\$[ \t]*(?:\n|$)`),
  new RegExp(String.raw`^ {0,3}\\\[((?:\\[^\]]|(?!\\)${NO_BLANK_LINE})+?)\\\][ \t]*(?:\n|$)`),
];
const LONGEST = 20_000; // characters of one formula

function first(patterns: RegExp[], source: string): RegExpExecArray | null {
  for (const pattern of patterns) {
    const match = pattern.exec(source.length > LONGEST ? source.slice(0, LONGEST) : source);
    if (match) return match;
  }
  return null;
}

/** Where a formula alone on its lines may begin: a paragraph ends there. */
export function mathBlockStart(source: string): number | undefined {
  const at = /\n {0,3}(?:\$\$|\\\[)/.exec(source)?.index;
  return at === undefined ? undefined : at + 1;
}

export function mathBlock(source: string): (MathToken & Tokens.Generic) | undefined {
  const match = /^ {0,3}[$\\]/.test(source) ? first(BLOCK, source) : null;
  return match ? tokenOf(match, "mathBlock", true) : undefined;
}

/** Where a formula within a line may begin. */
export function mathInlineStart(source: string): number | undefined {
  return /\$|\\[([]/.exec(source)?.index;
}

export function mathInline(source: string): (MathToken & Tokens.Generic) | undefined {
  if (source[0] !== "$" && source[0] !== "\\") return undefined;
  const match = first(INLINE, source);
  return match ? tokenOf(match, "math", /^(?:\$\$|\\\[)/.test(match[0])) : undefined;
}

function tokenOf(match: RegExpExecArray, type: MathToken["type"], display: boolean): MathToken & Tokens.Generic {
  return { type, raw: match[0], tex: (match[1] ?? "").trim(), display };
}

/** The same text with formulas made of letters: no emphasis begins or ends inside of one. */
export function maskMath(source: string): string {
  if (!/[$]|\\[([]/.test(source)) return source;
  let withoutEscapes = "";
  let at = 0;
  for (const token of source.matchAll(/\\[^([]|[$]|\\[([]/g)) {
    if (token.index < at || /^\\[^([]/.test(token[0])) continue;
    const match = first(INLINE, source.slice(token.index));
    if (!match) continue;
    withoutEscapes += source.slice(at, token.index) + "a".repeat(match[0].length);
    at = token.index + match[0].length;
  }
  return withoutEscapes + source.slice(at);
}

// Typesetting --------------------------------------------------------------------------------------

type Typeset = (tex: string, display: boolean, output: "mathml" | "html") => string;

const typesetter = new Asset<Typeset>("katex.js", "renderToString");
const cache = new Map<string, Element>();
const MOST_MADE = 300;

/** A formula: its source now, typeset as soon as it can be. */
export function drawMath(tex: string, display: boolean, raw: string, host: Host): HTMLElement {
  const place = el("span", display ? "lmc-math lmc-display" : "lmc-math", raw.trim());
  if (typesetter.ready) put(place, tex, display, typesetter.ready);
  else {
    typesetter.load(host).then(
      (ready) => put(place, tex, display, ready),
      (error: unknown) => {
        place.title = `The typesetter could not be loaded: ${String(error).slice(0, 200)}`;
      },
    );
  }
  return place;
}

function put(place: HTMLElement, tex: string, display: boolean, ready: Typeset): void {
  const key = `${display ? "d" : "i"}${tex}`;
  let math = cache.get(key);
  if (!math) {
    try {
      const [read, seen] = [ready(tex, display, "mathml"), ready(tex, display, "html")];
      math = el("span", "katex", el("span", "katex-mathml", rebuilt(read)), layout(seen));
    } catch (error) {
      place.classList.add("lmc-bad-math");
      place.title = error instanceof Error ? error.message.slice(0, 300) : "This is not a formula.";
      return;
    }
    if (cache.size >= MOST_MADE) cache.delete(cache.keys().next().value ?? "");
    cache.set(key, math);
  }
  place.replaceChildren(math.cloneNode(true));
}
