/**
 * The conversations that are kept: look for one, go on with it, copy, rename or delete it.
 *
 * One rule: the kernel says what there is, and is asked again after each change; what goes wrong
 * is said here, beside what was pressed. Titles and what was found are text, never HTML.
 */

import { Fragment, type VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { ConversationEntry } from "../protocol";
import { when, WORDS } from "../words";
import { sentenceOf, useShared } from "./context";
import { IconButton, type IconName } from "./icons";
import { Layer } from "./popup";

const PAGE = 50;
const SEARCH_MS = 200;
const TITLE = 200; // characters

interface Props {
  close(): void;
  /** Another conversation stands here; the sentence says what a person should know of it. */
  opened(said: string): void;
}

type Doing = { what: "rename" | "delete" | "all"; id: string } | null;

export function History({ close, opened }: Props): VNode {
  const { transport, trusted, announce } = useShared();
  const [search, setSearch] = useState("");
  const [most, setMost] = useState(PAGE);
  const [looks, setLooks] = useState(0); // how often it was asked again
  const [kept, setKept] = useState<ConversationEntry[] | null>(null);
  const [found, setFound] = useState(""); // what `kept` was searched for
  const [active, setActive] = useState("");
  const [doing, setDoing] = useState<Doing>(null);
  const [working, setWorking] = useState(false);
  const [error, setError] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const focusNext = useRef("");
  const after = useRef<() => void>(null);
  const rows = (kept ?? []).slice(0, most);
  const others = rows.filter(({ current, held }) => !current && !held);
  const at = Math.max(0, rows.findIndex((one) => one.id === active));

  useEffect(() => {
    let isGone = false;
    const look = () =>
      transport.request({ kind: "history", search: search.trim(), here: false, most: most + 1 }).then(
        (list) => {
          if (isGone) return; // something else is looked for now
          setKept(list);
          setFound(search.trim());
          setError("");
          if (search.trim()) announce(WORDS.foundMany(list.length > most ? `${most}+` : String(list.length)));
        },
        (failed: unknown) => {
          if (isGone) return;
          setKept((before) => before ?? []);
          setError(sentenceOf(failed));
        },
      );
    const timer = setTimeout(look, search.trim() === found ? 0 : SEARCH_MS);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [search, most, looks]);

  useLayoutEffect(() => {
    const id = focusNext.current;
    if (!id) return;
    const button = [...(box.current?.querySelectorAll<HTMLElement>(".lmc-kept") ?? [])]
      .find((one) => one.dataset["id"] === id)
      ?.querySelector<HTMLElement>(".lmc-kept-open");
    if (!button) return;
    focusNext.current = "";
    button.focus();
  });

  const focusOn = (id: string | undefined) => {
    setActive(id ?? "");
    if (id) focusNext.current = id;
    else field.current?.focus();
  };
  const act = async (work: () => Promise<unknown>) => {
    if (working) return;
    setWorking(true);
    setError("");
    try {
      await work();
    } catch (failed) {
      setError(sentenceOf(failed));
    } finally {
      setWorking(false);
    }
  };
  const goTo = (kind: "open" | "fork", one: ConversationEntry) =>
    act(async () => {
      const remark = kind === "open" && one.current ? "" : await transport.request({ kind, conversation: one.id });
      after.current = () => opened(remark);
      close();
    });
  const rename = (one: ConversationEntry, title: string) =>
    act(async () => {
      if (title && title !== one.title) await transport.request({ kind: "rename", conversation: one.id, title });
      setKept((list) => list?.map((each) => (each.id === one.id && title ? { ...each, title } : each)) ?? null);
      setDoing(null);
      focusOn(one.id);
    });
  const remove = (one: ConversationEntry) =>
    act(async () => {
      const remark = await transport.request({ kind: "delete", conversation: one.id });
      const index = rows.indexOf(one);
      setKept((list) => list?.filter((each) => each.id !== one.id) ?? null);
      setDoing(null);
      setLooks((n) => n + 1);
      focusOn((rows[index + 1] ?? rows[index - 1])?.id);
      announce(remark || WORDS.deleted(one.title));
    });
  const removeAll = () =>
    act(async () => {
      setDoing(null);
      try {
        for (const { id } of others) await transport.request({ kind: "delete", conversation: id });
        announce(WORDS.deletedAll(others.length));
      } finally {
        setLooks((n) => n + 1);
        focusOn("");
      }
    });
  const leave = (id: string) => {
    setDoing(null);
    focusOn(id);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const { key, target } = event;
    if (!(target instanceof Element) || target.closest(".lmc-kept-ask")) return;
    const inField = target === field.current;
    if (inField && key === "Escape" && search) {
      event.preventDefault();
      event.stopPropagation();
      setSearch("");
      return;
    }
    const one = rows[at];
    if (event.ctrlKey || event.metaKey || event.altKey || !one) return;
    if (inField ? key === "ArrowDown" || (key === "Enter" && !event.isComposing) : false) {
      event.preventDefault();
      focusOn(rows[0]?.id);
    } else if (!target.closest(".lmc-kept")) {
      return;
    } else if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      const next = at + (key === "ArrowDown" ? 1 : -1);
      if (next < 0) field.current?.focus();
      else if (next < rows.length) focusOn(rows[next]?.id);
    } else if (key === "Home" || key === "End") {
      event.preventDefault();
      focusOn(rows[key === "Home" ? 0 : rows.length - 1]?.id);
    } else if (key === "F2" || key === "Delete") {
      event.preventDefault();
      setDoing({ what: key === "F2" ? "rename" : "delete", id: one.id });
    }
  };

  return (
    <Layer kind="dialog" label={WORDS.history} close={close} after={after}>
      <div class="lmc-history" ref={box} onKeyDown={onKeyDown}>
        <h2>{WORDS.history}</h2>
        <input
          ref={field}
          data-focus
          type="search"
          class="lmc-search"
          aria-label={WORDS.search}
          placeholder={WORDS.search}
          autocomplete="off"
          spellcheck={false}
          value={search}
          onInput={(event) => {
            setSearch(event.currentTarget.value);
            setMost(PAGE);
          }}
        />
        {error ? (
          <p class="lmc-problem" role="alert">
            {error}
          </p>
        ) : null}
        {kept === null ? <p class="lmc-hint">{WORDS.loading}</p> : null}
        {kept?.length === 0 && !error ? (
          <p class="lmc-hint">{found ? WORDS.foundNone(found) : WORDS.historyNone}</p>
        ) : null}
        <div class="lmc-kepts-scroll">
          <ul class="lmc-kepts" aria-busy={working || kept === null}>
            {rows.map((one, index) => {
              const question = doing?.id === one.id ? doing.what : "";
              return (
                <Fragment key={one.id}>
                  {rows[0]?.here && one.here !== rows[index - 1]?.here ? (
                    <li class="lmc-menu-label">{one.here ? WORDS.here : WORDS.elsewhere}</li>
                  ) : null}
                  <li
                    class={`lmc-kept${one.current ? " current" : ""}`}
                    data-id={one.id}
                    onFocusCapture={() => one.id !== active && setActive(one.id)}
                  >
                    {question === "rename" ? (
                      <Rename one={one} done={(title) => void rename(one, title)} cancel={() => leave(one.id)} />
                    ) : question === "delete" ? (
                      <Delete
                        label={WORDS.ofKept(WORDS.delete, one.title || WORDS.untitled)}
                        ask={WORDS.deleteAsk(one.title || WORDS.untitled)}
                        done={(event) => trusted(event) && void remove(one)}
                        cancel={() => leave(one.id)}
                      />
                    ) : (
                      <Line
                        one={one}
                        found={found}
                        tab={index === at ? 0 : -1}
                        open={() => void goTo("open", one)}
                        fork={() => void goTo("fork", one)}
                        ask={(what) => setDoing({ what, id: one.id })}
                      />
                    )}
                  </li>
                </Fragment>
              );
            })}
          </ul>
          {(kept?.length ?? 0) > most ? (
            <button
              type="button"
              class="lmc-button lmc-quiet"
              onClick={() => {
                focusOn(rows[rows.length - 1]?.id); // the button may go
                setMost(most + PAGE);
              }}
            >
              {WORDS.more}
            </button>
          ) : null}
          {doing?.what === "all" ? (
            <Delete
              label={WORDS.deleteAll}
              ask={WORDS.deleteAllAsk(others.length)}
              done={(event) => trusted(event) && void removeAll()}
              cancel={() => leave("")}
            />
          ) : others.length > 1 ? (
            <button type="button" class="lmc-button lmc-quiet" onClick={() => setDoing({ what: "all", id: "" })}>
              {WORDS.deleteAll}
            </button>
          ) : null}
        </div>
      </div>
    </Layer>
  );
}

interface LineProps {
  one: ConversationEntry;
  found: string;
  /** Only one line takes the Tab key; the arrows go to the others. */
  tab: 0 | -1;
  open(): void;
  fork(): void;
  ask(what: "rename" | "delete"): void;
}

function Line({ one, found, tab, open, fork, ask }: LineProps): VNode {
  const title = one.title || WORDS.untitled;
  const button = (label: string, icon: IconName, act: () => void) => (
    <IconButton
      label={WORDS.ofKept(label, title)}
      icon={icon}
      tabIndex={tab}
      title={label}
      onClick={act}
    />
  );
  return (
    <>
      <button
        type="button"
        class="lmc-kept-open"
        tabIndex={tab}
        aria-current={one.current ? "true" : undefined}
        title={one.held && !one.current ? WORDS.heldHint : title}
        onClick={open}
      >
        <span class="lmc-kept-title">{title}</span>
        {one.current ? <span class="lmc-kept-mark">{WORDS.current}</span> : null}
        {one.held && !one.current ? <span class="lmc-kept-mark held">{WORDS.held}</span> : null}
        <span class="lmc-kept-facts">{facts(one)}</span>
        {one.found && found ? <span class="lmc-kept-found">{markMatches(one.found, found)}</span> : null}
      </button>
      <div class="lmc-kept-tools">
        {button(WORDS.fork, "copy", fork)}
        {button(WORDS.rename, "edit", () => ask("rename"))}
        {button(WORDS.delete, "trash", () => ask("delete"))}
      </div>
    </>
  );
}

function Rename({ one, done, cancel }: { one: ConversationEntry; done(title: string): void; cancel(): void }): VNode {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  return (
    <form
      class="lmc-kept-ask"
      onSubmit={(event) => {
        event.preventDefault();
        done(field.current?.value.trim() ?? "");
      }}
      onKeyDown={(event) => leaving(event, cancel)}
    >
      <input
        ref={field}
        class="lmc-search"
        aria-label={WORDS.renameLabel}
        maxLength={TITLE}
        autocomplete="off"
        defaultValue={one.title}
      />
      <div class="lmc-row">
        <button type="submit" class="lmc-button run">
          {WORDS.rename}
        </button>
        <button type="button" class="lmc-button" onClick={cancel}>
          {WORDS.cancel}
        </button>
      </div>
    </form>
  );
}

function Delete(props: { label: string; ask: string; done(event: Event): void; cancel(): void }): VNode {
  const { label, ask, done, cancel } = props;
  const keep = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => keep.current?.focus(), []); // the one that harms nothing
  return (
    <div
      class="lmc-kept-ask"
      role="group"
      aria-label={label}
      onKeyDown={(event) => leaving(event, cancel)}
    >
      <p>{ask}</p>
      <div class="lmc-row">
        <button type="button" class="lmc-button lmc-danger" onClick={done}>
          {WORDS.delete}
        </button>
        <button ref={keep} type="button" class="lmc-button" onClick={cancel}>
          {WORDS.keep}
        </button>
      </div>
    </div>
  );
}

function leaving(event: KeyboardEvent, cancel: () => void): void {
  if (event.key !== "Escape" || event.isComposing) return;
  event.preventDefault();
  event.stopPropagation();
  cancel();
}

/** In which other notebook, when, by which model, how long. */
export function facts({ here, notebook, changed, model, messages }: ConversationEntry): string {
  const place = here ? "" : notebook.split(/[\\/]/).pop();
  const parts = [place, when(changed), model, WORDS.messageCount(messages)];
  return parts.filter(Boolean).join("\u00a0· "); // no line begins with a dot
}

/** The text with what was looked for marked in it. */
function markMatches(text: string, wanted: string): (string | VNode)[] {
  const at = text.toLowerCase().indexOf(wanted.toLowerCase());
  if (at < 0) return [text];
  const end = at + wanted.length;
  return [text.slice(0, at), <mark>{text.slice(at, end)}</mark>, text.slice(end)];
}
