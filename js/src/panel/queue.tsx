/**
 * The questions that wait while an answer is given.
 *
 * One rule: the kernel has the queue; what is pressed here is asked of it, and shown when it says so.
 */

import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";

import type { Queued, ToKernel } from "../protocol";
import { WORDS } from "../words";
import { sentenceOf, useHappenings, useShared } from "./context";
import { IconButton, type IconName } from "./icons";

type Change = Extract<ToKernel, { kind: "queue" }>;

export function Queue({ busy }: { busy: boolean }): VNode | null {
  const { conversation, transport, say } = useShared();
  useHappenings(conversation, "queued");
  const { queued } = conversation;
  if (queued.length === 0) return null;
  const change = (content: Change) =>
    transport.request(content).then(
      () => true,
      (error: unknown) => {
        say(sentenceOf(error), "error");
        return false;
      },
    );
  return (
    <section class="lmc-queue" aria-label={WORDS.queue}>
      <p class="lmc-queue-head">{busy ? WORDS.queueHint : WORDS.queueStopped}</p>
      <ol>
        {queued.map((entry, at) => (
          <QueueEntry key={entry.id} entry={entry} at={at} busy={busy} change={change} />
        ))}
      </ol>
    </section>
  );
}

interface EntryProps {
  entry: Queued;
  at: number;
  busy: boolean;
  change(content: Change): Promise<boolean>;
}

function QueueEntry({ entry, at, busy, change }: EntryProps): VNode {
  const [editing, setEditing] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const of = { kind: "queue", entry: entry.id } as const;
  const save = async () => {
    if (await change({ ...of, do: "edit", text: field.current?.value ?? "" })) setEditing(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void save();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      setEditing(false);
    }
  };
  if (editing) {
    return (
      <li class="lmc-edit">
        <textarea
          ref={field}
          class="lmc-queue-field"
          rows={2}
          aria-label={WORDS.queueEdit(entry.text)}
          defaultValue={entry.text}
          onKeyDown={onKeyDown}
          autofocus
        />
        <button type="button" class="lmc-button" onClick={() => void save()}>
          {WORDS.queueSave}
        </button>
      </li>
    );
  }
  const button = (label: string, icon: IconName, content: Change) => (
    <IconButton label={label} icon={icon} onClick={() => void change(content)} />
  );
  return (
    <li>
      <button
        type="button"
        class="lmc-queue-text"
        title={WORDS.queueEdit(entry.text)}
        onClick={() => setEditing(true)}
      >
        {entry.text}
      </button>
      {at > 0 ? button(WORDS.queueEarlier(entry.text), "up", { ...of, do: "move", to: at - 1 }) : null}
      <button
        type="button"
        class="lmc-button"
        title={busy ? WORDS.queueNowHint : WORDS.queueAskHint}
        onClick={() => void change({ ...of, do: "now" })}
      >
        {WORDS.queueNow}
      </button>
      {button(WORDS.remove(entry.text), "close", { ...of, do: "remove" })}
    </li>
  );
}
