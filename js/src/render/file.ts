/**
 * A file: its path, as text.
 *
 * One rule: the page never opens it; a path of this message may be anything.
 */

import type { Chunk } from "../lmc";
import { visible } from "./hidden";
import { atOnce, el, type Host, type Rendering } from "./rendering";

const MOST = 1_000; // characters; no path is longer

export function file(_head: Chunk, _host: Host): Rendering {
  return atOnce("lmc-file", (whole, place) => {
    const content = visible(whole.slice(0, MOST));
    const name = content.split(/[\\/]/).at(-1) || content;
    const path = el("code", "", content);
    place.append(el("p", "lmc-note", "File ", el("b", "", name), " ", path));
  });
}
