/**
 * The ledger: what of the notebook goes with the next question, before it is sent.
 *
 * One rule: the kernel computes what is listed here as it computes what is sent; this file keeps
 * what the person has unticked and pinned, and draws the list.
 */

import type { RefObject, VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Choice, Ledger, Part, Unseen } from "../protocol";
import { Refused } from "../transport";
import { count, WORDS } from "../words";
import { SEES } from "./acts";
import { sentenceOf, type Shared } from "./context";
import { documentAt, tagHidden } from "./document";
import { Icon, IconButton, type IconName } from "./icons";

const AFTER_MS = 120;
const POINTER = /@\w+(?:[ \t]+\d+)?/g;
/** The ids of parts of one run of a cell: they stay unticked until the cell has another number. */
const OF_RUN = /^(cell|figure|output) /;

export interface Books {
  ledger: Ledger | null;
  /** A sentence on what the question points at and is not there; "" for none. */
  problem: string;
  /** Whether the list is open; for the next question it begins as a line. */
  open: boolean;
  setOpen(open: boolean): void;
  /** The ids of the parts that are unticked. */
  left: ReadonlySet<string>;
  pinned: ReadonlySet<number>;
  /** What goes out with a question. */
  choice(): Choice;
  /** The text of the question has changed. */
  read(text: string): void;
  /** The question was taken: what was unticked counts no more, but for parts of a cell's run. */
  sent(): void;
  tick(id: string): void;
  /** Tick all of them again. */
  reset(): void;
  pin(number: number): void;
  hide(part: Part): void;
  /** The model is sent images from now on. */
  see(): void;
}

export function useLedger({ conversation, transport, say }: Shared, place: RefObject<HTMLElement | null>): Books {
  const [ledger, setLedger] = useState<Ledger | null>(null);
  const [problem, setProblem] = useState("");
  const [open, setOpen] = useState(false);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [pinned, setPinned] = useState<ReadonlySet<number>>(new Set());
  const now = useRef({ left, pinned, text: "", key: "", turn: 0, epoch: "", timer: 0 as unknown as ReturnType<typeof setTimeout> });

  const choice = (): Choice => ({
    left_out: [...now.current.left],
    pinned: [...now.current.pinned],
    document: documentAt(place.current),
  });
  const refresh = (after = AFTER_MS) => {
    const turn = ++now.current.turn;
    clearTimeout(now.current.timer);
    now.current.timer = setTimeout(() => {
      if (!conversation.ready) return;
      const current = (work: () => void) => turn === now.current.turn && work();
      transport.request({ kind: "context", text: now.current.text, choice: choice() }).then(
        (value) =>
          current(() => {
            setLedger(value);
            setProblem("");
          }),
        (error: unknown) =>
          current(() => {
            setLedger(null);
            setProblem(error instanceof Refused ? error.message : "");
          }),
      );
    }, after);
  };
  const changeLeft = (next: ReadonlySet<string>) => setLeft((now.current.left = next));
  const other = <T,>(set: ReadonlySet<T>, one: T): ReadonlySet<T> => {
    const next = new Set(set);
    if (!next.delete(one)) next.add(one);
    return next;
  };

  useLayoutEffect(() => {
    // before the first snapshot comes
    const soon = () => refresh();
    const undo = conversation.watch(({ kind }) => {
      const { epoch } = conversation;
      if (now.current.epoch && now.current.epoch !== epoch) {
        changeLeft(new Set()); // those were the cells of another kernel
        setPinned((now.current.pinned = new Set()));
      }
      now.current.epoch = epoch;
      if (["ready", "configured", "turns", "cut", "replaced", "cell"].includes(kind)) soon();
    });
    // a person who comes from the notebook may have written or selected something there
    const comes = (event: FocusEvent) => {
      if (!(event.relatedTarget instanceof Node && place.current?.contains(event.relatedTarget))) soon();
    };
    place.current?.addEventListener("lmc:document-changed", soon);
    place.current?.addEventListener("focusin", comes);
    return () => {
      undo();
      place.current?.removeEventListener("lmc:document-changed", soon);
      place.current?.removeEventListener("focusin", comes);
      clearTimeout(now.current.timer);
    };
  }, []);

  return {
    ledger,
    problem,
    open,
    setOpen,
    left,
    pinned,
    choice,
    read: (text) => {
      const key = (text.match(POINTER) ?? []).join();
      now.current.text = text;
      const added = key.split(",").filter((pointer) => !now.current.key.split(",").includes(pointer));
      const named = added.map((pointer) => `cell ${/^@cell[ \t]+(\d+)$/.exec(pointer)?.[1]}`);
      if (named.some((id) => now.current.left.has(id))) {
        changeLeft(new Set([...now.current.left].filter((id) => !named.includes(id))));
      }
      if (key !== now.current.key) refresh();
      now.current.key = key;
    },
    sent: () => {
      changeLeft(new Set([...now.current.left].filter((id) => OF_RUN.test(id))));
      setOpen(false);
      refresh();
    },
    tick: (id) => {
      changeLeft(other(left, id));
      refresh(0);
    },
    reset: () => {
      changeLeft(new Set());
      refresh(0);
    },
    pin: (number) => {
      setPinned((now.current.pinned = other(pinned, number)));
      refresh(0);
    },
    see: () => {
      transport
        .request({ kind: "command", line: SEES })
        .then(() => refresh(0), (error: unknown) => say(sentenceOf(error), "error"));
    },
    hide: ({ number, title }) => {
      if (number === null) return;
      transport.request({ kind: "hide", number }).then(
        (id) => {
          say(WORDS.hidden(title, tagHidden(place.current, id)));
          refresh(0);
        },
        (error: unknown) => say(sentenceOf(error), "error"),
      );
    },
  };
}

/** The line above the composer; nothing where nothing goes. */
export function LedgerLine({ ledger, problem, open, setOpen, left, pinned, tick, reset, pin, hide, see }: Books): VNode | null {
  if (problem) return <p class="lmc-hint lmc-ledger">{problem}</p>;
  if (!ledger || !(ledger.parts.length || ledger.unseen)) return null;
  return (
    <div class="lmc-ledger">
      <button
        type="button"
        class="lmc-ledger-line"
        aria-expanded={open}
        title={WORDS.ledgerHint}
        onClick={() => setOpen(!open)}
      >
        {WORDS.goes} {ledger.line}
        <Icon name="caret" />
      </button>
      {ledger.parts.some(({ id }) => left.has(id)) ? (
        <button type="button" class="lmc-link" title={WORDS.resetHint} onClick={reset}>
          {WORDS.reset}
        </button>
      ) : null}
      {ledger.unseen ? <NotSent unseen={ledger.unseen} send={see} /> : null}
      {open ? (
        <ul class="lmc-ledger-parts" aria-label={WORDS.ledgerHint}>
          {[...ledger.parts, ...ledger.always].map((part) => (
            <Row
              key={part.id || part.title}
              part={part}
              goes={!left.has(part.id)}
              isPinned={part.number !== null && pinned.has(part.number)}
              tick={tick}
              pin={pin}
              hide={hide}
            />
          ))}
        </ul>
      ) : null}
    </div>
  );
}

/** A figure that stays here, and why. */
function NotSent({ unseen: { title, why, can_go }, send }: { unseen: Unseen; send(): void }): VNode {
  return (
    <div class="lmc-not-sent">
      <s>{title}</s> {why}
      {can_go ? (
        <>
          {" · "}
          <button type="button" class="lmc-link" onClick={send}>
            {WORDS.sendFigure}
          </button>
        </>
      ) : null}
    </div>
  );
}

interface RowProps extends Pick<Books, "tick" | "pin" | "hide"> {
  part: Part;
  goes: boolean;
  isPinned: boolean;
}

function Row({ part, goes, isPinned, tick, pin, hide }: RowProps): VNode {
  const [open, setOpen] = useState(false);
  const { id, title, content, number } = part;
  const name = (
    <>
      <b>{title}</b> <span class="lmc-ledger-first">{content.split("\n")[1] ?? ""}</span>
    </>
  );
  const tool = (label: string, icon: IconName, act: () => void, more: { [name: string]: boolean } = {}) => (
    <IconButton label={`${label}: ${title}`} icon={icon} title={label} onClick={act} {...more} />
  );
  return (
    <li data-goes={goes}>
      <div class="lmc-ledger-row">
        {id ? (
          <label>
            <input type="checkbox" checked={goes} onChange={() => tick(id)} />
            {name}
          </label>
        ) : (
          <span class="lmc-ledger-always" title={WORDS.goesAlways}>
            {name}
          </span>
        )}
        <span class="lmc-ledger-tokens" title={WORDS.tokens(count(part.tokens))}>
          {count(part.tokens)}
        </span>
        {number === null ? null : tool(WORDS.pin, "pin", () => pin(number), { "aria-pressed": isPinned })}
        {number === null ? null : tool(WORDS.hide, "hide", () => hide(part))}
        {content ? tool(WORDS.look, "caret", () => setOpen(!open), { "aria-expanded": open }) : null}
      </div>
      {open ? <pre tabIndex={0}>{content}</pre> : null}
    </li>
  );
}
