/**
 * KaTeX with its fonts as a file of its own, loaded when the first formula appears (render/math.ts).
 *
 * One rule: nothing is fetched. Its style sheet is in the widget's own, its fonts are in this file,
 * so that a formula looks the same where the machine has no mathematics font. Code in a formula
 * (\texttt) has the font of all code (build.mjs): a font of its own would be 14 kB in each wheel.
 */

import katex from "katex";
import amsRegular from "katex/dist/fonts/KaTeX_AMS-Regular.woff2";
import caligraphicRegular from "katex/dist/fonts/KaTeX_Caligraphic-Regular.woff2";
import frakturRegular from "katex/dist/fonts/KaTeX_Fraktur-Regular.woff2";
import mainRegular from "katex/dist/fonts/KaTeX_Main-Regular.woff2";
import mathItalic from "katex/dist/fonts/KaTeX_Math-Italic.woff2";
import sansserifRegular from "katex/dist/fonts/KaTeX_SansSerif-Regular.woff2";
import scriptRegular from "katex/dist/fonts/KaTeX_Script-Regular.woff2";
import size1Regular from "katex/dist/fonts/KaTeX_Size1-Regular.woff2";
import size2Regular from "katex/dist/fonts/KaTeX_Size2-Regular.woff2";
import size3Regular from "katex/dist/fonts/KaTeX_Size3-Regular.woff2";
import size4Regular from "katex/dist/fonts/KaTeX_Size4-Regular.woff2";

/** [family, weight, style, address of its data]; the browser makes what is rare of the regular ones. */
const FONTS = [
  ["KaTeX_AMS", "normal", "normal", amsRegular],
  ["KaTeX_Caligraphic", "normal", "normal", caligraphicRegular],
  ["KaTeX_Fraktur", "normal", "normal", frakturRegular],
  ["KaTeX_Main", "normal", "normal", mainRegular],
  ["KaTeX_Math", "normal", "italic", mathItalic],
  ["KaTeX_SansSerif", "normal", "normal", sansserifRegular],
  ["KaTeX_Script", "normal", "normal", scriptRegular],
  ["KaTeX_Size1", "normal", "normal", size1Regular],
  ["KaTeX_Size2", "normal", "normal", size2Regular],
  ["KaTeX_Size3", "normal", "normal", size3Regular],
  ["KaTeX_Size4", "normal", "normal", size4Regular],
] as const;

if (typeof FontFace === "function") {
  for (const [family, weight, style, data] of FONTS) {
    document.fonts.add(new FontFace(family, `url(${data})`, { weight, style }));
  }
}

/**
 * A formula as markup: MathML, which is read aloud, or the HTML that is seen.
 *
 * Throws KaTeX's ParseError, a sentence with the place, when the TeX is wrong.
 */
export function renderToString(tex: string, display: boolean, output: "mathml" | "html" = "mathml"): string {
  return katex.renderToString(tex, {
    displayMode: display,
    output,
    throwOnError: true,
    trust: false, // no links, no images, no classes from the text
    strict: "ignore",
    maxExpand: 500,
    maxSize: 20,
  });
}
