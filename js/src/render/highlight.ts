/**
 * Code -> lines of [css class, text], by highlight.js.
 *
 * One rule: no HTML is made. The classes are the short ones of `lmc_jupyter/views/style.css`
 * (k s c n f b o, and h for a mark of a hidden character), so the live view looks like the record.
 */

import type { Emitter, LanguageFn } from "highlight.js";
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import sql from "highlight.js/lib/languages/sql";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

import { canonical } from "../lmc";
import { revealed } from "./hidden";

/** Per line, [css class or "", text]; the same shape as `Question.lines`. */
export type Lines = [string, string][][];

/** Longer code is not highlighted: it would hold up the page. */
export const MOST_HIGHLIGHTED = 100_000;
/** Nor is code with a longer word: the library's time for one is its length squared. */
export const LONGEST_WORD = 2_000;

const LANGUAGES: Record<string, LanguageFn> = {
  bash,
  diff,
  javascript,
  json,
  python,
  r,
  sql,
  xml,
  yaml,
};
/** Names of ours for the library's; its own aliases (py, ts, html, svg, …) count too. */
const NAMES: Record<string, string> = { shell: "bash", html: "xml", typescript: "javascript", ts: "javascript", tsx: "javascript" };

/** The library's scopes -> our classes; a scope that is not here looks like what it is in. */
const CLASSES: Record<string, string> = {
  keyword: "k",
  literal: "k",
  "selector-tag": "k",
  name: "k",
  tag: "",
  string: "s",
  regexp: "s",
  link: "s",
  subst: "",
  comment: "c",
  quote: "c",
  number: "n",
  symbol: "n",
  title: "f",
  section: "f",
  attr: "f",
  attribute: "f",
  built_in: "b",
  type: "b",
  meta: "o",
  operator: "o",
  bullet: "o",
  addition: "b",
  deletion: "s",
  params: "",
  property: "",
  variable: "",
};

/** Takes the library's scopes in, and gives [class, text] out. */
class Tokens implements Emitter {
  readonly pieces: [string, string][] = [];
  #open: string[] = [];

  startScope(name: string): void {
    const [first = ""] = name.split(".");
    this.#open.push(CLASSES[first] ?? this.#open.at(-1) ?? "");
  }
  endScope(): void {
    this.#open.pop();
  }
  openNode(name: string): void {
    this.startScope(name);
  }
  closeNode(): void {
    this.endScope();
  }
  addText(text: string): void {
    if (text) this.pieces.push([this.#open.at(-1) ?? "", text]);
  }
  __addSublanguage(other: Emitter): void {
    if (other instanceof Tokens) for (const piece of other.pieces) this.pieces.push(piece);
  }
  finalize(): void {}
  toHTML(): string {
    return "";
  }
}

const highlighter = hljs.newInstance();
highlighter.configure({ __emitter: Tokens });
for (const [name, language] of Object.entries(LANGUAGES)) {
  highlighter.registerLanguage(name, language);
}

/** The library's name for a word that names a language; null when it is not one of ours. */
export function known(language: string): string | null {
  const word = canonical(language);
  const name = NAMES[word] ?? word;
  return highlighter.getLanguage(name) ? name : null;
}

/** The code as lines of [class, text]; hidden characters become marks of class `h`. */
export function highlight(code: string, language: string): Lines {
  return intoLines(pieces(code, language));
}

/** The same without colours. */
export function plain(code: string): Lines {
  return intoLines([["", code]]);
}

function pieces(code: string, language: string): [string, string][] {
  const name = known(language);
  if (!name || code.length > MOST_HIGHLIGHTED || hasLongWord(code)) return [["", code]];
  const { _emitter } = highlighter.highlight(code, { language: name, ignoreIllegals: true });
  return _emitter instanceof Tokens ? _emitter.pieces : [["", code]];
}

function hasLongWord(code: string): boolean {
  for (const [word] of code.matchAll(/[\w.$]+/g)) if (word.length > LONGEST_WORD) return true;
  return false;
}

function intoLines(all: [string, string][]): Lines {
  let line: [string, string][] = [];
  const lines = [line];
  for (const [css, text] of all) {
    for (const [part, isMark] of revealed(text)) {
      part.split("\n").forEach((piece, index) => {
        if (index) lines.push((line = []));
        if (piece) line.push([isMark ? "h" : css, piece]);
      });
    }
  }
  return lines;
}
