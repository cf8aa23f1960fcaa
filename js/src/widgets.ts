/**
 * Live widgets that code has shown, in the panel: by the means of the front end's own widgets.
 *
 * One rule: they are the notebook's models with one more view. What cannot be shown is not an
 * error here: the text that stands for it stays.
 */

/** As much as we use of a front end's widgets ("base-manager" of ipywidgets 7 and 8). */
export interface Widgets {
  get_model?(id: string): Promise<WidgetModel>;
  create_view?(model: WidgetModel, options?: object): Promise<WidgetView>;
}

export interface WidgetModel {
  /** False once the kernel has let go of it. */
  comm_live?: boolean;
  widget_manager?: Widgets | null;
  on?(name: string, callback: () => void): void;
  off?(name: string, callback: () => void): void;
}

interface WidgetView {
  el?: HTMLElement;
  luminoWidget?: Lumino;
  /** Of ipywidgets 7. */
  pWidget?: Lumino;
  once?(name: "remove", callback: () => void): void;
  remove?(): void;
}

/** A widget of Lumino: attached and detached by what it is told, not by what it stands in. */
interface Lumino {
  readonly node: HTMLElement;
  readonly isAttached: boolean;
  processMessage(message: object): void;
}

/**
 * Shows the widget of this model in `place`, and says so to `live`; also when it is gone again.
 * Returns what takes it away.
 */
export type ShowWidget = (id: string, place: HTMLElement, live: (now: boolean) => void) => () => void;

const ID = /^[\w-]{1,64}$/;
const TRIES = 4; // a page that was just loaded may not have its models yet
const AGAIN_MS = 1_000;

/** What shows the widgets of this front end; null where it lets nobody show them. */
export function showsWidgets(widgets: Widgets | undefined, but: unknown): ShowWidget | null {
  if (typeof widgets?.get_model !== "function" || typeof widgets.create_view !== "function") return null;
  return (id, place, live) => {
    if (!ID.test(id) || id === but) return () => undefined;
    const host = new Shown(place, live);
    void host.begin(widgets, id);
    return () => host.end();
  };
}

/** One widget in its place. */
class Shown {
  readonly #place: HTMLElement;
  readonly #live: (now: boolean) => void;
  readonly #undo: (() => void)[] = [];
  #over = false;

  constructor(place: HTMLElement, live: (now: boolean) => void) {
    this.#place = place;
    this.#live = live;
  }

  async begin(widgets: Widgets, id: string): Promise<void> {
    try {
      const model = await this.#model(widgets, id);
      if (!model || model.comm_live === false || this.#over || isNested(this.#place)) return;
      const view = await (model.widget_manager ?? widgets).create_view?.(model, {});
      if (!view) return;
      if (this.#over) removeView(view);
      else this.#show(view, model);
    } catch (error) {
      console.warn(`The widget ${id} cannot be shown in the chat.`, error);
      this.end();
    }
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    for (const undo of this.#undo.splice(0).reverse()) undo();
    this.#live(false);
  }

  async #model(widgets: Widgets, id: string): Promise<WidgetModel | undefined> {
    for (let tries = 1; !this.#over; tries++) {
      try {
        return await widgets.get_model?.(id);
      } catch (error) {
        if (tries === TRIES) return undefined; // closed, or of a kernel that is no more
        await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    }
    return undefined;
  }

  #show(view: WidgetView, model: WidgetModel): void {
    const lumino = view.luminoWidget ?? view.pWidget;
    const node = lumino?.node ?? view.el;
    if (!node) throw new Error("its view has no element");
    this.#undo.push(() => removeView(view));
    tell(lumino, "before-attach");
    this.#place.append(node);
    tell(lumino, "after-attach");
    this.#undo.push(() => {
      // its own way out insists on standing in a page, which may be gone before it
      if (lumino?.isAttached) tell(lumino, "before-detach");
      node.remove();
      if (lumino?.isAttached) tell(lumino, "after-detach");
    });
    this.#live(true);
    view.once?.("remove", () => this.end()); // it was closed
    const gone = () => {
      if (model.comm_live === false) this.end();
    };
    model.on?.("comm_live_update", gone);
    this.#undo.push(() => model.off?.("comm_live_update", gone));
    this.#watchSize(lumino);
  }

  /** Figures fit themselves to their place when they are told that it has changed. */
  #watchSize(lumino: Lumino | undefined): void {
    if (typeof ResizeObserver !== "function") return;
    const observer = new ResizeObserver(() => tell(lumino, "resize"));
    observer.observe(this.#place);
    this.#undo.push(() => observer.disconnect());
  }
}

/** A panel in a panel shows none: it could be its own. */
function isNested(place: HTMLElement): boolean {
  const inner = place.closest(".lmc-panel");
  return Boolean(inner?.parentElement?.closest(".lmc-panel"));
}

function removeView(view: WidgetView): void {
  try {
    view.remove?.();
  } catch (error) {
    console.warn("A widget could not be taken out of the chat.", error);
  }
}

/** As Lumino's MessageLoop would; what has no size in it means "measure". */
function tell(lumino: Lumino | undefined, type: string): void {
  lumino?.processMessage({ type, width: -1, height: -1, isConflatable: false, conflate: () => false });
}
