import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Agents, TARGET, type Place } from "../../src/lab/agents";
import type { OfAgent } from "../../src/protocol";

class Signal<T> {
  readonly #slots: ((sender: unknown, value: T) => void)[] = [];
  connect(slot: (sender: unknown, value: T) => void): boolean {
    this.#slots.push(slot);
    return true;
  }
  emit(value: T): void {
    for (const slot of this.#slots) slot(null, value);
  }
}

interface Letter {
  kind: string;
  id: string;
  cell?: string;
  why?: string;
}

class FakeComm {
  readonly targetName = TARGET;
  isDisposed = false;
  readonly sent: Letter[] = [];
  onMsg: (message: { content: { data: unknown } }) => void = () => undefined;
  onClose: () => void = () => undefined;
  constructor(readonly commId = "comm-1") {}
  send({ method, content }: { method: string; content: Letter }): void {
    expect(method).toBe("custom");
    this.sent.push(content);
  }
  /** The kernel says that it has heard this. */
  acknowledge({ id }: Letter): void {
    this.onMsg({ content: { data: { method: "custom", content: { kind: "ack", of: id } } } });
  }
}

type Hear = (comm: FakeComm, message: { content: { data: OfAgent } }) => void;

class FakeKernel {
  clientId = "page";
  username = "person";
  readonly targets = new Map<string, Hear>();
  readonly byControl: { content: { comm_id: string; content: Letter } }[] = [];
  readonly comms = new Map<string, FakeComm>();
  controlAnswers = false;
  constructor(
    readonly handleComms = true,
    /** What waits in it already; null: it ends before it tells. */
    private readonly waiting: string[] | null = [],
  ) {}
  requestCommInfo({ target_name }: { target_name: string }): Promise<unknown> {
    if (this.waiting === null) return Promise.reject(new Error("Canceled future for comm_info_request"));
    const comms = Object.fromEntries(this.waiting.map((id) => [id, { target_name }]));
    return Promise.resolve({ content: { status: "ok", comms } });
  }
  hasComm(id: string): boolean {
    return this.comms.has(id);
  }
  createComm(target: string, id: string): FakeComm {
    expect([target, this.hasComm(id)]).toEqual([TARGET, false]);
    const comm = new FakeComm(id);
    this.comms.set(id, comm);
    return comm;
  }
  registerCommTarget(name: string, hear: Hear): void {
    this.targets.set(name, hear);
  }
  sendControlMessage(message: { content: { comm_id: string; content: Letter } }): { done: Promise<unknown> } {
    this.byControl.push(message);
    return { done: this.controlAnswers ? Promise.resolve({ content: { status: "ok" } }) : new Promise(() => undefined) };
  }
  /** It opens a comm. */
  say(data: OfAgent, comm = new FakeComm()): FakeComm {
    this.comms.set(comm.commId, comm);
    this.targets.get(TARGET)?.(comm, { content: { data } });
    return comm;
  }
}

interface Cell {
  id: string;
  cell_type: string;
  source: string;
}

class FakeNotebook {
  isDisposed = false;
  readonly disposed = new Signal<undefined>();
  readonly sessionContext;
  readonly context: { path: string };
  readonly cells: Cell[] = [{ id: "c0", cell_type: "code", source: "" }, { id: "c1", cell_type: "code", source: "" }];
  readonly scrolled: string[] = [];
  readonly content;
  stops = 0;

  constructor(path = "folder/analysis.ipynb", kernel: FakeKernel | null = new FakeKernel()) {
    const cells = this.cells;
    this.context = { path };
    this.sessionContext = {
      session: kernel && { kernel },
      kernelChanged: new Signal<undefined>(),
      statusChanged: new Signal<string>(),
    };
    this.content = {
      activeCellIndex: 0,
      get activeCell() {
        return cells[this.activeCellIndex];
      },
      get widgets() {
        return cells.map(({ id }) => ({ model: { id } }));
      },
      deselectAll: () => undefined,
      scrollToItem: (at: number, align: string) => {
        this.scrolled.push(`${at} ${align}`);
        return Promise.resolve();
      },
      model: {
        readOnly: false,
        sharedModel: {
          undoManager: {
            stopCapturing: () => {
              this.stops += 1;
            },
          },
          insertCell: (at: number, { cell_type, source }: Omit<Cell, "id">) => {
            const cell = { id: `new${cells.length}`, cell_type, source };
            cells.splice(at, 0, cell);
            return cell;
          },
        },
      },
    };
  }

  get kernel(): FakeKernel {
    if (!this.sessionContext.session) throw new Error("this notebook has no kernel");
    return this.sessionContext.session.kernel;
  }

  sources(): string[] {
    return this.cells.map(({ source }) => source);
  }
}

interface Shown {
  id: string;
  message: string;
  type: string;
  autoClose: number | false;
  actions: { label: string; callback: () => void }[];
}

let shown: Shown[];
let did: string[];
let inSight: FakeNotebook | null;
let tracker: { currentWidget: FakeNotebook | null; all: FakeNotebook[]; widgetAdded: Signal<FakeNotebook> };
let agents: Agents;

function open(...all: FakeNotebook[]): void {
  tracker = { currentWidget: all[0] ?? null, all, widgetAdded: new Signal() };
  const place = {
    tracker: {
      get currentWidget() {
        return tracker.currentWidget;
      },
      widgetAdded: tracker.widgetAdded,
      find: (isIt: (each: FakeNotebook) => boolean) => tracker.all.find(isIt),
      forEach: (act: (each: FakeNotebook) => void) => tracker.all.forEach(act),
    },
    notifications: {
      emit: (message: string, type: string, options: Pick<Shown, "autoClose" | "actions">) => {
        const id = `n${did.length}${shown.length}`;
        shown.push({ id, message, type, ...options });
        return id;
      },
      dismiss: (id: string) => {
        shown = shown.filter((each) => each.id !== id);
      },
    },
    trans: { __: (text: string, ...values: unknown[]) => text.replace(/%(\d)/g, (_, n: string) => String(values[Number(n) - 1])) },
    isInSight: (notebook: FakeNotebook) => notebook === inSight,
    showCard: (notebook: FakeNotebook) => did.push(`card of ${notebook.context.path}`),
    activate: (notebook: FakeNotebook) => did.push(`to ${notebook.context.path}`),
  };
  agents = new Agents(place as unknown as Place);
}

const ASKS: OfAgent = { kind: "asks", agent: "Claude Code" };
const ADD: OfAgent = { kind: "add", agent: "Claude Code", source: "print(1)" };
const settled = () => new Promise((resolve) => setTimeout(resolve));
const messages = () => shown.map(({ message }) => message);

beforeEach(() => {
  [shown, did, inSight] = [[], [], null];
});

describe("code of an agent that waits", () => {
  it("is told of where its card is not in sight, until it waits no longer", () => {
    const notebook = new FakeNotebook();
    open(notebook);
    const comm = notebook.kernel.say(ASKS);
    expect(messages()).toEqual(["Claude Code wants to run code in analysis.ipynb."]);
    expect(shown[0]).toMatchObject({ type: "warning", autoClose: false });
    expect(shown[0]?.actions.map(({ label }) => label)).toEqual(["Show the code"]);
    shown[0]?.actions[0]?.callback();
    expect(did).toEqual(["card of folder/analysis.ipynb"]);
    comm.onClose();
    expect(shown).toEqual([]);
  });

  it("is not told of where the card is in sight", () => {
    const notebook = new FakeNotebook();
    open(notebook);
    inSight = notebook;
    notebook.kernel.say(ASKS);
    expect(shown).toEqual([]);
  });

  it("is not told of any more once the person looks at the card", () => {
    const [one, other] = [new FakeNotebook("one.ipynb"), new FakeNotebook("other.ipynb")];
    open(one, other);
    one.kernel.say(ASKS);
    other.kernel.say(ASKS);
    agents.seen(one as unknown as Parameters<typeof agents.seen>[0]);
    expect(messages()).toEqual(["Claude Code wants to run code in other.ipynb."]);
  });

  it("has one notification for each notebook, that of the last who asked", () => {
    const [one, other] = [new FakeNotebook("one.ipynb"), new FakeNotebook("other.ipynb")];
    open(one, other);
    const first = one.kernel.say(ASKS);
    one.kernel.say({ kind: "asks", agent: "Codex" });
    other.kernel.say(ASKS);
    first.onClose(); // late: it is not shown any more
    expect(messages()).toEqual(["Codex wants to run code in one.ipynb.", "Claude Code wants to run code in other.ipynb."]);
  });

  it.each(["restarting", "autorestarting", "terminating", "dead"])("goes when the kernel is %s", (status) => {
    const notebook = new FakeNotebook();
    open(notebook);
    notebook.kernel.say(ASKS);
    notebook.sessionContext.statusChanged.emit("busy");
    expect(shown).toHaveLength(1);
    notebook.sessionContext.statusChanged.emit(status);
    expect(shown).toEqual([]);
    notebook.kernel.say(ASKS); // the restarted one
    expect(shown).toHaveLength(1);
  });

  it("goes with the notebook, but not with one of its two views", () => {
    const notebook = new FakeNotebook();
    const view = new FakeNotebook();
    Object.assign(view, { sessionContext: notebook.sessionContext });
    open(notebook, view);
    notebook.kernel.say(ASKS);
    view.isDisposed = true;
    view.disposed.emit(undefined);
    expect(shown).toHaveLength(1);
    notebook.isDisposed = true;
    notebook.disposed.emit(undefined);
    expect(shown).toEqual([]);
  });

  it("is told of by a page that was loaded after it had come", async () => {
    const notebook = new FakeNotebook("late.ipynb", new FakeKernel(true, ["comm-0"]));
    open(notebook);
    await settled();
    expect(messages()).toEqual(["An agent wants to run code in late.ipynb."]);
    notebook.kernel.comms.get("comm-0")?.onClose();
    expect(shown).toEqual([]);
  });

  it("is told of once, by its name, where it comes while the page asks for what waits", async () => {
    const notebook = new FakeNotebook("late.ipynb", new FakeKernel(true, ["comm-1"]));
    open(notebook);
    notebook.kernel.say(ASKS);
    await settled();
    expect(messages()).toEqual(["Claude Code wants to run code in late.ipynb."]);
  });

  it("is not told of when it waited in a kernel that has ended, or that another took the place of", async () => {
    const [ended, left] = [new FakeNotebook("a.ipynb", new FakeKernel(true, null)), new FakeNotebook("b.ipynb", new FakeKernel(true, ["x"]))];
    open(ended, left);
    Object.assign(left.sessionContext, { session: { kernel: new FakeKernel() } });
    await settled();
    expect(shown).toEqual([]);
  });

  it("names the notebook with its hidden characters marked", () => {
    const notebook = new FakeNotebook("folder/a\u202eb.ipynb");
    open(notebook);
    notebook.kernel.say(ASKS);
    expect(messages()).toEqual(["Claude Code wants to run code in a⟨U+202E⟩b.ipynb."]);
  });

  it("names the agent as text of bounded length, with its hidden characters marked", () => {
    const notebook = new FakeNotebook();
    open(notebook);
    notebook.kernel.say({ kind: "asks", agent: `<b>A\u202e</b>${"x".repeat(500)}` });
    expect(messages()[0]).toContain("<b>A⟨U+202E⟩</b>xxx");
    expect(messages()[0]?.length).toBeLessThan(110);
  });
});

describe("a kernel", () => {
  it("is heard that comes later, and in the place of another", () => {
    const notebook = new FakeNotebook("late.ipynb", null);
    open();
    tracker.all.push(notebook);
    tracker.widgetAdded.emit(notebook);
    const kernels = [new FakeKernel(), new FakeKernel()];
    for (const kernel of kernels) {
      Object.assign(notebook.sessionContext, { session: { kernel } });
      notebook.sessionContext.kernelChanged.emit(undefined);
      kernel.say(ASKS);
      expect(messages()).toEqual(["Claude Code wants to run code in late.ipynb."]);
    }
  });

  it("is heard by one of two connections", () => {
    const notebook = new FakeNotebook("second.ipynb", new FakeKernel(false));
    open(notebook);
    expect(notebook.kernel.targets.size).toBe(0);
  });
});

describe("a cell that an agent adds", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("stands below the active one, in an undo of its own; nothing else moves", () => {
    const notebook = new FakeNotebook();
    open(notebook);
    const comm = notebook.kernel.say(ADD);
    expect(notebook.sources()).toEqual(["", "print(1)", ""]);
    expect(notebook.content.activeCellIndex).toBe(0);
    expect(notebook.stops).toBe(2);
    expect(comm.sent).toEqual([{ kind: "added", cell: "new2", id: comm.sent[0]?.id }]);
    expect(shown[0]).toMatchObject({ message: "Claude Code added a cell to analysis.ipynb.", type: "info", autoClose: 5_000 });
  });

  it("is scrolled into sight unless somebody types", () => {
    const notebook = new FakeNotebook();
    open(notebook);
    notebook.kernel.say(ADD);
    expect(notebook.scrolled).toEqual(["1 auto"]);
    const field = document.createElement("textarea");
    document.body.append(field);
    field.focus();
    notebook.kernel.say(ADD);
    expect(notebook.scrolled).toEqual(["1 auto"]);
    field.remove();
  });

  it("is shown by the notification", () => {
    const notebook = new FakeNotebook();
    open(notebook);
    notebook.kernel.say({ ...ADD, source: "total" });
    expect(notebook.cells[1]).toMatchObject({ cell_type: "code", source: "total" });
    shown[0]?.actions[0]?.callback();
    expect(did).toEqual(["to folder/analysis.ipynb"]);
    expect([notebook.content.activeCellIndex, notebook.scrolled.at(-1)]).toEqual([1, "1 center"]);
    notebook.cells.splice(1, 1); // undone
    notebook.content.activeCellIndex = 0;
    shown[0]?.actions[0]?.callback();
    expect(notebook.content.activeCellIndex).toBe(0);
  });

  it("is never one of Markdown, which would be rendered at once", () => {
    const notebook = new FakeNotebook();
    open(notebook);
    notebook.kernel.say({ ...ADD, type: "markdown", source: "![](http://example.org/x.png)" } as OfAgent);
    expect(notebook.cells[1]?.cell_type).toBe("code");
  });

  it("is told of with a warning that stays, where it has hidden characters", () => {
    const notebook = new FakeNotebook();
    open(notebook);
    notebook.kernel.say({ ...ADD, source: "a\u202e = 1\u200b" });
    expect(shown[0]).toMatchObject({ type: "warning", autoClose: false });
    expect(messages()[0]).toContain("It has hidden characters (2).");
  });

  it("is answered beside the comm too, until the kernel has heard it", async () => {
    const notebook = new FakeNotebook();
    open(notebook);
    const comm = notebook.kernel.say(ADD);
    await vi.advanceTimersByTimeAsync(2_000); // nobody has heard the first
    expect(comm.sent).toHaveLength(2);
    expect(new Set([...comm.sent, ...notebook.kernel.byControl.map(({ content }) => content.content)].map(({ id }) => id)).size).toBe(1);
    expect(notebook.kernel.byControl[0]?.content.comm_id).toBe("comm-1");
    const [letter] = comm.sent;
    if (letter) comm.acknowledge(letter);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(comm.sent).toHaveLength(2);
  });

  it("is refused where the notebook is read-only or not there yet", () => {
    const notebook = new FakeNotebook();
    open(notebook);
    notebook.content.model.readOnly = true;
    const comm = notebook.kernel.say(ADD);
    expect(comm.sent[0]).toMatchObject({ kind: "refused", why: "The notebook is read-only." });
    expect([notebook.sources(), shown]).toEqual([["", ""], []]);
    Object.assign(notebook.content, { model: null });
    expect(notebook.kernel.say(ADD).sent[0]).toMatchObject({ kind: "refused" });
  });
});
