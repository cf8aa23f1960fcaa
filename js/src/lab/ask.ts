/**
 * Asks a kernel for its one panel.
 *
 * One rule: it runs nothing that a person would see, and asks beside a running cell where it can.
 */

import type { Kernel } from "@jupyterlab/services";

const PATIENCE_MS = 1_000;

/** What the kernel answered: its panel, or why there is none. */
export type Answer =
  | { kind: "panel"; model: string }
  | { kind: "missing" }
  | { kind: "old" }
  | { kind: "again" }
  | { kind: "error"; text: string };

/**
 * Ask the kernel for its panel; while a cell runs, on a subshell where there are such.
 *
 * The status is not to be relied on: every message that is handled meanwhile ends with "idle". So
 * a subshell is asked as well when there is no answer for a while; the kernel has one panel.
 */
export async function ask(kernel: Kernel.IKernelConnection, again: boolean): Promise<Answer> {
  if (!kernel.supportsSubshells) return askOn(kernel, null, again);
  if (kernel.status === "busy") return askSubshell(kernel, again);
  const main = askOn(kernel, null, again);
  let timer: number | undefined;
  const beside = new Promise<Answer>((resolve, reject) => {
    timer = window.setTimeout(() => askSubshell(kernel, again).then(resolve, reject), PATIENCE_MS);
  });
  try {
    return await Promise.race([main, beside]);
  } finally {
    window.clearTimeout(timer);
    main.catch(() => undefined); // the other one has answered; this may be cut off by a restart
    beside.catch(() => undefined);
  }
}

/** On a subshell of its own, which then stays: the panel's messages may go there. */
async function askSubshell(kernel: Kernel.IKernelConnection, again: boolean): Promise<Answer> {
  const subshell = (await kernel.requestCreateSubshell({}).done).content;
  return askOn(kernel, subshell.subshell_id ?? null, again);
}

/** By an empty execution: no history, no name, no output. */
async function askOn(
  kernel: Kernel.IKernelConnection,
  subshell: string | null,
  again: boolean,
): Promise<Answer> {
  const fresh = again ? "__import__('importlib').invalidate_caches() or " : "";
  const before = kernel.subshellId;
  kernel.subshellId = subshell; // the request is made of it at once
  const future = kernel.requestExecute({
    code: "",
    silent: true,
    store_history: false,
    allow_stdin: false,
    user_expressions: { panel: `${fresh}__import__('lmc_jupyter').panel_model_id()` },
  });
  kernel.subshellId = before;
  const reply = (await future.done).content;
  if (reply.status !== "ok") return { kind: "again" }; // aborted, by an error before it
  const value = reply.user_expressions.panel as {
    status?: string;
    ename?: string;
    evalue?: string;
    data?: { "text/plain"?: string };
  };
  const model = /^'([\w-]+)'$/.exec(value.data?.["text/plain"] ?? "")?.[1];
  if (model !== undefined) return { kind: "panel", model };
  const { ename = "", evalue = "" } = value;
  if (ename === "ModuleNotFoundError" && evalue.includes("'lmc_jupyter'")) {
    return { kind: "missing" };
  }
  if (ename === "AttributeError" && evalue.includes("panel_model_id")) return { kind: "old" };
  return { kind: "error", text: `${ename}: ${evalue}` };
}
