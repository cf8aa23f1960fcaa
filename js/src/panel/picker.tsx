/**
 * Which model answers: the ones that are usable now, and any other by its name.
 *
 * One rule: it never guesses what is usable; the kernel says so. What goes wrong is said here.
 */

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Offer } from "../protocol";
import { WORDS } from "../words";
import { sentenceOf, useHappenings, useShared } from "./context";
import { Icon } from "./icons";
import { moveActive, OptionList, useOutside } from "./popup";

interface Props {
  id: string;
  open: boolean;
  setOpen(open: boolean): void;
}

export function ModelPicker({ id, open, setOpen }: Props): VNode {
  const { conversation } = useShared();
  useHappenings(conversation, "configured");
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const { label, model } = conversation.settings;
  const name = label || model;
  const close = (refocus: boolean) => {
    setOpen(false);
    if (refocus) button.current?.focus();
  };
  useOutside(box, () => setOpen(false));
  return (
    <div class="lmc-picker" ref={box}>
      <button
        ref={button}
        type="button"
        class="lmc-model"
        aria-haspopup="dialog"
        aria-expanded={open}
        aria-label={name ? WORDS.pickModel(name) : WORDS.noModel}
        title={name ? WORDS.pickModel(name) : WORDS.noModel}
        onClick={() => setOpen(!open)}
      >
        <span>{(name || WORDS.noModel).split(",")[0]}</span>
        <Icon name="caret" />
      </button>
      {open ? (
        <div
          class="lmc-popup"
          role="dialog"
          aria-label={WORDS.models}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.preventDefault();
            event.stopPropagation();
            close(true);
          }}
        >
          <ModelChoice id={`${id}-models`} done={() => close(true)} focus />
        </div>
      ) : null}
    </div>
  );
}

interface ChoiceProps {
  id: string;
  done(): void;
  /** Whether the list takes the focus. */
  focus?: boolean;
}

/** The list and the form: in the picker's popup and on the first-run screen. */
function ModelChoice({ id, done, focus }: ChoiceProps): VNode {
  const { transport, say } = useShared();
  const [offers, setOffers] = useState<Offer[] | null>(null);
  const [active, setActive] = useState(0);
  const [using, setUsing] = useState("");
  const [error, setError] = useState("");
  const [other, setOther] = useState(false);
  const [keep, setKeep] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const name = useRef<HTMLInputElement>(null);
  const base = useRef<HTMLInputElement>(null);

  useEffect(() => {
    let isGone = false;
    transport.request({ kind: "models" }).then(
      (found) => {
        if (isGone) return;
        setOffers(found);
        setActive(Math.max(0, found.findIndex((offer) => offer.current)));
      },
      (failed: unknown) => {
        if (isGone) return;
        setOffers([]);
        setError(sentenceOf(failed));
      },
    );
    return () => {
      isGone = true;
    };
  }, []);
  useEffect(() => {
    if (focus) list.current?.focus();
  }, []);
  useEffect(() => {
    if (other) name.current?.focus();
  }, [other]);

  const use = async (model: string, apiBase: string | null) => {
    if (using) return;
    setUsing(model);
    setError("");
    try {
      const sentence = await transport.request({
        kind: "choose",
        model,
        ...(apiBase ? { api_base: apiBase } : {}),
        ...(keep ? { keep } : {}),
      });
      say(sentence);
      done();
    } catch (failed) {
      setError(sentenceOf(failed)); // here, beside what was typed
    } finally {
      setUsing("");
    }
  };
  const pick = (index: number) => {
    const offer = offers?.[index];
    if (offer) void use(offer.name, offer.api_base);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = moveActive(event.key, active, offers?.length ?? 0);
    if (next !== null) {
      event.preventDefault();
      setActive(next);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      pick(active);
    }
  };
  const options = (offers ?? []).map((offer) => ({
    key: `${offer.name} ${offer.api_base ?? ""}`,
    label: offer.label,
    detail: offer.why,
    selected: offer.current,
  }));
  const problem = error ? (
    <p class="lmc-problem" role="alert">
      {error}
    </p>
  ) : null;
  return (
    <div class="lmc-choice" aria-busy={offers === null || using !== ""}>
      <div
        ref={list}
        class="lmc-choice-list"
        tabIndex={options.length ? 0 : -1}
        role={options.length ? "listbox" : undefined}
        aria-label={options.length ? WORDS.models : undefined}
        aria-activedescendant={options.length ? `${id}-${active}` : undefined}
        onKeyDown={onKeyDown}
      >
        {offers === null ? <p class="lmc-hint">{WORDS.looking}</p> : null}
        {offers?.length === 0 && !error ? <p class="lmc-hint">{WORDS.noModels}</p> : null}
        {options.length ? (
          <OptionList
            id={id}
            label={WORDS.models}
            options={options}
            active={active}
            choose={pick}
            hover={setActive}
            bare
          />
        ) : null}
      </div>
      {other ? (
        <form
          class="lmc-other"
          onSubmit={(event) => {
            event.preventDefault();
            const typedName = name.current?.value.trim() ?? "";
            if (typedName) void use(typedName, base.current?.value.trim() || null);
          }}
        >
          <label>
            <span>{WORDS.anotherName}</span>
            <input ref={name} required placeholder={WORDS.anotherNameHint} autocomplete="off" spellcheck={false} />
          </label>
          <label>
            <span>{WORDS.anotherBase}</span>
            <input ref={base} placeholder={WORDS.anotherBaseHint} autocomplete="off" spellcheck={false} />
          </label>
          {problem ?? <p class="lmc-hint">{WORDS.anotherKey}</p>}
          <button type="submit" class="lmc-button run" disabled={using !== ""}>
            {WORDS.use}
          </button>
        </form>
      ) : (
        <button type="button" class="lmc-button lmc-quiet" onClick={() => setOther(true)}>
          {WORDS.another}
        </button>
      )}
      <label class="lmc-for-all">
        <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
        <span>{WORDS.forAll}</span>
      </label>
      {other ? null : problem}
      {using ? (
        <p class="lmc-hint" role="status">
          {WORDS.using}
        </p>
      ) : null}
    </div>
  );
}
