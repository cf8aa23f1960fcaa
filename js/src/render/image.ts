/**
 * Images: png and jpeg that came as base64; a click enlarges them.
 *
 * One rule: nothing is fetched. A path is a sentence, and data that are not what they say are too.
 */

import type { Chunk } from "../lmc";
import { bytes, clean, dimensions, kind } from "./base64";
import { visible } from "./hidden";
import { atOnce, count, el, sentence, type Host, type Rendering } from "./rendering";

const MOST_BYTES = 20_000_000;
const MOST_PIXELS = 40_000_000;

/** The data as a URL that may be shown, or a sentence that says why not. */
export function checkedImage(
  content: string,
  format: string,
): { url: string; width: number; height: number } | { problem: string } {
  const expected = format === "base64.jpeg" ? "jpeg" : "png";
  if (content === "") return { problem: "The image is empty." };
  const dense = clean(content);
  if (dense === null) return { problem: "This image cannot be shown: its data are not base64." };
  if (bytes(dense) > MOST_BYTES) {
    return {
      problem:
        `This image has ${count(bytes(dense))} bytes; at most ${count(MOST_BYTES)} are shown. ` +
        "Save it to a file instead.",
    };
  }
  const actual = kind(dense);
  if (actual !== expected) {
    const is = actual === null ? `are no ${expected}` : `are ${actual}, not ${expected}`;
    return { problem: `This image cannot be shown: it says '${format}', but its data ${is}.` };
  }
  const size = dimensions(dense, expected);
  if (!size || size[0] < 1 || size[1] < 1) {
    return { problem: `This image cannot be shown: its ${expected} data are broken or cut off.` };
  }
  const [width, height] = size;
  if (width * height > MOST_PIXELS) {
    return {
      problem:
        `This image has ${count(width)} × ${count(height)} pixels; at most ` +
        `${count(MOST_PIXELS)} in all are shown. Make it smaller, or save it to a file.`,
    };
  }
  return { url: `data:image/${expected};base64,${dense}`, width, height };
}

export function image(head: Chunk, host: Host): Rendering {
  const format = head.format ?? "base64";
  return atOnce("lmc-picture", (content, place) => {
    if (format === "path") {
      place.append(sentence(`An image, in the file ${visible(content.slice(0, 1_000))}`));
    } else if (!["base64", "base64.png", "base64.jpeg"].includes(format)) {
      place.append(sentence(`An image of the unknown format '${visible(format.slice(0, 60))}'.`));
    } else {
      place.append(drawn(content, format, head.role === "user" ? "Your image" : "Image", host));
    }
  });
}

function drawn(content: string, format: string, name: string, host: Host): HTMLElement {
  const source = checkedImage(content, format);
  if ("problem" in source) return sentence(source.problem);
  const { url, width, height } = source;
  const img = el("img");
  img.alt = `${name}, ${width} × ${height} pixels`;
  img.decoding = "async";
  img.width = width; // its place is kept while it is decoded
  img.height = height;
  const enlarge = el("button", "lmc-enlarge", img);
  enlarge.type = "button";
  enlarge.title = "Enlarge";
  enlarge.addEventListener("click", () => host.openImage(img));
  img.addEventListener("error", () => {
    enlarge.replaceWith(sentence("This image cannot be shown: its data are broken."));
  });
  img.src = url;
  return enlarge;
}
