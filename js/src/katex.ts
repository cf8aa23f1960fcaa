/**
 * KaTeX as a file of its own, loaded when the first formula appears (render/math.ts).
 *
 * One rule: it makes MathML only, so it needs neither a style sheet nor fonts.
 */

import katex from "katex";

/**
 * A formula as MathML markup.
 *
 * Throws KaTeX's ParseError, a sentence with the place, when the TeX is wrong.
 */
export function renderToString(tex: string, display: boolean): string {
  return katex.renderToString(tex, {
    displayMode: display,
    output: "mathml",
    throwOnError: true,
    trust: false, // no links, no images, no classes from the text
    strict: "ignore",
    maxExpand: 500,
    maxSize: 20,
  });
}
