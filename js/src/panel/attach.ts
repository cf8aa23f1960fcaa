/**
 * Files that a person drops, pastes or picks, read for the way to the kernel.
 *
 * One rule: what is refused is refused with a sentence, and the rest is kept. The limits are
 * those of the way: Jupyter's server ends the connection at a message above 10 MiB (tornado's
 * default), and base64 takes 4/3 of the size.
 */

import type { Attachment } from "../protocol";
import { size, WORDS } from "../words";

const MAX_FILES = 5;
export const MAX_BYTES = 7_000_000;

export interface Attached extends Attachment {
  key: number;
  bytes: number;
  /** For an image: what an <img> may show. */
  preview: string | null;
  /** For a sound: what an <audio> may play. */
  sound: string | null;
}

const PLAYED = /^audio\/(?:wav|wave|x-wav|vnd\.wave)$/;
const SHOWN = ["image/png", "image/jpeg", "image/gif", "image/webp"];
let keys = 0;

/** Bytes that one more attachment may have. */
export function room(already: readonly Attached[]): number {
  return already.length >= MAX_FILES ? 0 : already.reduce((left, one) => left - one.bytes, MAX_BYTES);
}

/** Read them; `refused` holds a sentence for each one that could not be taken. */
export async function readFiles(
  files: readonly File[],
  already: readonly Attached[],
): Promise<{ read: Attached[]; refused: string[] }> {
  const read: Attached[] = [];
  const refusals: string[] = [];
  let sum = already.reduce((all, one) => all + one.bytes, 0);
  for (const file of files) {
    const name = file.name || "image.png";
    if (already.length + read.length >= MAX_FILES) {
      refusals.push(WORDS.tooMany(name, MAX_FILES));
    } else if (file.size === 0) {
      // a folder has no size either; what can be read of it tells them apart
      refusals.push((await readable(file)) ? WORDS.empty(name) : WORDS.unreadable(name));
    } else if (file.size > MAX_BYTES) {
      refusals.push(WORDS.tooBig(name, size(file.size), size(MAX_BYTES)));
    } else if (sum + file.size > MAX_BYTES) {
      refusals.push(WORDS.tooMuch(name, size(sum + file.size), size(MAX_BYTES)));
    } else {
      try {
        read.push(await attach(file, name));
        sum += file.size;
      } catch {
        refusals.push(WORDS.unreadable(name));
      }
    }
  }
  return { read, refused: refusals };
}

async function attach(file: File, name: string): Promise<Attached> {
  const url = await dataUrl(file);
  const data = url.slice(url.indexOf(",") + 1);
  const preview = SHOWN.includes(file.type) ? `data:${file.type};base64,${data}` : null;
  const sound = PLAYED.test(file.type) ? `data:audio/wav;base64,${data}` : null;
  return { key: ++keys, name, mime: file.type, data, bytes: file.size, preview, sound };
}

export function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(reader.error ?? new Error("it could not be read"));
    reader.onload = () =>
      typeof reader.result === "string" ? resolve(reader.result) : reject(new Error("no text"));
    reader.readAsDataURL(file);
  });
}

async function readable(file: File): Promise<boolean> {
  try {
    await dataUrl(file);
    return true;
  } catch {
    return false;
  }
}
