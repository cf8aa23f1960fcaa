/**
 * The first-run screen: from nothing to a first answer.
 *
 * One rule: whoever reads it knows what this is, who answers, and has something to press.
 */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { ConversationEntry, Offer } from "../protocol";
import { EXAMPLES, EXAMPLES_OF_FRAME, when, WORDS } from "../words";
import { sentenceOf, useHappenings, useShared } from "./context";
import { Icon } from "./icons";

interface Props {
  /** Puts the text into the composer and sends it. */
  ask(text: string): void;
  pick(): void;
  /** A conversation from before stands here; the sentence says what a person should know of it. */
  opened(said: string): void;
}

/** The first-run screen of a course, in which no model answers. */
export function CourseWelcome({ tutor, ask }: { tutor: "hints" | "off"; ask: Props["ask"] }): VNode {
  const ways = WORDS.courseWays.filter(([command]) => tutor === "hints" || !command.endsWith("hint"));
  return (
    <div class="lmc-welcome">
      <h2>{WORDS.course}</h2>
      <p>{WORDS.courseText}</p>
      <div class="lmc-usable">
        <ul>
          {ways.map(([command, what]) => (
            <li key={command}>
              <button type="button" class="lmc-offer" onClick={() => ask(command)}>
                <b>{command}</b>
                <span>{what}</span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

const BEFORE = 3; // conversations of this notebook that are offered

export function Welcome({ ask, pick, opened }: Props): VNode {
  const { conversation, transport, say } = useShared();
  useHappenings(conversation, "configured");
  const { label: name, chosen } = conversation.settings; // no label: no model can be made
  const [offers, setOffers] = useState<Offer[] | null>(null);
  const [looked, setLooked] = useState(0);
  const [using, setUsing] = useState("");
  const looks = !chosen || !name;
  const [before, setBefore] = useState<ConversationEntry[]>([]);
  const [opening, setOpening] = useState(false);
  const [frame, setFrame] = useState("");
  const examples = frame ? EXAMPLES_OF_FRAME.map((about) => about(frame)) : EXAMPLES;

  useEffect(() => {
    let isGone = false;
    transport.request({ kind: "history", search: "", here: true, most: BEFORE + 1 }).then(
      (found) => !isGone && setBefore(found.filter((one) => !one.current).slice(0, BEFORE)),
      () => undefined, // nothing is kept; whoever opens the history reads why
    );
    return () => {
      isGone = true;
    };
  }, []);

  useEffect(() => {
    let isGone = false;
    transport.request({ kind: "names", prefix: "" }).then(
      (names) => !isGone && setFrame(names.find(({ type }) => type === "DataFrame")?.name ?? ""),
      () => undefined, // then the examples are those for everybody
    );
    return () => {
      isGone = true;
    };
  }, []);

  useEffect(() => {
    if (!looks) return;
    let isGone = false;
    setOffers(null);
    transport.request({ kind: "models" }).then(
      (found) => !isGone && setOffers(found),
      (failed: unknown) => {
        if (isGone) return;
        setOffers([]);
        say(sentenceOf(failed), "error");
      },
    );
    return () => {
      isGone = true;
    };
  }, [looks, looked]);

  const use = (offer: Offer) => {
    setUsing(offer.name);
    const base = offer.api_base ? { api_base: offer.api_base } : {};
    transport
      .request({ kind: "choose", model: offer.name, ...base })
      .then(say, (failed: unknown) => say(sentenceOf(failed), "error"))
      .finally(() => setUsing(""));
  };
  const goOn = (one: ConversationEntry) => {
    setOpening(true);
    transport
      .request({ kind: "open", conversation: one.id })
      .then(opened, (failed: unknown) => say(sentenceOf(failed), "error"))
      .finally(() => setOpening(false));
  };
  const current = offers?.find((offer) => offer.current);
  const others = (offers ?? []).filter((offer) => !name || !offer.current);
  const none = !name && offers !== null && others.length === 0;
  return (
    <div class="lmc-welcome">
      <h2>{WORDS.welcome}</h2>
      <p>{WORDS.welcomeText}</p>
      {before.length ? (
        <div class="lmc-before">
          <ul>
            {before.map((one, at) => (
              <li key={one.id}>
                <button type="button" class="lmc-offer" disabled={opening} onClick={() => goOn(one)}>
                  <b>{at === 0 ? WORDS.continue(one.title || WORDS.untitled) : one.title || WORDS.untitled}</b>
                  <span>{[WORDS.messageCount(one.messages), when(one.changed)].join(" · ")}</span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      ) : null}
      {name ? (
        <p class="lmc-answers">
          <span>{WORDS.answersNow}</span>{" "}
          <button type="button" class="lmc-model" onClick={pick} aria-label={WORDS.pickModel(name)}>
            <span>{name}</span>
            <Icon name="caret" />
          </button>
          {current?.why ? <small>{current.why}</small> : null}
        </p>
      ) : null}
      {!name && offers === null ? <p class="lmc-hint">{WORDS.looking}</p> : null}
      {none ? (
        <div class="lmc-nothing">
          <b>{WORDS.nothingUsable}</b>
          <p>{WORDS.nothingUsableHow[0]}</p>
          <ul>
            {WORDS.nothingUsableHow.slice(1).map((way) => (
              <li key={way}>{way}</li>
            ))}
          </ul>
          <div class="lmc-row">
            <button type="button" class="lmc-button run" onClick={() => setLooked(looked + 1)}>
              {WORDS.lookAgain}
            </button>
            <button type="button" class="lmc-button" onClick={pick}>
              {WORDS.another}
            </button>
          </div>
        </div>
      ) : null}
      {looks && others.length ? (
        <div class="lmc-usable">
          <h3>{name ? WORDS.alsoUsable : WORDS.chooseOne}</h3>
          <ul>
            {others.slice(0, 6).map((offer) => (
              <li key={`${offer.name} ${offer.api_base ?? ""}`}>
                <button type="button" class="lmc-offer" disabled={using !== ""} onClick={() => use(offer)}>
                  <b>{offer.label}</b>
                  <span>{using === offer.name ? WORDS.using : offer.why}</span>
                </button>
              </li>
            ))}
          </ul>
          {name ? null : (
            <button type="button" class="lmc-link" onClick={pick}>
              {WORDS.another}
            </button>
          )}
        </div>
      ) : null}
      {name ? (
        <div class="lmc-examples">
          <h3>{WORDS.tryOne}</h3>
          <ul>
            {examples.map((example) => (
              <li key={example}>
                <button type="button" class="lmc-example" onClick={() => ask(example)}>
                  {example}
                </button>
              </li>
            ))}
          </ul>
        </div>
      ) : null}
    </div>
  );
}
