/**
 * A message whose type this page does not know: said, and shown as the text that it is.
 *
 * One rule: it never throws; the package in the kernel may be newer than the page.
 */

import type { Chunk } from "../lmc";
import { atOnce, el, leftOut, sentence, type Host, type Rendering } from "./rendering";

const MOST = 4_000; // characters

export function unknown(head: Chunk, _host: Host): Rendering {
  return atOnce("lmc-unknown", (content, place) => {
    place.append(sentence(`A message of the unknown type '${String(head.type).slice(0, 60)}'`));
    if (!content) return;
    const more = content.length > MOST ? `\n${leftOut(content.length - MOST)}` : "";
    place.append(el("pre", "lmc-console", content.slice(0, MOST) + more));
  });
}
