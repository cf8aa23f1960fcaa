/**
 * The microphone of the composer: a button, and while it records a row with the time.
 *
 * One rule: it is always seen that it records, and one press ends it; leaving the panel does too.
 */

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { span, WORDS } from "../words";
import { sentenceOf, useShared } from "./context";
import { IconButton } from "./icons";
import { BYTES_A_SECOND, MOST_SECONDS, Recording } from "./record";

/** "asking": the browser asks whether it may. */
type Stage = "off" | "asking" | "on" | "ending";

export interface Microphone {
  button: VNode;
  row: VNode | null;
}

interface Place {
  /** Takes what was recorded. */
  attach(files: File[]): Promise<void>;
  /** Takes the focus when the row goes. */
  back(): void;
  /** How many bytes it may have. */
  room(): number;
}

export function useMicrophone({ attach, back, room }: Place): Microphone {
  const { say, announce } = useShared();
  const [stage, setStage] = useState<Stage>("off");
  const recording = useRef<Recording | null>(null);
  const most = useRef(0); // seconds
  const isGone = useRef(false);
  useEffect(
    () => () => {
      isGone.current = true;
      recording.current?.discard();
    },
    [],
  );

  const begin = async () => {
    if (stage !== "off") return;
    most.current = Math.min(MOST_SECONDS, Math.floor(room() / BYTES_A_SECOND) - 1);
    if (most.current < 1) {
      say(WORDS.recordNoRoom, "error");
      return;
    }
    setStage("asking");
    try {
      const session = await Recording.begin();
      if (isGone.current) {
        session.discard();
        return;
      }
      recording.current = session;
      say("");
      announce(WORDS.recording);
      setStage("on");
    } catch (error) {
      setStage("off");
      say(sentenceOf(error), "error");
    }
  };
  const end = async (sentence = "") => {
    const session = recording.current;
    if (!session) return;
    recording.current = null;
    setStage("ending");
    try {
      await attach([await session.stop()]);
      if (sentence) say(sentence);
    } catch (error) {
      say(sentenceOf(error), "error");
    }
    setStage("off");
    back();
  };
  const discard = () => {
    recording.current?.discard();
    recording.current = null;
    setStage("off");
    announce(WORDS.discarded);
    back();
  };

  const button = (
    <IconButton
      label={WORDS.record}
      icon="microphone"
      disabled={stage !== "off"}
      onClick={() => void begin()}
    />
  );
  const row =
    stage === "on" || stage === "ending" ? (
      <Row
        since={recording.current?.since ?? performance.now()}
        most={most.current}
        ending={stage === "ending"}
        end={(isFull) => void end(isFull ? WORDS.recordedAll(span(most.current)) : "")}
        discard={discard}
      />
    ) : null;
  return { button, row };
}

interface RowProps {
  since: number;
  /** Seconds. */
  most: number;
  ending: boolean;
  end(isFull: boolean): void;
  discard(): void;
}

function Row({ since, most, ending, end, discard }: RowProps): VNode {
  const time = useRef<HTMLSpanElement>(null);
  const stop = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    stop.current?.focus();
    if (ending) return;
    const draw = () => {
      const seconds = (performance.now() - since) / 1_000;
      if (time.current) time.current.textContent = span(seconds);
      if (seconds >= most) end(true);
    };
    draw();
    const timer = setInterval(draw, 100);
    return () => clearInterval(timer);
  }, [since, ending]);
  return (
    <div class="lmc-recording" role="group" aria-label={WORDS.recording}>
      <span class={`lmc-dot failed${ending ? "" : " live"}`} />
      <b>{ending ? WORDS.recordEnds : WORDS.recording}</b>
      <span class="lmc-bar-time" ref={time} />
      <span class="lmc-spring" />
      <button ref={stop} type="button" class="lmc-button run" disabled={ending} onClick={() => end(false)}>
        {WORDS.recordStop}
      </button>
      <button type="button" class="lmc-button" disabled={ending} onClick={discard}>
        {WORDS.discard}
      </button>
    </div>
  );
}
