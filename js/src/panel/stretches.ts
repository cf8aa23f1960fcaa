// A sentence of ours as it is shown: what stands between backticks is a name or a command.
// One rule: it is text; nothing else in it has a meaning, and a line that quotes a file ("│ ...") is
// shown as it stands there.

/** A stretch of a sentence. */
export type Stretch = { readonly text: string; readonly code: boolean };

/** The stretches of a sentence, without their backticks; one that stands alone stays. */
export function stretches(text: string): Stretch[] {
  return text
    .split(/^(│.*)$/m)
    .flatMap((part, at) => (at % 2 === 1 ? [[part]] : [part.split(/`([^`\n]+)`/)]))
    .flatMap((parts) => parts.map((part, at) => ({ text: part, code: at % 2 === 1 })))
    .filter((part) => part.text !== "");
}
