/**
 * A running program asks the person for a line: `input()`, `getpass()`, a debugger; or `/key` asks.
 *
 * One rule: what is typed goes to who asks and nowhere else; of a password nothing stays here.
 * The prompt is foreign text.
 */

import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";

import type { Input } from "../protocol";
import { WORDS } from "../words";

interface Props {
  input: Input;
  /** Null: there is no more to come (Ctrl-D). Resolves to whether the kernel has heard it. */
  answer(text: string | null): Promise<boolean>;
  trusted(event: Event): boolean;
}

export function InputCard({ input, answer, trusted }: Props): VNode {
  const field = useRef<HTMLInputElement>(null);
  const [sent, setSent] = useState(false);
  const [silent, setSilent] = useState(false);
  const id = `lmc-input-${input.id}`;
  const prompt = input.prompt.trim();
  const label = input.key ? WORDS.keyLabel(prompt) : WORDS.inputLabel;
  const send = (event: Event, end = false) => {
    event.preventDefault();
    if (!trusted(event) || sent) return;
    setSent(true);
    setSilent(false);
    void answer(end ? null : (field.current?.value ?? "")).then((heard) => {
      if (heard) return; // the kernel takes the question away
      setSent(false);
      setSilent(true);
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const ends = event.key.toLowerCase() === "d" && event.ctrlKey && !event.altKey && !event.metaKey;
    if (ends && field.current?.value === "") send(event, true);
    if (event.key !== "Escape" || !input.key || event.isComposing) return;
    event.stopPropagation(); // no code asks, so there is none to stop
    send(event, true);
  };
  return (
    <form
      class="lmc-card lmc-asks"
      aria-label={label}
      data-input={input.id}
      data-lm-suppress-shortcuts="true"
      onSubmit={send}
    >
      <div class="lmc-card-head">
        <b>{label}</b>
        <span>{silent ? WORDS.again : sent ? WORDS.inputSent : input.key ? WORDS.keyHint : WORDS.inputHint}</span>
      </div>
      <label for={id}>
        {prompt && !input.key ? (
          <span class="lmc-asks-prompt">{prompt}</span>
        ) : (
          <span class="lmc-offscreen">{input.key ? label : input.password ? WORDS.inputPassword : WORDS.inputLine}</span>
        )}
      </label>
      <div class="lmc-ask">
        <input
          ref={field}
          id={id}
          class="lmc-asks-field"
          {...(input.password ? { type: "password" as const } : { type: "text" as const })}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          readOnly={sent}
          data-focus="true"
          onKeyDown={onKeyDown}
        />
        <button type="submit" class="lmc-button run" disabled={sent}>
          {input.key ? WORDS.keySend : WORDS.inputSend}
        </button>
      </div>
    </form>
  );
}
