/**
 * highlight.js with our languages as a file of its own, loaded at the first code
 * (render/highlight.ts).
 *
 * One rule: no HTML is made. What comes out are pairs of a class and a text, whose texts together
 * are the code; the classes are the short ones of `lmc_jupyter/frontends/cell/style.css` (k s c n f b o).
 */

import type { Emitter, LanguageFn } from "highlight.js";
import hljs from "highlight.js/lib/core";
import applescript from "highlight.js/lib/languages/applescript";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
// beside JavaScript, whose rules it repeats: there the wheel packs the copy into nothing
import typescript from "highlight.js/lib/languages/typescript";
import json from "highlight.js/lib/languages/json";
import julia from "highlight.js/lib/languages/julia";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import perl from "highlight.js/lib/languages/perl";
import php from "highlight.js/lib/languages/php";
import powershell from "highlight.js/lib/languages/powershell";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

/** [css class or "", text] */
export type Piece = [string, string];

const LANGUAGES: Record<string, LanguageFn> = {
  ...{ applescript, bash, c, cpp, css, diff, dockerfile, go, java },
  ...{ javascript, json, julia, kotlin, lua, makefile, perl, php, powershell, python, r, ruby },
  ...{ rust, sql, swift, typescript, xml, yaml },
};
/** Names of ours for the library's; its own aliases (py, ts, html, svg, …) count too. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["shell", "bash"],
  ["html", "xml"],
]);

/** The library's scopes -> our classes; a scope that is not here looks like what it is in. */
const CLASSES: ReadonlyMap<string, string> = new Map([
  ["keyword", "k"],
  ["literal", "k"],
  ["selector-tag", "k"],
  ["name", "k"],
  ["tag", ""],
  ["string", "s"],
  ["char", "s"],
  ["regexp", "s"],
  ["link", "s"],
  ["subst", ""],
  ["comment", "c"],
  ["quote", "c"],
  ["doctag", "c"],
  ["number", "n"],
  ["symbol", "n"],
  ["title", "f"],
  ["section", "f"],
  ["attr", "f"],
  ["attribute", "f"],
  ["selector-class", "f"],
  ["selector-id", "f"],
  ["built_in", "b"],
  ["type", "b"],
  ["meta", "o"],
  ["operator", "o"],
  ["bullet", "o"],
  ["addition", "b"],
  ["deletion", "s"],
  ["params", ""],
  ["property", ""],
  ["variable", ""],
]);

/** Takes the library's scopes in, and gives pieces out. */
class Tokens implements Emitter {
  readonly pieces: Piece[] = [];
  #open: string[] = [];

  startScope(name: string): void {
    const [first = ""] = name.split(".");
    this.#open.push(CLASSES.get(first) ?? this.#open.at(-1) ?? "");
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

/** The code in pieces; null for a language that is not one of ours. */
export function coloured(code: string, language: string): Piece[] | null {
  const name = NAMES.get(language) ?? language;
  if (!highlighter.getLanguage(name)) return null;
  const { _emitter } = highlighter.highlight(code, { language: name, ignoreIllegals: true });
  return _emitter instanceof Tokens ? _emitter.pieces : null;
}
