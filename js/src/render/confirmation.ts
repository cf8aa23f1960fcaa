/**
 * A confirmation that was stored: a question of the past.
 *
 * One rule: it is a sentence and never a button; what waits now comes as a Question of the kernel.
 */

import { drawCode } from "./code";
import { visible } from "./hidden";
import { atOnce, el, sentence, type Host, type Rendering } from "./rendering";
import type { Chunk } from "../lmc";

export function confirmation(_head: Chunk, host: Host): Rendering {
  return atOnce("lmc-confirmation", (content, place) => {
    const proposal = read(content);
    if (!proposal) {
      place.append(sentence("A request to run code."));
      return;
    }
    const language = visible(proposal.language.slice(0, 60));
    const fold = el("details", "lmc-fold", el("summary", "", `The model asked to run this ${language} code`));
    fold.append(drawCode(proposal.code, proposal.language, host));
    place.append(fold);
  });
}

/** Both shapes of the migration guide, as JSON. */
function read(content: string): { language: string; code: string } | null {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    return null; // told to the person as a question without its code
  }
  if (typeof value !== "object" || value === null) return null;
  const { format, language = format, code, content: text = code } = value as { [key: string]: unknown };
  return typeof language === "string" && typeof text === "string" ? { language, code: text } : null;
}
