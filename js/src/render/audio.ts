/**
 * Audio: a wav that came as base64, with the browser's own controls; a path is a sentence.
 *
 * One rule: nothing is fetched, and nothing plays by itself.
 */

import type { Chunk } from "../lmc";
import { bytes, clean, kind } from "./base64";
import { atOnce, count, el, sentence, type Host, type Rendering } from "./rendering";

const MOST_BYTES = 20_000_000;

export function audio(head: Chunk, _host: Host): Rendering {
  return atOnce("lmc-audio", (content, place) => {
    const dense = clean(content);
    if (head.format !== undefined && head.format !== "wav") {
      place.append(sentence(`Audio of the unknown format '${head.format.slice(0, 60)}'.`));
    } else if (dense !== null && bytes(dense) > MOST_BYTES) {
      place.append(
        sentence(`This audio has ${count(bytes(dense))} bytes; at most ${count(MOST_BYTES)} are played.`),
      );
    } else if (dense !== null && kind(dense) === "wav") {
      const player = el("audio");
      player.controls = true;
      player.preload = "metadata";
      player.setAttribute("aria-label", "Audio clip");
      player.addEventListener("error", () => {
        player.replaceWith(sentence("This audio cannot be played: its data are broken."));
      });
      player.src = `data:audio/wav;base64,${dense}`;
      place.append(player);
    } else if (content.length < 1_000 && /[./\\]/.test(content)) {
      place.append(sentence(`Audio, in the file ${content}`));
    } else {
      place.append(sentence("This audio cannot be played: its data are not a wav file in base64."));
    }
  });
}
