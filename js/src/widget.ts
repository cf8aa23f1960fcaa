/**
 * The anywidget adapter: the same parts for the panel and for the live buttons of a `%%lmc` cell.
 *
 * One rule: everything that touches a front end's own objects is here, guarded, since each of
 * them shows something else of itself. `initialize` must be quick: what comes in its first two
 * seconds is lost else.
 */

import { controlOf, freshId, type Controlled, type Wire } from "./mail";
import { mountAsk, mountBar, mountPage } from "./panel/cell";
import { mountPanel } from "./panel";
import { showsWidgets, type WidgetModel, type Widgets } from "./widgets";

/** As much as we use of anywidget's model. */
interface Model {
  get(name: "kind" | "own_id"): unknown;
  on(name: "msg:custom", callback: (content: unknown, buffers: unknown) => void): void;
  off(name: "msg:custom", callback: (content: unknown, buffers: unknown) => void): void;
  send(content: object, callbacks?: object, buffers?: ArrayBuffer[]): void;
  widget_manager?: Widgets;
}

interface Signal {
  connect(slot: (kernel: unknown, status: string) => void): unknown;
  disconnect(slot: (kernel: unknown, status: string) => void): unknown;
}

/** Also of a kernel that dies and is started again: JupyterLab says "restarting" first. */
const ENDED = ["restarting", "autorestarting", "starting", "terminating", "dead"];

/** As much as we use of JupyterLab's kernel connection. */
interface Kernel extends Controlled {
  statusChanged?: Signal;
  connectionStatusChanged?: Signal;
}

interface WithKernel extends WidgetModel {
  widget_manager?: Widgets & { kernel?: Kernel | null };
}

interface Context {
  model: Model;
  el: HTMLElement;
  signal?: AbortSignal;
}

async function wholeOf(model: Model): Promise<WithKernel | undefined> {
  try {
    const whole = await model.widget_manager?.get_model?.(String(model.get("own_id")));
    return whole as WithKernel | undefined;
  } catch {
    return undefined; // a front end that does not show its kernel: the comm is the way
  }
}

async function kernelOf(model: Model): Promise<Kernel | null> {
  return (await wholeOf(model))?.widget_manager?.kernel ?? null;
}

function wireOf(model: Model): Wire {
  return {
    send: (content) => model.send(content),
    onMessage(callback) {
      const on = (content: unknown, buffers: unknown) => callback(content, buffersOf(buffers));
      model.on("msg:custom", on);
      return () => model.off("msg:custom", on);
    },
    async control() {
      return controlOf(await kernelOf(model), model.get("own_id"));
    },
    onEnd: (callback) => watchStatus(model, "statusChanged", ENDED, callback),
    onConnected: (callback) => watchStatus(model, "connectionStatusChanged", ["connected"], callback),
  };
}

/** Calls back whenever the kernel's signal says one of these, and at once of a comm that has ended. */
function watchStatus(
  model: Model,
  name: "statusChanged" | "connectionStatusChanged",
  wanted: readonly string[],
  callback: () => void,
): () => void {
  let [over, undo] = [false, () => undefined as unknown];
  void wholeOf(model).then((whole) => {
    if (over || !whole) return;
    if (whole.comm_live === false && wanted === ENDED) return callback(); // drawn again after the end
    const signal = whole.widget_manager?.kernel?.[name];
    const slot = (_: unknown, status: string) => {
      if (wanted.includes(status)) callback();
    };
    if (typeof signal?.connect !== "function") return;
    signal.connect(slot);
    undo = () => signal.disconnect(slot);
  });
  return () => {
    over = true;
    undo();
  };
}

/** Front ends give ArrayBuffers or views of them. */
function buffersOf(buffers: unknown): ArrayBuffer[] {
  if (!Array.isArray(buffers)) return [];
  return buffers.flatMap((buffer: unknown) => {
    if (buffer instanceof ArrayBuffer) return [buffer];
    if (!ArrayBuffer.isView(buffer)) return [];
    const bytes = new Uint8Array(buffer.byteLength);
    bytes.set(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength));
    return [bytes.buffer];
  });
}

export default {
  initialize({ model }: { model: Model }): void {
    // a cell's buttons say at once that somebody is here; a panel asks when it is drawn
    if (model.get("kind") !== "panel") model.send({ kind: "hello", id: freshId() });
  },
  render({ model, el, signal }: Context): () => void {
    const kind = model.get("kind");
    const mounts: Record<string, typeof mountPage> = { bar: mountBar, ask: mountAsk, page: mountPage };
    const mount = mounts[String(kind)] ?? mountPanel;
    const widget = showsWidgets(model.widget_manager, model.get("own_id"));
    const unmount = mount(el, wireOf(model), widget ? { widget } : {});
    let over = false;
    const end = () => {
      if (over) return;
      over = true;
      unmount();
    };
    signal?.addEventListener("abort", end);
    return end;
  },
};
