/**
 * What a person must have had before their eyes before a press of Run counts.
 *
 * One rule: it is the same in the panel and in a cell.
 */

/** A press meant for what was here before must not decide. */
export const INERT_MS = 600;
/** Code with more lines runs once its end was in sight: less can be read as it stands. */
const LOOK_LINES = 60;
const LINE_LENGTH = 100; // characters; a longer line counts as several, for its end may be far

/** Whether this code can be run without having been scrolled to its end. */
export function isShort(code: string): boolean {
  const lines = code.replace(/\n$/, "").split("\n");
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / LINE_LENGTH)), 0) <= LOOK_LINES;
}
