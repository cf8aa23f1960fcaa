/**
 * The line that always says what is going on, and the button that stops it.
 *
 * One rule: it is right even when the kernel is silent: the seconds are counted here.
 */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Activity } from "../protocol";
import { span, WORDS } from "../words";
import { Icon } from "./icons";

interface Props {
  state: Activity;
  /** What a person reads of it. */
  note: string;
  /** When the turn began, by this page's clock. */
  since: number;
  /** Seconds of the last turn, once it is over; null where none was. */
  seconds: number | null;
  busy: boolean;
  label?: string;
  children?: ComponentChildren;
}

export function StateLine({ state, note, since, seconds, busy, label, children }: Props): VNode {
  const time = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const draw = () => {
      if (!time.current) return;
      const elapsed = busy ? (performance.now() - since) / 1_000 : seconds;
      time.current.textContent = elapsed === null ? "" : span(elapsed);
    };
    draw();
    if (!busy || state === "waiting") return; // the person's thinking is not counted
    const timer = setInterval(draw, 100);
    return () => clearInterval(timer);
  }, [state, busy, since, seconds]);
  return (
    <div class="lmc-bar" data-state={state}>
      <span class={`lmc-dot ${state}${busy && state !== "waiting" ? " live" : ""}`} />
      <b class="lmc-bar-state">{note}</b>
      <span class="lmc-bar-time" ref={time} />
      {label ? <span class="lmc-bar-label">{label}</span> : null}
      {children}
    </div>
  );
}

interface StopProps {
  stop(): Promise<boolean>;
  trusted(event: Event): boolean;
  onSilence?(): void;
  icon?: boolean;
}

export function StopButton({ stop, trusted, onSilence, icon }: StopProps): VNode {
  const [stopping, setStopping] = useState(false);
  const press = (event: Event) => {
    if (!trusted(event) || stopping) return;
    setStopping(true);
    void stop().then((heard) => {
      if (heard) return;
      setStopping(false);
      onSilence?.();
    });
  };
  return (
    <button
      type="button"
      class={`lmc-button lmc-stop${icon ? " lmc-stop-round" : ""}`}
      title={WORDS.stopHint}
      aria-disabled={stopping}
      onClick={press}
    >
      {icon ? <Icon name="stop" /> : null}
      {stopping ? WORDS.stopping : WORDS.stop}
    </button>
  );
}
