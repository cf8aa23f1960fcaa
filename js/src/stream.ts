/**
 * Chunks -> messages: the same Assembler as in `lmc_jupyter/stream.py`.
 *
 * One rule: no other module joins the contents of chunks. The recorded streams of `tests/streams`
 * drive both to the same messages.
 */

import { check, keyOf, ProtocolError, type Chunk, type Json, type Message } from "./lmc";

/**
 * Builds messages from chunks: feed it every chunk, it returns each message once whole.
 *
 * It accepts the strict stream, a chunk that carries content and a flag at once, and a whole
 * message without flags. After a ProtocolError it is as it was before the bad chunk.
 */
export class Assembler {
  #first: Chunk | null = null;
  #parts: Json[] = [];
  #line: number | null = null;

  /** The chunk that opened the message which is not yet whole, if there is one. */
  get open(): Chunk | null {
    return this.#first;
  }

  /** The line that runs now, while a console is open. */
  get activeLine(): number | null {
    return this.#line;
  }

  /**
   * Take the next chunk; return the message that it completes, else null.
   *
   * Throws ProtocolError when the chunk is malformed, opens a message inside another, or belongs
   * to none.
   */
  feed(given: Chunk): Message | null {
    const chunk = check(given);
    if (chunk.type === "confirmation") return null;
    if (chunk.start) {
      if (this.#first) {
        throw new ProtocolError(
          `a '${chunk.type}' starts while a '${this.#first.type}' is open: end that first`,
        );
      }
      this.#first = chunk;
      this.#parts = [];
    } else if (!this.#first) {
      return this.#loose(chunk);
    } else if (keyOf(this.#first) !== keyOf(chunk)) {
      throw new ProtocolError(
        `a chunk of ${keyOf(chunk)} came while a message of ${keyOf(this.#first)} is open: ` +
          "end that first",
      );
    }
    if (chunk.format === "active_line") {
      this.#line = lineOf(chunk);
    } else if (chunk.content != null && chunk.content !== "") {
      this.#parts.push(chunk.content);
    }
    return chunk.end ? this.flush() : null;
  }

  /** What there is of the open message, if one is open: a stopped reply is kept so far. */
  flush(): Message | null {
    const first = this.#first;
    if (!first) return null;
    this.#first = this.#line = null;
    const format = first.type === "console" ? "output" : first.format;
    return message(first, format, joinParts(this.#parts));
  }

  /** A whole message without flags; an active line or an end without a message is lost. */
  #loose(chunk: Chunk): Message | null {
    if (chunk.format === "active_line" && !chunk.end) {
      this.#line = lineOf(chunk);
      return null;
    }
    if (chunk.content == null || chunk.format === "active_line") {
      throw new ProtocolError(
        `an end of ${keyOf(chunk)} came, but no message is open: start one first`,
      );
    }
    return message(chunk, chunk.format, chunk.content);
  }
}

/** The chunk that opens a message like this one. */
export function headOf({ role, type, format, recipient, cell }: Message): Chunk {
  const head: Chunk = { role, type, start: true };
  if (format != null && type !== "console") head.format = format; // its flags enclose both formats
  if (recipient != null) head.recipient = recipient;
  if (cell != null) head.cell = cell;
  return head;
}

/** A message under the head of this chunk. */
export function message(head: Chunk, format: string | undefined, content: Json): Message {
  const whole: Message = { role: head.role, type: head.type, content };
  if (format != null) whole.format = format;
  if (head.recipient != null) whole.recipient = head.recipient;
  if (head.cell != null) whole.cell = head.cell;
  return whole;
}

function lineOf(chunk: Chunk): number | null {
  return typeof chunk.content === "number" ? chunk.content : null;
}

/** Text; but one piece of a type that is not known here stays what it is. */
function joinParts(parts: Json[]): Json {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join("");
}
