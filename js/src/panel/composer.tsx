/**
 * Where a person writes: text, attachments, completions, history.
 *
 * One rule: what was typed is never lost. It goes only when the kernel has taken it, and a key
 * that is in the middle of a composition (an input method) does nothing here.
 */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Name } from "../protocol";
import { size, WORDS } from "../words";
import { readFiles, room, type Attached } from "./attach";
import { sentenceOf, useShared } from "./context";
import { documentAt } from "./document";
import { Icon, IconButton } from "./icons";
import { moveActive, OptionList, type Option } from "./popup";
import { useMicrophone } from "./recorder";
import { Unseen } from "./unseen";

export interface Outgoing {
  text: string;
  attachments: Attached[];
}

/** What other parts of the panel may do with the composer. */
export interface ComposerHandle {
  fill(text: string): void;
  /** Put a reference before what is written, or a block below it. */
  point(text: string): void;
  /** Begin a command before what is written, or the name of a cell or variable behind it. */
  begin(mark: "/" | "@"): void;
  focus(): void;
  attach(files: readonly File[]): Promise<void>;
}

interface Props {
  busy: boolean;
  /** Whether Enter sends; else Shift+Enter does. */
  enterSends: boolean;
  /** Resolves once the kernel has taken it; rejects with a sentence. */
  send(outgoing: Outgoing): Promise<void>;
  handle(handle: ComposerHandle): void;
  /** The text as it is now. */
  read(text: string): void;
  /** Unique in the page. */
  id: string;
  left: ComponentChildren;
  stop: ComponentChildren;
}

const NAMES_AFTER_MS = 80;
const TALLEST_PX = 220;
const VARIABLE = /(^|[\s([{,;:'"`])@([\p{L}_][\p{L}\p{N}_.]*|)$/u;
const COMMAND = /^\/([a-z]*)$/;
/** A whole command, as it is typed here, or in a cell; its name and the rest. */
export const LINE = /^(?:\/|%lmc\s+)([A-Za-z]+)(?:\s+([^]*))?$/;

type Offers =
  | { kind: "command"; start: number; options: Option[] }
  | { kind: "name"; start: number; options: Option[] };

export function Composer({ busy, enterSends, send, handle, read, id, left, stop }: Props): VNode {
  const { conversation, transport, say } = useShared();
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [attached, setAttached] = useState<Attached[]>([]);
  const [offers, setOffers] = useState<Offers | null>(null);
  const [active, setActive] = useState(0);
  const [sending, setSending] = useState<string | null>(null); // the text on its way to the kernel
  const draft = useRef("");
  const back = useRef(0); // how many questions back in the history; 0 is what is being written
  const lookup = useRef<{ timer: ReturnType<typeof setTimeout> | undefined; turn: number }>({ timer: undefined, turn: 0 });
  const caretAt = useRef<number | null>(null);
  const files = useRef<Attached[]>([]);
  files.current = attached;

  useLayoutEffect(() => {
    const box = area.current;
    if (!box) return;
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, TALLEST_PX)}px`;
    if (caretAt.current !== null) {
      box.setSelectionRange(caretAt.current, caretAt.current);
      caretAt.current = null;
    }
  }, [text]);

  const put = (next: string, caret = next.length) => {
    caretAt.current = caret;
    setText(next);
  };

  const attach = async (given: readonly File[]) => {
    const { read, refused } = await readFiles(given, files.current);
    if (read.length) setAttached((before) => [...before, ...read]);
    say(refused.join("\n"), "error");
    area.current?.focus();
  };

  const microphone = useMicrophone({
    attach,
    back: () => area.current?.focus(),
    room: () => room(files.current),
  });

  useEffect(() => {
    handle({
      fill: (next) => {
        put(next);
        area.current?.focus();
      },
      point: (reference) => {
        const draft = area.current?.value ?? "";
        const isBlock = reference.startsWith("\n");
        put(isBlock ? draft + reference : reference + draft, (isBlock ? draft : reference).length);
        area.current?.focus();
      },
      begin: (mark) => {
        const draft = area.current?.value ?? "";
        const before = mark === "/" ? mark : draft.replace(/\S$/, "$& ") + mark;
        put(mark === "/" ? mark + draft : before, before.length);
        offer(before, before.length);
        area.current?.focus();
      },
      focus: () => area.current?.focus(),
      attach,
    });
  }, []);
  useEffect(() => () => clearTimeout(lookup.current.timer), []);
  useEffect(() => read(text), [text]);

  // Completion -----------------------------------------------------------------------------------

  const close = () => {
    clearTimeout(lookup.current.timer);
    lookup.current.turn += 1;
    setOffers(null);
  };

  const offer = (value: string, caret: number) => {
    const before = value.slice(0, caret);
    const command = COMMAND.exec(before);
    if (command) {
      const candidates = conversation.tables.commands.filter(({ name }) => name.startsWith(command[1] ?? ""));
      const options = candidates.map(({ name, takes, does }) => ({
        key: name,
        label: `/${name}`,
        more: takes,
        detail: does,
      }));
      lookup.current.turn += 1;
      setOffers(options.length ? { kind: "command", start: 0, options } : null);
      setActive(0);
      return;
    }
    const variable = VARIABLE.exec(before);
    if (!variable) {
      close();
      return;
    }
    const prefix = variable[2] ?? "";
    const start = caret - prefix.length - 1;
    const turn = ++lookup.current.turn;
    clearTimeout(lookup.current.timer);
    lookup.current.timer = setTimeout(() => {
      const document = documentAt(area.current) !== null;
      transport.request({ kind: "names", prefix, document }).then(
        (names) => {
          if (turn !== lookup.current.turn) return; // something else was typed meanwhile
          const options = names.map(optionOf);
          setOffers(options.length ? { kind: "name", start, options } : null);
          setActive(0);
        },
        () => turn === lookup.current.turn && setOffers(null), // no completion is no trouble
      );
    }, NAMES_AFTER_MS);
  };

  const choose = (index: number) => {
    const option = offers?.options[index];
    const box = area.current;
    if (!offers || !option || !box) return;
    const caret = box.selectionStart;
    if (offers.kind === "command") {
      put(`/${option.key} ${text.slice(caret).trimStart()}`, option.key.length + 2);
    } else {
      const reference = `@${option.key} `; // its value goes with the question
      put(text.slice(0, offers.start) + reference + text.slice(caret).trimStart(), offers.start + reference.length);
    }
    close();
    box.focus();
  };

  // Sending and history --------------------------------------------------------------------------

  const submit = async () => {
    if (sending !== null || (!text.trim() && attached.length === 0)) return;
    const command = LINE.exec(text.trim());
    if (busy && (attached.length > 0 || (command && command[1] !== "stop"))) {
      say(command ? WORDS.busyCommand : WORDS.busyAttached);
      return;
    }
    close();
    area.current?.focus(); // the button goes while the answer is given
    const [sentText, sentFiles] = [text, attached];
    setSending(sentText);
    try {
      await send({ text: sentText, attachments: sentFiles });
      setText((now) => (now === sentText ? "" : now)); // what was typed meanwhile stays
      setAttached((now) => now.filter((one) => !sentFiles.includes(one)));
      back.current = 0;
    } catch (error) {
      say(sentenceOf(error), "error");
    } finally {
      setSending(null);
    }
  };

  /** Walk through what was asked; `step` 1 is further back. */
  const walk = (step: number): boolean => {
    const questionList = conversation.questions().filter((one, at, all) => one !== all[at - 1]);
    const next = back.current + step;
    if (next < 0 || next > questionList.length) return false;
    if (back.current === 0) draft.current = text;
    back.current = next;
    put(next === 0 ? draft.current : (questionList[questionList.length - next] ?? ""));
    return true;
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing || event.keyCode === 229) return;
    const box = area.current;
    if (!box) return;
    if (offers) {
      const next = moveActive(event.key, active, offers.options.length);
      if (next !== null) {
        event.preventDefault();
        setActive(next);
        return;
      }
      const written = enterSends && offers.kind === "command" && text === `/${offers.options[active]?.key}`;
      if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && !written)) {
        event.preventDefault();
        choose(active);
        return;
      }
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        close();
        return;
      }
    }
    if (event.key === "Enter" && !event.altKey) {
      const sends = event.ctrlKey || event.metaKey || event.shiftKey !== enterSends;
      if (sends) {
        event.preventDefault();
        void submit();
      }
      return;
    }
    if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    if (box.selectionStart !== box.selectionEnd) return;
    const first = event.key === "ArrowUp" && !text.slice(0, box.selectionStart).includes("\n");
    const last = event.key === "ArrowDown" && !text.slice(box.selectionEnd).includes("\n");
    // in the first line of one's own text the arrow first goes to its beginning, as anywhere
    if (first && (back.current > 0 || box.selectionStart === 0) && walk(1)) event.preventDefault();
    else if (last && back.current > 0 && walk(-1)) event.preventDefault();
  };

  const onInput = (event: { currentTarget: HTMLTextAreaElement }) => {
    const box = event.currentTarget;
    back.current = 0;
    setText(box.value);
    offer(box.value, box.selectionStart);
  };

  const onPaste = (event: ClipboardEvent) => {
    const clipboardFiles = [...(event.clipboardData?.files ?? [])];
    if (clipboardFiles.length === 0) return;
    event.preventDefault();
    void attach(clipboardFiles);
  };

  const listId = `${id}-offers`;
  const hasImage = attached.some((one) => one.mime.startsWith("image/"));
  const empty = !text.trim() && attached.length === 0;
  return (
    <form
      class="lmc-composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {offers ? (
        <div class="lmc-popup lmc-popup-wide">
          <OptionList
            id={listId}
            label={WORDS.suggestions}
            options={offers.options}
            active={active}
            choose={choose}
            hover={setActive}
          />
        </div>
      ) : null}
      {attached.length ? (
        <ul class="lmc-chips" aria-label={WORDS.attachments}>
          {attached.map((one) => (
            <li class="lmc-chip" key={one.key}>
              {one.preview ? <img src={one.preview} alt="" /> : one.sound ? null : <Icon name="file" />}
              {one.sound ? (
                <audio controls preload="metadata" src={one.sound} aria-label={one.name} />
              ) : (
                <span class="lmc-chip-name">{one.name}</span>
              )}
              <span class="lmc-chip-size">{size(one.bytes)}</span>
              <IconButton
                label={WORDS.remove(one.name)}
                icon="close"
                onClick={() => {
                  setAttached((now) => now.filter((other) => other !== one));
                  area.current?.focus();
                }}
              />
            </li>
          ))}
        </ul>
      ) : null}
      {hasImage ? <Unseen /> : null}
      {microphone.row}
      <textarea
        ref={area}
        class="lmc-input"
        rows={1}
        aria-label={WORDS.composer}
        placeholder={busy ? WORDS.placeholderBusy : WORDS.placeholder}
        value={text}
        data-sending={sending ?? undefined}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={offers ? listId : undefined}
        aria-activedescendant={offers ? `${listId}-${active}` : undefined}
        onInput={onInput}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        onFocus={() => void transport.tell({ kind: "focus" })}
        onBlur={close}
      />
      <div class="lmc-composer-row">
        <IconButton label={WORDS.attach} icon="attach" onClick={() => picker.current?.click()} />
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-hidden="true"
          tabIndex={-1}
          onChange={(event) => {
            const input = event.currentTarget;
            void attach([...(input.files ?? [])]).then(() => {
              input.value = ""; // the same file may be picked again
            });
          }}
        />
        {microphone.button}
        {left}
        <span class="lmc-spring" />
        {busy ? (
          stop
        ) : (
          <button
            type="submit"
            class="lmc-send"
            aria-label={WORDS.send}
            title={WORDS.sendHint(enterSends ? "Enter" : "Shift+Enter")}
            disabled={empty || sending !== null}
          >
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}

function optionOf({ name, type, shape }: Name): Option {
  return { key: name, label: name, detail: `${type} ${shape}` };
}
