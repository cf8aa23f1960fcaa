/**
 * The live parts of a `%%lmc` cell: its state line, the question about code, and HTML that the
 * computer shows.
 *
 * One rule: they are the panel's own parts, with the cell's few messages in place of a store.
 */

import { render, type VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Wire } from "../mail";
import type { FromKernel, Page } from "../protocol";
import { Sandbox } from "../render/sandbox";
import { Transport } from "../transport";
import { WORDS } from "../words";
import { QuestionCard } from "./question";
import { StateLine, StopButton } from "./state";

export interface Options {
  trusted?(event: Event): boolean;
}

type CellState = Extract<FromKernel, { kind: "state" }>;
type CellAsk = Extract<FromKernel, { kind: "ask" }>;

/** Draws the state line into `root` and returns what takes it away. */
export function mountBar(root: HTMLElement, wire: Wire, options: Options = {}): () => void {
  return mount(root, wire, (transport) => <Bar wire={wire} transport={transport} {...person(options)} />);
}

/** Draws the question into `root` and returns what takes it away. */
export function mountAsk(root: HTMLElement, wire: Wire, options: Options = {}): () => void {
  return mount(root, wire, (transport) => <Ask wire={wire} transport={transport} {...person(options)} />);
}

/** Shows HTML, or what a script draws, in the sandbox, and says what became of it. */
export function mountPage(root: HTMLElement, wire: Wire): () => void {
  const transport = new Transport(wire);
  const place = document.createElement("div");
  place.className = "lmc lmc-live lmc-shown";
  root.append(place);
  let sandbox: Sandbox | null = null;
  const undo = wire.onMessage((content) => {
    const message = content as FromKernel;
    if (message?.kind !== "page" || sandbox) return;
    const report = (page: Page) => void transport.tell({ kind: "page", at: -1, page });
    sandbox = new Sandbox(message.code, { report, pictured: true, language: message.language });
    place.append(sandbox.element);
  });
  void transport.tell({ kind: "ready" });
  return () => {
    undo();
    transport.close();
    sandbox?.dispose();
    place.remove();
  };
}

interface Props {
  wire: Wire;
  transport: Transport;
  trusted(event: Event): boolean;
}

function person(options: Options): Pick<Props, "trusted"> {
  return { trusted: options.trusted ?? ((event: Event) => event.isTrusted) };
}

function mount(root: HTMLElement, wire: Wire, part: (transport: Transport) => VNode): () => void {
  const transport = new Transport(wire);
  const giveBack = borrowFocus(root);
  render(
    <div class="lmc lmc-live" onMouseDown={leaveFocus}>
      {part(transport)}
    </div>,
    root,
  );
  return () => {
    transport.close();
    giveBack();
    render(null, root);
  };
}

/** A button that is pressed with the mouse takes no focus: the notebook keeps it, and its active cell. */
function leaveFocus(event: MouseEvent): void {
  if (event.target instanceof Element && event.target.closest("button")) event.preventDefault();
}

/**
 * Notes where the focus came from when it enters `root`. The function that this returns gives it
 * back there, if it would be lost with `root`: to what JupyterLab had focused, its active cell.
 */
function borrowFocus(root: HTMLElement): () => void {
  let from: HTMLElement | null = null;
  let inside = false;
  const onFocusIn = ({ relatedTarget }: FocusEvent) => {
    const isOutside = relatedTarget instanceof HTMLElement && !root.contains(relatedTarget);
    if (isOutside) from = relatedTarget;
    else if (!inside) from = root.closest<HTMLElement>(".jp-Cell");
    inside = true;
  };
  const onFocusOut = ({ relatedTarget }: FocusEvent) => {
    if (relatedTarget instanceof Node && !root.contains(relatedTarget)) inside = false;
  };
  root.addEventListener("focusin", onFocusIn);
  root.addEventListener("focusout", onFocusOut);
  return () => {
    root.removeEventListener("focusin", onFocusIn);
    root.removeEventListener("focusout", onFocusOut);
    const activeElement = document.activeElement;
    const isLost = activeElement === null || activeElement === document.body || root.contains(activeElement);
    if (inside && isLost) from?.focus({ preventScroll: true });
  };
}

function Bar({ wire, transport, trusted }: Props): VNode {
  const [state, setState] = useState<{ said: CellState; since: number } | null>(null);
  const hasEnded = useEnded(wire);
  useLayoutEffect(() => {
    const undo = wire.onMessage((content) => {
      const message = content as FromKernel;
      if (message?.kind === "state") setState({ said: message, since: performance.now() - message.elapsed * 1_000 });
    });
    void transport.tell({ kind: "ready" });
    return undo;
  }, []);
  const activity = state?.said.state ?? "thinking";
  const busy = !state?.said.over;
  const isCut = hasEnded && busy;
  const stopButton = <StopButton stop={() => transport.tell({ kind: "stop" })} trusted={trusted} />;
  const box = useRef<HTMLDivElement>(null);
  const hasRow = useRowOfBlock(box, activity === "running" && !isCut, (since) => (
    <StateLine state="running" note={state?.said.note ?? ""} since={since} seconds={null} busy>
      {stopButton}
    </StateLine>
  ));
  return (
    <div ref={box} role="status" class="lmc-bar-box">
      <StateLine
        state={isCut ? "stopped" : activity}
        note={isCut ? WORDS.kernelEnded : (state?.said.note ?? "")}
        since={state?.since ?? performance.now()}
        seconds={isCut || hasRow ? null : (state?.said.elapsed ?? null)}
        busy={busy && !isCut && !hasRow}
        label={isCut ? "" : (state?.said.label ?? "")}
      >
        {isCut || hasRow ? null : stopButton}
      </StateLine>
    </div>
  );
}

/**
 * A row below the block that runs, which may stand far below the state line; returns whether it
 * stands there: then the state line has neither seconds nor Stop.
 *
 * Its card is HTML that the kernel draws anew for each line, so that the row stands beside what
 * holds that HTML, and not in it; where a front end has none of JupyterLab's outputs there is no row.
 */
function useRowOfBlock(box: { current: HTMLElement | null }, runs: boolean, draw: (since: number) => VNode): boolean {
  const [stands, setStands] = useState(false);
  useEffect(() => {
    const cell = box.current?.closest(".jp-OutputArea");
    if (!runs || !cell) return;
    const row = document.createElement("div");
    row.className = "lmc lmc-live lmc-runs";
    row.addEventListener("mousedown", leaveFocus);
    render(draw(performance.now()), row);
    const place = () => {
      const holder = cell.querySelector(".lmc-code.running")?.closest(".jp-OutputArea-child");
      if (holder && row.parentElement !== holder) holder.append(row);
      setStands(row.isConnected);
    };
    const drawn = new MutationObserver(place); // the card may come after what says that it runs
    drawn.observe(cell, { childList: true, subtree: true });
    place();
    return () => {
      drawn.disconnect();
      render(null, row);
      row.remove();
      setStands(false);
    };
  }, [runs]);
  return stands;
}

/** Whether the kernel that would have to answer has ended. */
function useEnded(wire: Wire): boolean {
  const [ended, setEnded] = useState(false);
  useLayoutEffect(() => wire.onEnd(() => setEnded(true)), []);
  return ended;
}

function Ask({ wire, transport, trusted }: Props): VNode | null {
  const [ask, setAsk] = useState<CellAsk | null>(null);
  const hasEnded = useEnded(wire);
  useLayoutEffect(() => {
    const undo = wire.onMessage((content) => {
      const message = content as FromKernel;
      if (message?.kind === "ask") setAsk((now) => (now?.proposal === message.proposal ? now : message));
    });
    void transport.tell({ kind: "ready" });
    return undo;
  }, []);
  if (!ask) return null;
  const { proposal, digest } = ask;
  return (
    <QuestionCard
      key={proposal}
      question={ask}
      ended={hasEnded}
      trusted={trusted}
      decide={(decision) => transport.tell({ kind: "decision", proposal, digest, ...decision })}
      effects={(code) => transport.request({ kind: "effects", proposal, code })}
    />
  );
}
