/**
 * A file: its path, as text.
 *
 * One rule: the page never opens it; a path of this message may be anything.
 */

import type { Chunk } from "../lmc";
import { atOnce, el, type Host, type Rendering } from "./rendering";

const MOST = 1_000; // characters; no path is longer

export function file(_head: Chunk, _host: Host): Rendering {
  return atOnce("lmc-file", (content, place) => {
    const name = content.split(/[\\/]/).at(-1) || content;
    const path = el("code", "", content.slice(0, MOST));
    place.append(el("p", "lmc-note", "File ", el("b", "", name.slice(0, MOST)), " ", path));
  });
}
