/**
 * What agents outside of a notebook do there, beside the panel: their code that waits where nobody
 * sees it, and the cells that they add.
 *
 * One rule: nothing runs from here. A notification leads to the card, and a cell is only inserted;
 * it is one of code, since JupyterLab renders Markdown at once, and fetches its pictures.
 */

import type { Notification } from "@jupyterlab/apputils";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import type { TranslationBundle } from "@jupyterlab/translation";

import { controlOf, freshId, Mail } from "../mail";
import type { Added, OfAgent } from "../protocol";
import { hidden, visible } from "../render/hidden";
import { originOf } from "./origin";

/** See `lmc_jupyter/kernel/`: whoever opens it is the kernel. */
export const TARGET = "lmc-jupyter:agents";
const SHOWN_MS = 5_000;
const LONGEST_NAME = 60; // characters

type SessionContext = NotebookPanel["sessionContext"];
type Comm = Kernel.IComm;

export interface Place {
  tracker: Pick<INotebookTracker, "currentWidget" | "find" | "forEach" | "widgetAdded">;
  notifications: Pick<typeof Notification, "emit" | "dismiss">;
  trans: TranslationBundle;
  /** Whether the panel of this notebook is in sight. */
  isInSight(notebook: NotebookPanel): boolean;
  /** Bring this notebook to the front, and the card of its panel. */
  showCard(notebook: NotebookPanel): Promise<void>;
  /** Bring this notebook to the front. */
  activate(notebook: NotebookPanel): void;
}

/** The notification of code that waits: its id, and the comm whose end takes it away. */
interface Note {
  id: string;
  comm: Comm;
}

/** Hears the kernels of all notebooks; one notebook has one notification at most. */
export class Agents {
  private readonly notes = new Map<SessionContext, Note>();

  constructor(private readonly place: Place) {
    place.tracker.forEach((notebook) => this.follow(notebook));
    place.tracker.widgetAdded.connect((_, notebook) => this.follow(notebook));
  }

  /** The panel of this notebook has come into sight: who looks at the card needs no notification. */
  seen(notebook: NotebookPanel): void {
    this.dismiss(notebook.sessionContext);
  }

  /** Hear each kernel that this notebook has; what a kernel was told stays after a restart. */
  private follow({ sessionContext, disposed }: NotebookPanel): void {
    const listen = () => {
      const kernel = sessionContext.session?.kernel;
      if (!kernel?.handleComms) return; // another connection to the same kernel hears it
      kernel.registerCommTarget(TARGET, (comm, { content }) => {
        this.hear(sessionContext, kernel, comm, content.data as unknown as OfAgent);
      });
      void this.find(sessionContext, kernel);
    };
    sessionContext.kernelChanged.connect(() => {
      this.dismiss(sessionContext);
      listen();
    });
    sessionContext.statusChanged.connect((_, status) => {
      // whoever asked is gone, and says no good-bye
      if (["restarting", "autorestarting", "terminating", "dead"].includes(status)) this.dismiss(sessionContext);
    });
    disposed.connect(() => {
      if (this.notebookOf(sessionContext) === null) this.dismiss(sessionContext);
    });
    listen();
  }

  private hear(context: SessionContext, kernel: Kernel.IKernelConnection, comm: Comm, data: OfAgent): void {
    const notebook = this.notebookOf(context);
    if (data.kind === "asks") {
      if (notebook !== null) this.ask(notebook, comm, data.agent);
    } else if (data.kind === "add") {
      answer(kernel, comm, this.add(notebook, data));
    }
  }

  /** Code may wait since before this page was loaded: its comm is there, which does not tell whose it is. */
  private async find(context: SessionContext, kernel: Kernel.IKernelConnection): Promise<void> {
    const reply = await kernel.requestCommInfo({ target_name: TARGET }).catch(() => null); // null: it has ended
    if (reply?.content.status !== "ok" || context.session?.kernel !== kernel) return;
    for (const id of Object.keys(reply.content.comms)) {
      const notebook = this.notebookOf(context);
      if (notebook !== null && !kernel.hasComm(id)) this.ask(notebook, kernel.createComm(TARGET, id), "");
    }
  }

  /** A notebook may have two views: the one in front, else any. */
  private notebookOf(context: SessionContext): NotebookPanel | null {
    const isIts = (each: NotebookPanel) => each.sessionContext === context && !each.isDisposed;
    const { currentWidget, find } = this.place.tracker;
    if (currentWidget && isIts(currentWidget)) return currentWidget;
    return find.call(this.place.tracker, isIts) ?? null;
  }

  /** Say that code waits where its card is not in sight, until it waits no longer. */
  private ask(notebook: NotebookPanel, comm: Comm, agent: string): void {
    const { trans, notifications, isInSight, showCard } = this.place;
    const { sessionContext } = notebook;
    if (isInSight(notebook)) return;
    this.dismiss(sessionContext);
    const id = notifications.emit(
      trans.__("%1 wants to run code in %2.", nameOf(agent), fileOf(notebook)),
      "warning",
      {
        autoClose: false,
        actions: [
          {
            label: trans.__("Show the code"),
            displayType: "accent",
            callback: () => {
              const shown = this.notebookOf(sessionContext);
              if (shown !== null) void showCard(shown);
            },
          },
        ],
      },
    );
    this.notes.set(sessionContext, { id, comm });
    comm.onClose = () => {
      if (this.notes.get(sessionContext)?.comm === comm) this.dismiss(sessionContext);
    };
  }

  private dismiss(context: SessionContext): void {
    const note = this.notes.get(context);
    if (note === undefined) return;
    this.notes.delete(context);
    this.place.notifications.dismiss(note.id);
  }

  /** Insert a cell of code below the active one; what the person writes and has selected stays as it is. */
  private add(notebook: NotebookPanel | null, { agent, source }: Extract<OfAgent, { kind: "add" }>): Added {
    const { trans } = this.place;
    const model = notebook?.content.model;
    if (!notebook || !model) return { kind: "refused", why: trans.__("The notebook is not open yet.") };
    if (model.readOnly) return { kind: "refused", why: trans.__("The notebook is read-only.") };
    const { content } = notebook;
    const at = content.activeCell ? content.activeCellIndex + 1 : content.widgets.length;
    const lmc = originOf(source, { model: agent, turn: "", decision: "shown", edited: false });
    const added = { cell_type: "code", source, metadata: { lmc } };
    const cell = alone(model.sharedModel, () => model.sharedModel.insertCell(at, added));
    const scroll = (align: "auto" | "center") => void content.scrollToItem(at, align).catch(() => undefined); // it has gone
    if (!isTyping()) scroll("auto");
    const said = trans.__("%1 added a cell to %2.", nameOf(agent), fileOf(notebook));
    const marks = hidden(source);
    const warning = marks ? ` ${trans.__("It has hidden characters (%1).", marks)}` : "";
    this.place.notifications.emit(said + warning, marks ? "warning" : "info", {
      autoClose: marks ? false : SHOWN_MS,
      actions: [{ label: trans.__("Show"), callback: () => this.showCell(notebook, cell.id) }],
    });
    return { kind: "added", cell: cell.id };
  }

  private showCell(notebook: NotebookPanel, id: string): void {
    if (notebook.isDisposed) return;
    const { content } = notebook;
    const at = content.widgets.findIndex(({ model }) => model.id === id);
    this.place.activate(notebook);
    if (at < 0) return; // it was undone
    content.deselectAll();
    content.activeCellIndex = at;
    content.scrollToItem(at, "center").catch(() => undefined); // it has gone meanwhile
  }
}

/** Say it by the comm and beside it, as widgets do, so that it comes while a cell runs. */
function answer(kernel: Kernel.IKernelConnection, comm: Comm, content: Added): void {
  const mail = new Mail({
    send: (letter) => {
      if (!comm.isDisposed) comm.send({ method: "custom", content: letter } as Parameters<Comm["send"]>[0]);
    },
    control: async () => controlOf(kernel as unknown as Parameters<typeof controlOf>[0], comm.commId),
  });
  comm.onMsg = ({ content: { data } }) => {
    const { kind, of } = (data["content"] ?? {}) as { kind?: unknown; of?: unknown };
    if (kind === "ack" && typeof of === "string") mail.heard(of);
  };
  comm.onClose = () => mail.close();
  void mail.say({ ...content, id: freshId() });
}

/** One undo takes away what this does, and nothing that was done right before. */
function alone<T>(model: object, change: () => T): T {
  const { undoManager } = model as { undoManager?: { stopCapturing?(): void } };
  undoManager?.stopCapturing?.();
  const made = change();
  undoManager?.stopCapturing?.();
  return made;
}

function isTyping(): boolean {
  const active = document.activeElement;
  return active instanceof HTMLElement && (active.isContentEditable || active.matches("input, textarea, .cm-content"));
}

function nameOf(agent: string): string {
  const name = visible(agent).trim() || "An agent";
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
}

function fileOf({ context }: NotebookPanel): string {
  return visible(context.path.slice(context.path.lastIndexOf("/") + 1));
}
