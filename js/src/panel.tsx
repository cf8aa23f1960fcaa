/**
 * The chat panel: the list of records, the question about code, the state, the composer.
 *
 * One rule: it knows the store and the transport, and nothing of Jupyter; everything that it
 * draws is inside the element that it was given, which may stand in a shadow root.
 */

import { render, type VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { Conversation } from "./conversation";
import type { Wire } from "./mail";
import { actsOf, take, type Open } from "./panel/acts";
import { Composer, LINE, type ComposerHandle, type Outgoing } from "./panel/composer";
import { announcer, Provide, sentenceOf, useHappenings, type Shared } from "./panel/context";
import { readEnterSends, writeEnterSends } from "./panel/enter";
import { useCardFocus } from "./panel/focus";
import { Head } from "./panel/head";
import { History } from "./panel/history";
import { Icon, IconButton } from "./panel/icons";
import { InputCard } from "./panel/input";
import { Queue } from "./panel/queue";
import { LedgerLine, useLedger } from "./panel/ledger";
import { MessageList } from "./panel/log";
import { Menu } from "./panel/menu";
import { ModelPicker } from "./panel/picker";
import { Layer } from "./panel/popup";
import { QuestionCard, type Decision } from "./panel/question";
import { Sent } from "./panel/sent";
import { StateLine, StopButton } from "./panel/state";
import { stretches } from "./panel/stretches";
import { CourseWelcome, Welcome } from "./panel/welcome";
import type { AboutCell, Question, ReplaceCell, Settings } from "./protocol";
import { Transport } from "./transport";
import type { ShowWidget } from "./widgets";
import { WORDS } from "./words";

export interface Options {
  /** What tests put in place of a person's hand. */
  trusted?(event: Event): boolean;
  /** Where the front end can show live widgets. */
  widget?: ShowWidget;
}

/** Draws the panel into `root` and returns what takes it away. */
export function mountPanel(root: HTMLElement, wire: Wire, options: Options = {}): () => void {
  const transport = new Transport(wire);
  const conversation = new Conversation();
  const isReal = options.trusted ?? ((event: Event) => event.isTrusted);
  const widget = options.widget ?? null;
  render(<Panel transport={transport} conversation={conversation} trusted={isReal} widget={widget} />, root);
  transport.follow(conversation);
  return () => {
    transport.close();
    render(null, root);
  };
}

const NOTICE_MS = 4_000;
const LETTER_MS = 60;
const LONG_NOTICE = 300; // characters
const ASKS: readonly Settings["asks"][] = ["always", "changes", "never"];

type Notice = { text: string; level: "info" | "error" } | null;
interface Props {
  transport: Transport;
  conversation: Conversation;
  trusted(event: Event): boolean;
  widget: ShowWidget | null;
}

/** A word of a command, whatever is in it: adjoining quotations are one word, with and without escapes. */
function quote(word: string): string {
  return /^[\w.-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

function Panel({ transport, conversation, trusted, widget }: Props): VNode {
  useHappenings(conversation, "state", "ask", "input", "configured", "ready", "trouble", "turns");
  const [notice, setNotice] = useState<Notice>(null);
  const [open, setOpen] = useState<Open>(null);
  const [picking, setPicking] = useState(false);
  const [empty, setEmpty] = useState(true);
  const [unanswered, setUnanswered] = useState(false);
  const [following, setFollowing] = useState(true);
  const [over, setOver] = useState(0); // how deep a drag of files is inside of the panel
  const [enterSends, setEnterSends] = useState(readEnterSends);
  const root = useRef<HTMLElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const status = useRef<HTMLDivElement>(null);
  const list = useRef<MessageList | null>(null);
  const composer = useRef<ComposerHandle | null>(null);
  const id = useMemo(() => `lmc-${Math.random().toString(36).slice(2, 10)}`, []);

  const sharedContext = useMemo<Shared>(
    () => ({
      conversation,
      transport,
      trusted,
      say: (text, level = "info") => setNotice(text ? { text, level } : null),
      announce: announcer(status),
    }),
    [],
  );
  const { say, announce } = sharedContext;
  const ledger = useLedger(sharedContext, root);

  useLayoutEffect(() => {
    const acts = actsOf(sharedContext, setOpen, widget, ledger.choice);
    const messages = new MessageList(conversation, acts);
    messages.onFollow = setFollowing;
    list.current = messages;
    place.current?.append(messages.element);
    const undo = conversation.watch(({ kind }) => {
      if (kind === "appended" || kind === "cut" || kind === "ready") {
        // a line on the model alone is no conversation: what can be done stands there
        setEmpty(!conversation.entries.some((one) => one.kind === "message" || one.note.level === "error"));
      }
      setUnanswered(conversation.unanswered());
      if (kind === "ask" && conversation.ask) announce(WORDS.announceAsk(conversation.ask.language, conversation.agent));
      if (kind === "input" && conversation.input) {
        const { key, prompt } = conversation.input;
        announce(key ? WORDS.keyLabel(prompt) : WORDS.announceInput(prompt));
      }
    });
    return () => {
      undo();
      messages.dispose();
    };
  }, []);

  const busy = conversation.busy();
  const { ask, input, state, settings, tables, turns } = conversation;
  const last = turns[turns.length - 1];

  const stop = () => transport.tell({ kind: "stop" });
  const pressStop = () => {
    composer.current?.focus(); // the button goes, the focus must not go with it
    return stop();
  };
  const command = async (line: string) => {
    const sentence = await transport.request({ kind: "command", line });
    if (sentence) say(sentence);
  };
  const runCommand = (line: string) =>
    void command(line).catch((error: unknown) => say(sentenceOf(error), "error"));

  const setAsks = (when: Settings["asks"]) => {
    if (settings.auto_run && when !== "never") runCommand("config auto_run False");
    runCommand(`config ask ${when}`);
  };

  const send = async ({ text, attachments }: Outgoing) => {
    say("");
    const line = LINE.exec(text.trim());
    if (line) {
      const [, typed = "", rest = ""] = line;
      const entry = conversation.tables.commands.find(({ name, also }) => name === typed || also.includes(typed));
      if (!entry) throw new Error(WORDS.noCommand(typed));
      const { name } = entry;
      if (name === "stop") {
        if (!(await stop())) throw new Error(WORDS.silent);
      } else if (name === "model" && !rest) {
        setPicking(true);
      } else if ((name === "history" || name === "open") && !rest) {
        setOpen({ kind: "history" });
      } else if (name === "key") {
        runCommand(`${name} ${rest}`.trim()); // it waits for its field, and the composer does not
      } else {
        await command(name === "state" ? "" : `${name} ${rest}`.trim());
      }
      return;
    }
    if (conversation.busy()) {
      await transport.request({ kind: "queue", do: "add", text: text.trim(), choice: ledger.choice() });
      ledger.sent();
      return;
    }
    await transport.request({
      kind: "ask",
      text: text.trim(),
      attachments: attachments.map(({ name, mime, data }) => ({ name, mime, data })),
      choice: ledger.choice(),
    });
    ledger.sent();
    list.current?.toEnd();
  };

  const decide = async (decision: Decision): Promise<boolean> => {
    if (!ask) return false;
    const { proposal, digest } = ask;
    return transport.tell({ kind: "decision", proposal, digest, ...decision });
  };

  /** The code goes into the cell that was asked about, and is not run here. */
  const replaceCell = (cell: string, { at, language, code: shown }: Question, code: string) => {
    const done = (isRun: boolean) => void decide({ decision: "decline", reason: WORDS.replaced(isRun) });
    const origin = conversation.originOf(at, code !== shown);
    const detail: ReplaceCell = { cell, code, language: language.split(" ")[0] ?? "", origin, done };
    const event = new CustomEvent("lmc:replace-cell", { bubbles: true, composed: true, cancelable: true, detail });
    if (root.current?.dispatchEvent(event)) say(WORDS.replaceNot, "error"); // nobody took it
  };

  const answer = async (text: string | null): Promise<boolean> =>
    input !== null && transport.tell({ kind: "input", input: input.id, text });

  /** Another conversation stands here. */
  const opened = (said: string) => {
    say(said);
    list.current?.toEnd();
    composer.current?.focus();
  };

  const example = (text: string) => {
    composer.current?.fill(text);
    send({ text, attachments: [] }).then(
      () => composer.current?.fill(""),
      (error: unknown) => say(sentenceOf(error), "error"),
    );
  };

  /** What a button at a cell of the notebook asks for. */
  const aboutCell = async (about: AboutCell) => {
    say("");
    if ("proposal" in about) {
      const { proposal, wish: how } = about;
      const at = await transport.request({ kind: "place", message: proposal });
      if (root.current) await take(sharedContext, conversation.entries[at], how, root.current);
      return;
    }
    if ("exercise" in about) {
      const expected = about.wish === "hint" && about.expected ? ` --expected=${quote(about.expected)}` : "";
      await send({ text: `%lmc ${about.wish} ${quote(about.exercise)}${expected}`, attachments: [] });
      if (about.wish === "hint") about.sent();
      return;
    }
    const { wish, cell } = about;
    if (wish === "ask") {
      const reference = await transport.request({ kind: "point", cell });
      composer.current?.point(reference);
      return;
    }
    await transport.request({ kind: wish, cell, choice: ledger.choice() });
    ledger.sent();
    list.current?.toEnd();
  };
  useEffect(() => {
    const onAboutCell = (event: Event) =>
      void aboutCell((event as CustomEvent<AboutCell>).detail).catch((error: unknown) => say(sentenceOf(error), "error"));
    const node = root.current;
    node?.addEventListener("lmc:about-cell", onAboutCell);
    return () => node?.removeEventListener("lmc:about-cell", onAboutCell);
  }, []);

  useCardFocus(root, ask?.proposal ?? input?.id ?? null);

  /** The front end brings the question of a cell into sight. */
  const showQuestion = () => {
    const event = new CustomEvent("lmc:show-question", { bubbles: true, composed: true, cancelable: true });
    if (root.current?.dispatchEvent(event)) say(WORDS.notInSight, "error"); // nobody took it
  };

  useEffect(() => {
    // what a command printed has to be read; the rest goes by itself
    if (notice?.level !== "info" || notice.text.length > LONG_NOTICE) return;
    const timer = setTimeout(() => setNotice(null), NOTICE_MS + notice.text.length * LETTER_MS);
    return () => clearTimeout(timer);
  }, [notice]);

  const onKeyDown = (event: KeyboardEvent) => {
    // Escape stops from the list and the composer, else it leaves; in a card or a layer it means
    // something else, and with a text in the field it leaves that alone
    if (event.key !== "Escape" || event.isComposing || !trusted(event)) return;
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest(".lmc-card:not(.lmc-asks), .lmc-popup, .lmc-layer, .lmc-edit")) return;
    if (!busy && target instanceof HTMLTextAreaElement && target.value) return;
    event.preventDefault();
    event.stopPropagation();
    if (!busy) {
      target?.dispatchEvent(new CustomEvent("lmc:leave", { bubbles: true, composed: true }));
      return;
    }
    void stop().then((heard) => {
      if (!heard) say(WORDS.silent, "error");
    });
  };
  const hasFiles = (event: DragEvent) => [...(event.dataTransfer?.types ?? [])].includes("Files");

  const toggleEnter = () => {
    writeEnterSends(!enterSends);
    setEnterSends(!enterSends);
  };

  const problem = conversation.problem;
  const asked = ask && !conversation.agent ? conversation.about(ask.at) : "";
  return (
    <Provide value={sharedContext}>
      <section
        ref={root}
        class={`lmc lmc-panel${over > 0 ? " lmc-dropping" : ""}`}
        aria-label={WORDS.panel}
        data-lm-suppress-shortcuts="true"
        data-ready={conversation.ready ? "1" : undefined}
        data-state={state.state}
        onKeyDown={onKeyDown}
        onDragEnter={(event) => hasFiles(event) && setOver((deep) => deep + 1)}
        onDragLeave={(event) => hasFiles(event) && setOver((deep) => Math.max(0, deep - 1))}
        onDragOver={(event) => hasFiles(event) && event.preventDefault()}
        onDrop={(event) => {
          if (!hasFiles(event)) return;
          event.preventDefault();
          event.stopPropagation();
          setOver(0);
          void composer.current?.attach([...(event.dataTransfer?.files ?? [])]);
        }}
      >
        {settings.auto_run ? (
          <div class="lmc-banner" role="note">
            <Icon name="warning" />
            <span>
              <b>{WORDS.autoRun}</b> {WORDS.autoRunHow}
            </span>
          </div>
        ) : null}
        {settings.tutor ? (
          <div class="lmc-banner lmc-calm" role="note">
            <Icon name="info" />
            <span>
              <b>{WORDS.tutor[settings.tutor][0]}</b> {WORDS.tutor[settings.tutor][1]}
            </span>
          </div>
        ) : null}
        {settings.asks === "changes" ? (
          <div class="lmc-banner lmc-calm" role="note">
            <Icon name="info" />
            <span>
              <b>{WORDS.asksForChanges}</b> {WORDS.asksForChangesHow}
            </span>
          </div>
        ) : null}
        {settings.unsaved ? (
          <div class="lmc-banner lmc-calm" role="note">
            <Icon name="info" />
            <span>{settings.unsaved}</span>
          </div>
        ) : null}
        <Head
          busy={busy}
          empty={empty}
          history={() => setOpen({ kind: "history" })}
          fresh={() => {
            runCommand("reset");
            composer.current?.focus(); // the button cannot be pressed any more
          }}
          opened={opened}
        />
        <div class="lmc-main">
          <div ref={place} class="lmc-place" hidden={conversation.ready && empty} />
          {conversation.ready && empty ? (
            <div class="lmc-place lmc-scroll">
              {settings.tutor ? (
                <CourseWelcome tutor={settings.tutor} ask={example} />
              ) : (
                <Welcome ask={example} pick={() => setPicking(true)} opened={opened} />
              )}
            </div>
          ) : null}
          {!following && !empty ? (
            <IconButton
              label={WORDS.toEnd}
              icon="down"
              css="lmc-to-end"
              onClick={() => list.current?.toEnd()}
            />
          ) : null}
        </div>
        {state.state === "waiting" && state.where === "cell" ? (
          <div class="lmc-incell lmc-row" role="note">
            <span>{WORDS.inCell}</span>
            <button type="button" class="lmc-button" onClick={showQuestion}>
              {WORDS.toCell}
            </button>
          </div>
        ) : null}
        {unanswered && !busy ? (
          <div class="lmc-incell lmc-row" role="note">
            <span>{WORDS.unanswered}</span>
            <button type="button" class="lmc-button" onClick={() => runCommand("resume")}>
              {WORDS.goOn}
            </button>
          </div>
        ) : null}
        {ask && state.where !== "cell" ? (
          <QuestionCard
            key={ask.proposal}
            question={ask}
            agent={conversation.agent}
            replace={
              asked
                ? { label: WORDS.replaceCell(conversation.numberAbout(ask.at)), act: (code) => replaceCell(asked, ask, code) }
                : undefined
            }
            onlyChanges={settings.asks === "always" && !conversation.agent ? () => setAsks("changes") : undefined}
            decide={decide}
            effects={(code) => transport.request({ kind: "effects", proposal: ask.proposal, code })}
            trusted={trusted}
          />
        ) : null}
        {input ? <InputCard key={input.id} input={input} answer={answer} trusted={trusted} /> : null}
        <footer class="lmc-foot">
          {notice || problem ? (
            <div
              class={`lmc-notice ${problem || notice?.level === "error" ? "error" : "info"}`}
              role={problem || notice?.level === "error" ? "alert" : "status"}
            >
              <p>
                {stretches(problem || (notice?.text ?? "")).map(({ text, code }) => (code ? <code>{text}</code> : text))}
              </p>
              {problem ? null : (
                <IconButton label={WORDS.dismiss} icon="close" onClick={() => setNotice(null)} />
              )}
            </div>
          ) : null}
          <StateLine
            state={state.state}
            note={conversation.ready ? state.note || (tables.states[state.state]?.label ?? state.state) : WORDS.connecting}
            since={conversation.since}
            seconds={last?.over && !["idle", "stopped"].includes(state.state) ? last.seconds : null}
            busy={busy || !conversation.ready}
          />
          <Queue busy={busy} />
          <LedgerLine {...ledger} />
          <Composer
            id={id}
            read={ledger.read}
            busy={busy}
            enterSends={enterSends}
            send={send}
            handle={(handle) => {
              composer.current = handle;
            }}
            left={
              <>
                <ModelPicker id={id} open={picking} setOpen={setPicking} />
                <Menu
                  label={WORDS.menu}
                  icon="more"
                  groups={[
                    {
                      items: [
                        { label: WORDS.commands, hint: "/", act: () => composer.current?.begin("/") },
                        { label: WORDS.references, hint: "@", act: () => composer.current?.begin("@") },
                      ],
                    },
                    {
                      label: WORDS.asks,
                      items: ASKS.map((when) => ({
                        label: WORDS.askWays[when][0],
                        hint: WORDS.askWays[when][1],
                        checked: settings.asks === when,
                        act: (event) => trusted(event) && setAsks(when),
                      })),
                    },
                    {
                      items: [
                        {
                          label: WORDS.enterSends,
                          hint: WORDS.enterSendsHint(enterSends),
                          checked: enterSends,
                          act: toggleEnter,
                        },
                      ],
                    },
                  ]}
                />
              </>
            }
            stop={
              <StopButton
                key={last?.id ?? ""}
                stop={pressStop}
                trusted={trusted}
                onSilence={() => say(WORDS.silent, "error")}
                icon
              />
            }
          />
        </footer>
        <div ref={status} class="lmc-offscreen" role="status" />
        {over > 0 ? <div class="lmc-drop">{WORDS.dropHere}</div> : null}
        {open?.kind === "sent" ? <Sent turn={open.turn} close={() => setOpen(null)} /> : null}
        {open?.kind === "history" ? <History close={() => setOpen(null)} opened={opened} /> : null}
        {open?.kind === "image" ? (
          <Layer kind="image" label={WORDS.enlarge} close={() => setOpen(null)}>
            <img src={open.image} alt={open.alt || WORDS.image} />
          </Layer>
        ) : null}
      </section>
    </Provide>
  );
}
