/**
 * The question about code: Run, Edit, Don't run, Run everything in this answer; in the panel, ask
 * only for changes.
 *
 * One rule: only a person's own press decides, on buttons that stood still long enough to be
 * read, and nothing goes back but the proposal's id, its digest, the decision, and the person's
 * edit. The code that is shown was made by the kernel from the bytes that would run.
 *
 * There is no closed shadow root around it: a script in this page could open its own connection
 * to the kernel anyway, a synthetic event is refused by `isTrusted`, and
 * screen readers and tests find the buttons by their names. (docs/security.md)
 */

import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Piece, Question, ToKernel } from "../protocol";
import { drawLines } from "../render/code";
import { hidden, withoutHidden } from "../render/hidden";
import { highlight } from "../render/highlight";
import { WORDS } from "../words";
import { Icon } from "./icons";
import { INERT_MS, isShort } from "./look";

export type Decision = Omit<Extract<ToKernel, { kind: "decision" }>, "kind" | "proposal" | "digest">;

const LOOK_MS = 100;
const SHIFT_PX = 3;
const REASON = 500; // characters

interface Props {
  question: Question;
  /** Whether nobody can answer any more: the code is shown, without buttons. */
  ended?: boolean;
  /** The name of the agent whose code it is; "" where it is the model's. */
  agent?: string;
  /** Where the code can replace a cell: what the button says, and what shows the change first. */
  replace?: { label: string; act(code: string): void } | undefined;
  /** Resolves to whether the kernel has heard it. */
  decide(decision: Decision): Promise<boolean>;
  /** Have the person asked only for changes from now on; where that is no news there is none. */
  onlyChanges?: (() => void) | undefined;
  /** What an edit of the code would do, in the kernel's words. */
  effects(code: string): Promise<Piece[]>;
  trusted(event: Event): boolean;
}

export function QuestionCard({ question, ended, agent = "", replace, onlyChanges, decide, effects, trusted }: Props): VNode {
  const card = useRef<HTMLElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const [edit, setEdit] = useState<string | null>(null); // the text in the editor
  const editing = edit !== null;
  const [sent, setSent] = useState(false);
  const [silent, setSilent] = useState(false);
  const [ticked, setTicked] = useState(false);
  const [reason, setReason] = useState("");
  const [still, isStill] = useStill(card);
  const wholeSeen = useSeen(end, body, editing);
  const isLong = useRef(false); // code that is all in sight takes no Tab on the way to Run
  if (wholeSeen === "no") isLong.current = true;
  const read = wholeSeen === "yes" || ticked || isShort(question.code);
  const ready = still && !sent && !ended;
  const lines = useMemo(() => withoutEmptyEnd(question.lines), [question.lines]);
  const unseen = useMemo(() => hidden(question.code), [question.code]);

  useLayoutEffect(() => {
    if (!editing && body.current) body.current.replaceChildren(drawLines(lines), anchor(end));
  }, [question.proposal, editing]);
  useEffect(() => {
    if (!editing) return;
    area.current?.focus();
    return () => card.current?.focus({ preventScroll: true }); // the editor goes, with the focus
  }, [editing]);

  const pieces = useEffects(edit, question, effects);
  const effectsId = `lmc-effects-${question.proposal}`;

  const press = (event: Event, decision: () => Decision) => {
    // a key in the editor is meant for what the person has just typed, wherever the card stands
    const isHere = event.target === area.current || (still && isStill());
    if (!trusted(event) || sent || ended || !isHere) return;
    setSent(true);
    setSilent(false);
    void decide(decision()).then((heard) => {
      if (heard) return;
      setSent(false);
      setSilent(true);
    });
  };
  const decline = (event: Event) => press(event, () => ({ decision: "decline", reason: reason.trim() }));
  const code = (): { code?: string } => (editing && area.current ? { code: area.current.value } : {});
  const run = (event: Event) => {
    if (read) press(event, () => ({ decision: "run", ...code() }));
  };
  const count = editing ? edit.replace(/\n$/, "").split("\n").length : lines.length;
  return (
    <section
      ref={card}
      class="lmc-card"
      role="group"
      aria-label={WORDS.askLabel(question.language)}
      aria-describedby={typeof pieces === "string" || pieces.length > 0 ? effectsId : undefined}
      data-proposal={question.proposal}
      data-ready={ready ? "1" : undefined}
      data-lm-suppress-shortcuts="true"
      tabIndex={-1}
    >
      {agent ? (
        <div class="lmc-agent">
          <Icon name="agent" />
          {WORDS.agent(agent)}
        </div>
      ) : null}
      <div class="lmc-card-head">
        <b>{ended ? question.language : WORDS.askLabel(question.language)}</b>
        <span>{ended ? WORDS.notRun : silent ? WORDS.again : sent ? WORDS.decided : WORDS.lines(count)}</span>
      </div>
      {question.warning ? (
        <div class="lmc-card-warning">
          <Icon name="warning" />
          <span>{question.warning}</span>
        </div>
      ) : null}
      <div
        ref={body}
        class="lmc-card-code"
        hidden={editing}
        tabIndex={isLong.current ? 0 : undefined}
        role="region"
        aria-label={WORDS.lines(lines.length)}
      />
      {editing && unseen ? (
        <div class="lmc-card-warning">
          <Icon name="warning" />
          <span>{WORDS.takenOut(unseen)}</span>
        </div>
      ) : null}
      {editing ? <Editor area={area} question={question} changed={setEdit} run={run} /> : null}
      <Effects id={effectsId} pieces={pieces} />
      {wholeSeen === "no" && !read && !ended ? (
        <label class="lmc-card-unread">
          <input
            type="checkbox"
            checked={ticked}
            onChange={(event) => trusted(event) && setTicked(event.currentTarget.checked)}
          />
          {WORDS.unread}
          <span>{WORDS.unreadHint}</span>
        </label>
      ) : null}
      <div class="lmc-ask" hidden={ended}>
        <button
          type="button"
          class="lmc-button run"
          disabled={!ready || !read}
          onClick={run}
        >
          {editing ? WORDS.runEdited : WORDS.run}
        </button>
        {replace ? (
          <button
            type="button"
            class="lmc-button"
            disabled={!ready}
            onClick={(event) => trusted(event) && replace.act(code().code ?? withoutHidden(question.code))}
          >
            {replace.label}
          </button>
        ) : null}
        <button
          type="button"
          class="lmc-button"
          disabled={!ready}
          onClick={(event) => trusted(event) && setEdit(editing ? null : withoutHidden(question.code))}
        >
          {editing ? WORDS.undoEdit : WORDS.change}
        </button>
        <button
          type="button"
          class="lmc-button"
          disabled={!ready}
          onClick={decline}
        >
          {WORDS.decline}
        </button>
        <button
          type="button"
          class="lmc-button lmc-quiet"
          title={agent ? undefined : WORDS.runAllHint}
          disabled={!ready || !read}
          onClick={(event) => press(event, () => ({ decision: "all", ...code() }))}
        >
          {agent ? WORDS.runAllAgent(agent) : WORDS.runAll}
        </button>
        {onlyChanges ? (
          <button
            type="button"
            class="lmc-button lmc-quiet"
            title={WORDS.onlyChangesHint}
            disabled={!ready}
            onClick={(event) => trusted(event) && isStill() && onlyChanges()}
          >
            {WORDS.onlyChanges}
          </button>
        ) : null}
        <input
          class="lmc-reason"
          type="text"
          aria-label={WORDS.reason}
          placeholder={WORDS.reasonHint}
          maxLength={REASON}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.isComposing || !reason.trim()) return;
            event.preventDefault();
            decline(event);
          }}
        />
      </div>
    </section>
  );
}

const SETTLE_MS = 250; // of typing

/**
 * What the code that would run now will do; a sentence while that is not known. What is said is of
 * this very text, never of the one before.
 */
function useEffects(edit: string | null, question: Question, ask: Props["effects"]): Piece[] | string {
  const [known, setKnown] = useState<{ code: string; pieces: Piece[] | string } | null>(null);
  const isEdited = edit !== null && edit !== question.code;
  useEffect(() => {
    if (!isEdited || known?.code === edit) return;
    let isOld = false;
    const take = (pieces: Piece[] | string) => {
      if (!isOld) setKnown({ code: edit, pieces });
    };
    const timer = setTimeout(() => void ask(edit).then(take, () => take(WORDS.effectsUnknown)), SETTLE_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [edit]);
  if (!isEdited) return question.effects ?? [];
  return known?.code === edit ? known.pieces : WORDS.effectsLater;
}

/** That, as a line. One that is too long is scrolled, by keys too. */
function Effects({ id, pieces }: { id: string; pieces: Piece[] | string }): VNode | null {
  const line = useRef<HTMLParagraphElement>(null);
  const [isLong, setIsLong] = useState(false);
  const height = useRef(0); // it stays while the line is looked up: the buttons stand still
  useLayoutEffect(() => {
    const box = line.current;
    setIsLong(box !== null && box.scrollHeight > box.clientHeight);
    height.current = box?.offsetHeight ?? 0;
  }, [pieces]);
  if (pieces.length === 0) return null;
  const minHeight = pieces === WORDS.effectsLater ? height.current : 0;
  return (
    <p ref={line} class="lmc-card-effects" id={id} tabIndex={isLong ? 0 : undefined} style={{ minHeight }}>
      {typeof pieces === "string" ? pieces : pieces.map(({ warns, parts }, index) => {
        const words = parts.map(([css, text]) => (css ? <code>{text}</code> : text));
        return (
          <>
            {index > 0 ? " · " : null}
            {warns ? <strong>{words}</strong> : <span>{words}</span>}
          </>
        );
      })}
    </p>
  );
}

/** What follows the last line break is no line of its own where it is empty. */
function withoutEmptyEnd(lines: Question["lines"]): Question["lines"] {
  return lines.length > 1 && lines[lines.length - 1]?.length === 0 ? lines.slice(0, -1) : lines;
}

const INDENT = "    ";

interface EditorProps {
  area: { current: HTMLTextAreaElement | null };
  question: Question;
  changed(code: string): void;
  run(event: Event): void;
}

/**
 * The code to edit: a text field without colours over a coloured copy of its text.
 *
 * A line that was not changed has the colours that the kernel gave it; a changed one has those of
 * the page, once it has them. Tab indents; after Escape it goes on to the next button. Ctrl+Enter and
 * Shift+Enter run, as in a cell.
 */
function Editor({ area, question, changed, run }: EditorProps): VNode {
  const copy = useRef<HTMLDivElement>(null);
  const leaves = useRef(false);
  const byText = useMemo(
    () => new Map(question.lines.map((line) => [line.map(([, text]) => text).join(""), line])),
    [question.proposal],
  );
  const [language = ""] = question.language.split(" ");
  const draw = () => {
    const lines = highlight(area.current?.value ?? "", language);
    const colouredLines = lines.map((line) => byText.get(line.map(([, text]) => text).join("")) ?? line);
    copy.current?.replaceChildren(drawLines(colouredLines, false));
  };
  const onInput = () => {
    draw();
    changed(area.current?.value ?? "");
  };
  useLayoutEffect(draw, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const box = area.current;
    if (event.isComposing || !box) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      run(event);
    }
    if (event.key === "Escape") leaves.current = true;
    else if (event.key !== "Tab" && event.key !== "Shift") leaves.current = false;
    if (event.key !== "Tab" || leaves.current || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    indent(box, event.shiftKey);
    onInput();
  };
  return (
    <div class="lmc-card-edit">
      <div class="lmc-card-copy" ref={copy} aria-hidden="true" />
      <textarea
        ref={area}
        class="lmc-card-editor"
        aria-label={WORDS.code}
        aria-description={WORDS.codeKeys}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        defaultValue={withoutHidden(question.code)}
        onInput={onInput}
        onKeyDown={onKeyDown}
      />
    </div>
  );
}

/** Indent at the caret, or the lines that are selected; `less` takes an indent away. */
function indent(box: HTMLTextAreaElement, less: boolean): void {
  const { selectionStart: start, selectionEnd: end, value } = box;
  if (!less && start === end) {
    box.setRangeText(INDENT, start, end, "end");
    return;
  }
  const first = value.lastIndexOf("\n", start - 1) + 1;
  const block = value.slice(first, end);
  const newBlock = less ? block.replace(/^(?: {1,4}|\t)/gm, "") : block.replace(/^(?=.)/gm, INDENT);
  box.setRangeText(newBlock, first, end, start === end ? "end" : "select");
}

function anchor(end: { current: HTMLDivElement | null }): HTMLElement {
  const mark = document.createElement("div");
  mark.className = "lmc-card-end";
  end.current = mark;
  return mark;
}

/**
 * Whether the element has stood where it stands for 600 ms, in sight: as it was drawn, and as it is
 * now. What a scroll moves has not been moved.
 */
function useStill(element: { current: HTMLElement | null }): [boolean, () => boolean] {
  const [still, setStill] = useState(false);
  const look = useRef<() => boolean>(() => false);
  useEffect(() => {
    const where = () => element.current?.getBoundingClientRect() ?? new DOMRect();
    let place = where();
    let since = Date.now();
    let hasScrolled = false;
    const onScroll = () => {
      hasScrolled = true;
    };
    addEventListener("scroll", onScroll, { capture: true, passive: true });
    look.current = () => {
      const now = where();
      const hasMoved =
        Math.abs(now.top - place.top) > SHIFT_PX ||
        Math.abs(now.left - place.left) > SHIFT_PX ||
        Math.abs(now.bottom - place.bottom) > SHIFT_PX;
      if ((hasMoved && !hasScrolled) || document.hidden) since = Date.now();
      hasScrolled = false;
      place = now;
      const isStill = Date.now() - since >= INERT_MS;
      setStill(isStill);
      return isStill;
    };
    const timer = setInterval(() => look.current(), LOOK_MS);
    return () => {
      clearInterval(timer);
      removeEventListener("scroll", onScroll, { capture: true });
    };
  }, []);
  return [still, () => look.current()];
}

/** Whether the end of the code was ever in its box's view: "" until that is known. */
function useSeen(
  end: { current: HTMLElement | null },
  body: { current: HTMLElement | null },
  editing: boolean,
): "" | "yes" | "no" {
  const [seen, setSeen] = useState<"" | "yes" | "no">("");
  useEffect(() => {
    const mark = end.current;
    const box = body.current;
    if (seen === "yes" || !mark || !box) return;
    const say = (isSeen: boolean) => setSeen((before) => (isSeen || before === "yes" ? "yes" : "no"));
    if (typeof IntersectionObserver === "function") {
      const observer = new IntersectionObserver(
        (entries) => say(entries.some((entry) => entry.isIntersecting)),
        { root: box }, // the buttons are right below: who presses one has scrolled to there
      );
      observer.observe(mark);
      return () => observer.disconnect();
    }
    const onScroll = () => say(box.scrollTop + box.clientHeight >= box.scrollHeight - 8);
    onScroll();
    box.addEventListener("scroll", onScroll);
    return () => box.removeEventListener("scroll", onScroll);
  }, [editing]);
  return seen;
}
