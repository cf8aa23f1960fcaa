/**
 * The way to the kernel: a message is said until the kernel has heard it.
 *
 * One rule: it knows one comm and nothing of what is said there. Two ways lead to the kernel: the
 * comm exists everywhere but waits while a cell runs; the control channel is read at once but only
 * some front ends show it. What is small goes both ways at once (the kernel knows it by its id),
 * what is large by the comm first.
 */

type Content = Record<string, unknown>;
type Letter = Content & { id: string };

/** What a front end gives us: a custom message each way, and its kernel where it shows it. */
export interface Wire {
  send(content: Content): void;
  /** Returns what takes the callback away. */
  onMessage(callback: (content: unknown, buffers: readonly ArrayBuffer[]) => void): () => void;
  /** Says it on the control channel; resolves once the kernel took it. Null where there is none. */
  control(): Promise<((content: Content) => Promise<boolean>) | null>;
  /**
   * Calls back once the kernel has ended or is restarted, where the front end says so: nobody
   * answers any more. Returns what takes the callback away.
   */
  onEnd(callback: () => void): () => void;
  /** Calls back whenever the kernel's connection is there again, where the front end says so. */
  onConnected(callback: () => void): () => void;
}

/** As much as we use of JupyterLab's kernel connection to say something on the control channel. */
export interface Controlled {
  clientId: string;
  username: string;
  sendControlMessage?(message: object, expectReply: boolean, disposeOnDone: boolean): { done: Promise<unknown> };
}

const TRIES = 5;
const ACK_MS = 1_500;
const LARGE = 32_000; // characters
const LARGE_ACK_MS = 30_000;
const COMM_FIRST_MS = 400;

export function freshId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What says something to this comm on the control channel; null where the front end shows none. */
export function controlOf(kernel: Controlled | null, comm: unknown): Awaited<ReturnType<Wire["control"]>> {
  if (typeof kernel?.sendControlMessage !== "function") return null;
  const say = kernel.sendControlMessage.bind(kernel);
  return async (content) => {
    const message = {
      header: {
        date: new Date().toISOString(),
        msg_id: freshId(),
        msg_type: "lmc_request",
        session: kernel.clientId,
        username: kernel.username,
        version: "5.3",
      },
      parent_header: {},
      metadata: {},
      buffers: [],
      channel: "control",
      content: { comm_id: comm, content },
    };
    return isOk(await say(message, true, true).done);
  };
}

function isOk(reply: unknown): boolean {
  const content = (reply as { content?: { status?: unknown } } | null)?.content;
  return content?.status === "ok";
}

/** What goes to one comm of the kernel. */
export class Mail {
  readonly #wire: Pick<Wire, "send" | "control">;
  readonly #acks = new Map<string, () => void>();
  #controls = false;
  #closed = false;

  constructor(wire: Pick<Wire, "send" | "control">) {
    this.#wire = wire;
  }

  /** Say it until the kernel has heard it. Resolves to whether it did. */
  async say(message: Letter): Promise<boolean> {
    if (JSON.stringify(message).length > LARGE) return this.#sayLarge(message);
    for (let tries = 0; tries < TRIES && !this.#closed; tries++) {
      const heard = this.#acknowledged(message.id, ACK_MS);
      this.#wire.send(message);
      void this.#byControl(message);
      if (await heard) return true;
    }
    return false;
  }

  /** Polls and hints: the next one comes anyway, so once is enough, and one way if it works. */
  once(message: Letter, bothWays: boolean): void {
    const worked = this.#controls;
    this.#controls = false; // until the reply: if that stays away, the next one goes both ways
    if (!worked || bothWays) this.#wire.send(message);
    void this.#byControl(message);
  }

  /** The kernel acknowledges the message of this id. */
  heard(id: string): void {
    this.#acks.get(id)?.();
  }

  close(): void {
    this.#closed = true;
    this.#acks.clear();
  }

  /** By the comm first: usually that is enough, and it need not travel twice. */
  async #sayLarge(message: Letter): Promise<boolean> {
    for (let tries = 0; tries < 2 && !this.#closed; tries++) {
      const soon = this.#acknowledged(message.id, COMM_FIRST_MS);
      this.#wire.send(message);
      if (await soon) return true;
      const heard = this.#acknowledged(message.id, LARGE_ACK_MS);
      void this.#byControl(message);
      if (await heard) return true;
    }
    return false;
  }

  async #byControl(message: Letter): Promise<void> {
    try {
      const control = await this.#wire.control();
      if (control === null || this.#closed) return;
      this.#controls = await control(message);
      if (this.#controls) this.heard(message.id);
    } catch {
      this.#controls = false; // a lost reply: the comm, or the next try, says it again
    }
  }

  #acknowledged(id: string, within: number): Promise<boolean> {
    return new Promise((resolve) => {
      const over = (heard: boolean) => {
        clearTimeout(timer);
        this.#acks.delete(id);
        resolve(heard);
      };
      const timer = setTimeout(() => over(false), within);
      this.#acks.set(id, () => over(true));
    });
  }
}
