/**
 * What was sent: the exact requests of one turn.
 *
 * One rule: it shows what went as text, role by role, opened at the question; the body itself, as
 * JSON, is a press away.
 */

import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Request, Turn } from "../protocol";
import { dollars, short, span, WORDS } from "../words";
import { copy, sentenceOf, useShared } from "./context";
import { IconButton } from "./icons";
import { Layer } from "./popup";

export function Sent({ turn, close }: { turn: string; close(): void }): VNode {
  const { transport } = useShared();
  const [requests, setRequests] = useState<Request[] | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    let isGone = false;
    transport.request({ kind: "sent", turn }).then(
      (found) => !isGone && setRequests(found),
      (failed: unknown) => !isGone && setError(sentenceOf(failed)),
    );
    return () => {
      isGone = true;
    };
  }, [turn]);
  return (
    <Layer kind="dialog" label={WORDS.sentTitle} close={close}>
      <div class="lmc-sent">
        <h2>{WORDS.sentTitle}</h2>
        <p class="lmc-hint">{WORDS.sentIntro}</p>
        {requests === null && !error ? <p class="lmc-hint">{WORDS.loading}</p> : null}
        {requests?.length === 0 ? <p class="lmc-hint">{WORDS.sentNone}</p> : null}
        {error ? (
          <p class="lmc-problem" role="alert">
            {error}
          </p>
        ) : null}
        {(requests ?? []).map((request, index) => (
          <OneRequest key={index} request={request} number={index + 1} of={requests?.length ?? 0} />
        ))}
      </div>
    </Layer>
  );
}

/** Pixels above the question, in which the message before it stands. */
const PEEK = 52;

function OneRequest({ request, number, of }: { request: Request; number: number; of: number }): VNode {
  const { announce, say } = useShared();
  const [copied, setCopied] = useState(false);
  const [raw, setRaw] = useState(request.messages.length === 0);
  const list = useRef<HTMLDivElement>(null);
  const last = request.messages.map(({ role }) => role).lastIndexOf("user");
  useLayoutEffect(() => {
    const question = list.current?.children[last];
    if (!list.current || !(question instanceof HTMLElement)) return;
    const { offsetTop, offsetHeight } = question; // the question stands at the end of its message
    list.current.scrollTop = Math.max(offsetTop - PEEK, offsetTop + offsetHeight - list.current.clientHeight);
  }, [raw]);
  const press = (event: { currentTarget: HTMLElement }) => {
    copy(request.body, event.currentTarget).then(
      () => {
        setCopied(true);
        announce(WORDS.copied);
      },
      (error: unknown) => say(sentenceOf(error), "error"),
    );
  };
  const facts = took(request);
  return (
    <section class="lmc-request" aria-label={WORDS.sentOne(number, of)}>
      <div class="lmc-request-head">
        <b>{WORDS.sentOne(number, of)}</b>
        <span>{[request.model, ...facts, span(request.seconds)].join(" · ")}</span>
        <button type="button" class="lmc-link" aria-pressed={raw} onClick={() => setRaw(!raw)}>
          {WORDS.sentRaw}
        </button>
        <IconButton label={WORDS.copyRequest} icon={copied ? "check" : "copy"} onClick={press} />
      </div>
      {raw ? (
        <pre tabIndex={0}>{request.body}</pre>
      ) : (
        <div ref={list} class="lmc-request-list">
          {request.messages.map(({ role, text }, at) => (
            <details key={at} open={last >= 0 && at >= last}>
              <summary>
                <b>{role}</b> <span>{text.trimStart().split("\n", 1)[0]}</span> <small>{WORDS.characters(text)}</small>
              </summary>
              <pre tabIndex={0}>{text}</pre>
            </details>
          ))}
        </div>
      )}
    </section>
  );
}

/** Tokens and cost, as far as they are known. */
export function took(of: Pick<Turn, "prompt_tokens" | "completion_tokens" | "cached_tokens" | "estimate" | "cost">): string[] {
  const facts: string[] = [];
  const tokens = (of.prompt_tokens ?? 0) + (of.completion_tokens ?? 0);
  if (of.estimate) facts.push(WORDS.tokensEstimate(short(tokens + of.estimate)));
  else if (tokens) facts.push(WORDS.tokensCounted(short(tokens), of.cached_tokens ? short(of.cached_tokens) : ""));
  if (of.cost) facts.push(dollars(of.cost));
  return facts;
}
