/**
 * The vocabulary of LMC (Language Model Computer) messages, as `lmc_jupyter/lmc.py` has it.
 *
 * One rule: this module imports nothing, and nobody else decides what a valid message is. What
 * the kernel sends has been checked there; so a type or a format that is not known here is not
 * refused but shown as such: the package may be newer than the page.
 */

export type Role = "user" | "assistant" | "computer";
export type Recipient = "user" | "assistant";
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

const ROLES: readonly Role[] = ["user", "assistant", "computer"];
const RECIPIENTS: readonly Recipient[] = ["user", "assistant"];

/** A piece of a message as it streams; `start` and `end` mark the first and the last one. */
export interface Chunk {
  role: Role;
  type: string;
  format?: string;
  /** Text; a line number or null for `active_line`; a dict for `confirmation`. */
  content?: Json;
  recipient?: Recipient;
  /** Of code for the person: N of the `In [N]` whose place it is to take. */
  cell?: number;
  start?: boolean;
  end?: boolean;
}

/** A whole message, as a conversation keeps it; other keys (`partial`, `edited`) are kept too. */
export interface Message {
  role: Role;
  type: string;
  format?: string;
  content: Json;
  recipient?: Recipient;
  cell?: number;
  id?: string;
  created_at?: string;
  partial?: boolean;
  edited?: boolean;
  /** A reader of a file changed its head. */
  was?: boolean;
}

/** Message type -> its formats; null: open (any language). */
export const FORMATS: Readonly<Record<string, readonly string[] | null>> = {
  message: ["text"],
  console: ["output", "active_line"],
  image: ["base64", "base64.png", "base64.jpeg", "path"],
  code: null,
  file: ["path"],
  confirmation: ["execution"],
  audio: ["wav"],
};

/** Message type -> the format that is meant where none is said. */
const IMPLIED: Readonly<Record<string, string>> = { message: "text", file: "path" };

/** The words that models write for a language -> its one name, as far as a kernel has said. */
const ALIASES = new Map<string, string>();

/** Take a kernel's table of languages: their names -> other words for them. Case does not matter. */
export function learnLanguages(languages: Readonly<Record<string, readonly string[]>>): void {
  for (const [name, words] of Object.entries(languages)) {
    for (const word of [name, ...words]) ALIASES.set(word, name);
  }
}

/** The one name of a language word: `bash` -> `shell`; an unknown word stays, in lower case. */
export function canonical(language: string): string {
  const word = language.trim().toLowerCase();
  return ALIASES.get(word) ?? word;
}

/** A chunk that does not follow the protocol; the message is a sentence. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** Chunks of one key belong to one message; a console is one whatever its formats. */
export function keyOf(chunk: Chunk): string {
  const plain = chunk.type === "console" || chunk.format === IMPLIED[chunk.type];
  const format = plain ? undefined : chunk.format;
  return [chunk.role, chunk.type, format, chunk.recipient, chunk.cell].filter((part) => part != null).join("/");
}

/** The content as text: what a person would copy. */
export function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return content == null ? "" : JSON.stringify(content, null, 2);
}

/**
 * The chunk in the form that we keep: a line number is a number, text is text.
 *
 * Throws ProtocolError with a sentence that names the key and the value.
 */
export function check(chunk: Chunk): Chunk {
  if (typeof chunk !== "object" || chunk === null) {
    throw new ProtocolError(`a chunk must be an object, not ${describe(chunk)}`);
  }
  if (!ROLES.includes(chunk.role)) {
    throw new ProtocolError(`unknown role ${describe(chunk.role)}: it must be one of ${ROLES.join(", ")}`);
  }
  if (typeof chunk.type !== "string" || chunk.type === "") {
    throw new ProtocolError(`key 'type' is ${describe(chunk.type)}: it must be a word`);
  }
  if (chunk.format != null && (typeof chunk.format !== "string" || chunk.format === "")) {
    throw new ProtocolError(`key 'format' is ${describe(chunk.format)}: it must be a word or left out`);
  }
  if (chunk.recipient != null && !RECIPIENTS.includes(chunk.recipient)) {
    throw new ProtocolError(
      `unknown recipient ${describe(chunk.recipient)}: it must be user, assistant or left out`,
    );
  }
  if (chunk.format === "active_line") return checkedLine(chunk);
  if (chunk.content == null) {
    if (!chunk.start && !chunk.end) {
      throw new ProtocolError(
        `a chunk of type '${chunk.type}' has neither content nor a flag: ` +
          "give it 'content', 'start' or 'end'",
      );
    }
  } else if (chunk.type in FORMATS && chunk.type !== "confirmation") {
    if (typeof chunk.content !== "string") {
      throw new ProtocolError(
        `the content of type '${chunk.type}' must be text, not ${describe(chunk.content)}`,
      );
    }
  }
  return chunk;
}

function checkedLine(chunk: Chunk): Chunk {
  const { content } = chunk;
  if (content == null || Number.isInteger(content)) return chunk;
  if (typeof content === "string" && /^[0-9]{1,15}$/.test(content)) {
    return { ...chunk, content: Number(content) }; // the guide's example writes "1"
  }
  throw new ProtocolError(`active_line must be a line number or null, not ${describe(content)}`);
}

function describe(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
