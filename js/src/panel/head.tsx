/**
 * The panel's head: which conversation this is, the way to the others, a new one, and files.
 *
 * One rule: one line, however narrow the panel is; the title gives way, the buttons never do.
 */

import type { VNode } from "preact";
import { useRef } from "preact/hooks";

import { WORDS } from "../words";
import { sentenceOf, useHappenings, useShared } from "./context";
import { FORMATS, openFile, saveAs } from "./files";
import { Icon, IconButton } from "./icons";
import { Menu } from "./menu";

interface Props {
  busy: boolean;
  empty: boolean;
  history(): void;
  fresh(): void;
  /** Another conversation stands here; the sentence says what a person should know of it. */
  opened(said: string): void;
}

export function Head({ busy, empty, history, fresh, opened }: Props): VNode {
  const { conversation, transport, say } = useShared();
  useHappenings(conversation, "configured");
  const picker = useRef<HTMLInputElement>(null);
  const head = useRef<HTMLElement>(null);
  const showError = (error: unknown) => say(sentenceOf(error), "error");
  const title = conversation.settings.title || (empty ? WORDS.newChat : WORDS.untitled);
  const save = (format: string) => {
    if (head.current) void saveAs(transport, format, head.current).then(say, showError);
  };
  const take = (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (!file) return;
    say(WORDS.openingFile(file.name));
    void openFile(transport, file)
      .then(opened, showError)
      .finally(() => {
        input.value = ""; // the same file may be picked again
      });
  };
  return (
    <header ref={head} class="lmc-head">
      <button
        type="button"
        class="lmc-head-title"
        aria-haspopup="dialog"
        aria-label={WORDS.historyOf(title)}
        title={WORDS.historyOf(title)}
        onClick={history}
      >
        <Icon name="history" />
        <span>{title}</span>
      </button>
      <IconButton
        label={WORDS.newChat}
        icon="plus"
        title={WORDS.newChatHint}
        disabled={busy || empty}
        onClick={fresh}
      />
      <Menu
        label={WORDS.files}
        icon="save"
        groups={[
          {
            label: WORDS.saveAs,
            items: FORMATS.map(({ format, label, hint }) => ({
              label,
              hint,
              disabled: empty,
              act: () => save(format),
            })),
          },
          { items: [{ label: WORDS.openFile, disabled: busy, act: () => picker.current?.click() }] },
        ]}
      />
      <input
        ref={picker}
        type="file"
        class="lmc-offscreen"
        tabIndex={-1}
        aria-hidden="true"
        aria-label={WORDS.openFile}
        onChange={(event) => take(event.currentTarget)}
      />
    </header>
  );
}
