/**
 * What marked reads as Markdown.
 *
 * One rule: tags are text; they are not even looked for.
 */

import { Tokenizer, type MarkedOptions } from "marked";

import { maskMath, mathBlock, mathBlockStart, mathInline, mathInlineStart } from "./math";

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
