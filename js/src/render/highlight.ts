/**
 * Code -> lines of [css class, text]; the colours come from a file of their own (../highlight.ts).
 *
 * One rule: code is there at once, plain; it gets its colours when that file has come, and stays
 * as it is where it never comes. Class `h` marks a hidden character, so the live view looks like
 * the record, whose classes are those of `lmc_jupyter/frontends/cell/style.css`.
 */

import type { Piece } from "../highlight";
import { canonical } from "../lmc";
import { Asset } from "./asset";
import { splitHidden } from "./hidden";
import type { Host } from "./rendering";

/** Per line, [css class or "", text]; the same shape as `Question.lines`. */
export type Lines = Piece[][];

/** Longer code is not highlighted, as in the record: hostile code takes its length squared. */
const MOST_HIGHLIGHTED = 30_000;
/** Nor is code with a longer word: the library's time for one is its length squared. */
const LONGEST_WORD = 2_000;
const SLICE_MS = 8; // what waited for its colours is drawn again so long at a time

const library = new Asset<(code: string, language: string) => Piece[] | null>("highlight.js", "coloured");
const waiting = new Set<() => void>();
let next: ReturnType<typeof setTimeout> | undefined;

/** The code as lines, with the colours that are there by now. */
export function highlight(code: string, language: string): Lines {
  return intoLines(pieces(code, language));
}

/** The same without colours. */
export function plain(code: string): Lines {
  return intoLines([["", code]]);
}

/**
 * Have `redraw` called when colours have come; not where they are here already.
 *
 * Returns what takes that back.
 */
export function whenColoured(host: Host, redraw: () => void): () => void {
  if (library.ready) return () => undefined;
  waiting.add(redraw);
  library.load(host).then(
    () => (next ??= setTimeout(redrawSome)),
    () => undefined, // plain code is code; the next block asks again, and may bring colours to all
  );
  return () => waiting.delete(redraw);
}

/** The last ones first: what is read now is at the end. */
function redrawSome(): void {
  next = undefined;
  const until = performance.now() + SLICE_MS;
  for (const redraw of [...waiting].reverse()) {
    waiting.delete(redraw);
    redraw();
    if (performance.now() < until) continue;
    if (waiting.size) next = setTimeout(redrawSome);
    return;
  }
}

function pieces(code: string, language: string): Piece[] {
  if (!library.ready || code.length > MOST_HIGHLIGHTED || hasLongWord(code)) return [["", code]];
  const coloring = library.ready(code, canonical(language));
  // what is shown is what runs, whatever the library leaves out
  return coloring?.map(([, text]) => text).join("") === code ? coloring : [["", code]];
}

function hasLongWord(code: string): boolean {
  for (const [word] of code.matchAll(/[\w.$]+/g)) if (word.length > LONGEST_WORD) return true;
  return false;
}

function intoLines(all: Piece[]): Lines {
  let line: Piece[] = [];
  const lines = [line];
  for (const [css, text] of all) {
    for (const [part, isMark] of splitHidden(text)) {
      part.split("\n").forEach((piece, index) => {
        if (index) lines.push((line = []));
        if (piece) line.push([isMark ? "h" : css, piece]);
      });
    }
  }
  return lines;
}
