/**
 * A running program asks the person for a line: `input()`, `getpass()`, a debugger; or we ask: for a
 * key, or whether code may do what it had not said, by buttons.
 *
 * One rule: what is typed goes to who asks and nowhere else; of a password nothing stays here.
 * The prompt is foreign text.
 */

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Input } from "../protocol";
import { WORDS } from "../words";
import { INERT_MS } from "./look";

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
  const [ready, setReady] = useState(false); // a press that was meant for something else counts not
  useEffect(() => {
    const timer = setTimeout(() => setReady(true), INERT_MS);
    return () => clearTimeout(timer);
  }, []);
  const choices = input.choices ?? [];
  const id = `lmc-input-${input.id}`;
  const prompt = input.prompt.trim();
  const label = choices.length ? WORDS.promiseLabel : input.key ? WORDS.keyLabel(prompt) : WORDS.inputLabel;
  const send = (event: Event, end = false) => give(event, end ? null : (field.current?.value ?? ""));
  const give = (event: Event, text: string | null) => {
    event.preventDefault();
    if (!trusted(event) || sent) return;
    setSent(true);
    setSilent(false);
    void answer(text).then((heard) => {
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
  if (choices.length) {
    return (
      <section class="lmc-card lmc-asks" role="group" aria-label={label} data-input={input.id} data-lm-suppress-shortcuts="true">
        <div class="lmc-card-head">
          <b>{label}</b>
          <span>{silent ? WORDS.again : sent ? WORDS.inputSent : WORDS.inputHint}</span>
        </div>
        <div class="lmc-asks-prompt">{prompt}</div>
        <div class="lmc-ask">
          {choices.map(([word, name], at) => (
            <button
              key={word}
              type="button"
              class={`lmc-button${at === choices.length - 1 ? " run" : ""}`}
              disabled={sent || !ready}
              onClick={(event) => give(event, word)}
            >
              {name}
            </button>
          ))}
        </div>
      </section>
    );
  }
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
