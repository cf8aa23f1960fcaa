/**
 * What base64 text really holds, without decoding all of it.
 *
 * One rule: nothing is given to the browser that was not looked at here: its alphabet, its size,
 * its first bytes. A 31 kB picture can ask for a gigabyte (docs/security.md).
 */

/** base64 without its white space; null when it is none. */
export function clean(text: string): string | null {
  const dense = text.replace(/\s+/g, "");
  return dense.length > 0 && dense.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(dense)
    ? dense
    : null;
}

/** How many bytes clean base64 stands for. */
export function bytes(dense: string): number {
  const padding = dense.endsWith("==") ? 2 : dense.endsWith("=") ? 1 : 0;
  return (dense.length / 4) * 3 - padding;
}

/** The first `most` bytes (or fewer). */
function head(dense: string, most: number): Uint8Array {
  const binary = atob(dense.slice(0, Math.ceil(most / 3) * 4));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0)).subarray(0, most);
}

/** "png", "jpeg", "wav", or null for anything else. */
export function kind(dense: string): "png" | "jpeg" | "wav" | null {
  const start = head(dense, 12);
  const is = (at: number, ...wanted: number[]) => wanted.every((byte, index) => start[at + index] === byte);
  if (is(0, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return "png";
  if (is(0, 0xff, 0xd8, 0xff)) return "jpeg";
  if (is(0, 0x52, 0x49, 0x46, 0x46) && is(8, 0x57, 0x41, 0x56, 0x45)) return "wav";
  return null;
}

/** Width and height in pixels, as the header says; null when it does not say. */
export function dimensions(dense: string, type: "png" | "jpeg"): [number, number] | null {
  if (type === "png") {
    const data = head(dense, 24);
    return data.length < 24 ? null : [long(data, 16), long(data, 20)];
  }
  // a JPEG may carry long notes before its frame header
  return frameHeader(head(dense, 65_536)) ?? frameHeader(head(dense, dense.length));
}

function frameHeader(data: Uint8Array): [number, number] | null {
  let at = 2;
  while (at + 9 < data.length && data[at] === 0xff) {
    const marker = data[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [short(data, at + 7), short(data, at + 5)];
    if (marker === 0xff) at += 1; // fill bytes
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2;
    else at += 2 + short(data, at + 2);
  }
  return null;
}

function short(data: Uint8Array, at: number): number {
  return (data[at] ?? 0) * 256 + (data[at + 1] ?? 0);
}

function long(data: Uint8Array, at: number): number {
  return short(data, at) * 65_536 + short(data, at + 2);
}
