/**
 * Messages on the screen: one renderer for each message type.
 *
 * One rule: to add a type, write a file with a `Renderer` and add a line to the table; a type that
 * is not in it is shown as such, and no message ever throws.
 */

import { textOf, type Chunk, type Message } from "../lmc";
import { audio } from "./audio";
import { code } from "./code";
import { confirmation } from "./confirmation";
import { console_ } from "./console";
import { file } from "./file";
import { image } from "./image";
import { message } from "./markdown";
import type { Host, Renderer, Rendering } from "./rendering";
import { unknown } from "./unknown";

export type { Host, Renderer, Rendering } from "./rendering";

/** Message type -> its renderer. */
export const RENDERERS: ReadonlyMap<string, Renderer> = new Map([
  ["message", message],
  ["console", console_],
  ["image", image],
  ["code", code],
  ["file", file],
  ["confirmation", confirmation],
  ["audio", audio],
]);

/** Begins a message; `head` is the chunk that opened it. */
export function begin(head: Chunk, host: Host): Rendering {
  // what code shows as Markdown or a formula is read as such; what a model writes as code is not
  if (head.role === "computer" && head.type === "code" && head.format === "markdown") {
    return message({ ...head, role: "assistant", type: "message" }, host);
  }
  return (RENDERERS.get(head.type) ?? unknown)(head, host);
}

/** A message that is there as a whole; `tail` is what follows after `cut` characters left out. */
export function whole(given: Message, host: Host, tail?: { cut: number; text: string }): Rendering {
  const head: Chunk = { role: given.role, type: given.type };
  if (given.format != null) head.format = given.format;
  if (given.recipient != null) head.recipient = given.recipient;
  const rendering = begin(head, host);
  rendering.push(textOf(given.content));
  if (tail) rendering.push(tail.text, tail.cut);
  rendering.end();
  return rendering;
}
