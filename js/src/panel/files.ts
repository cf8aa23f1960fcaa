/**
 * A conversation as a file: what the browser saves, and what a person opens.
 *
 * One rule: the kernel writes and reads the formats; here bytes only pass through, and nothing of
 * a file is looked at.
 */

import { Refused, type Transport } from "../transport";
import { size, WORDS } from "../words";
import { dataUrl, MAX_BYTES } from "./attach";

/** What a conversation can be saved as: the kernel's name of the format, and a person's. */
export const FORMATS: readonly { format: string; label: string; hint: string }[] = [
  { format: "notebook", label: WORDS.asNotebook, hint: ".ipynb" },
  { format: "markdown", label: WORDS.asMarkdown, hint: ".md" },
  { format: "lmc", label: WORDS.asLmc, hint: ".json" },
  { format: "glm-yaml", label: WORDS.asGlm, hint: ".glm.yaml" },
  { format: "openai", label: WORDS.asOpenAI, hint: ".openai.json" },
];

const KEPT_MS = 60_000; // the browser may still be reading it after the click

/** Have the browser save it. Resolves to what a person should know. */
export async function saveAs(transport: Transport, format: string, near: Element): Promise<string> {
  let file: ArrayBuffer | undefined;
  const { name, mime, lost } = await transport.request({ kind: "export", format }, (buffers) => {
    file = buffers[0];
  });
  if (!file) throw new Error(WORDS.noFile(name));
  const url = URL.createObjectURL(new Blob([file], { type: mime }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.hidden = true;
  near.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
  return [WORDS.saved(name), ...lost].join("\n");
}

/** Go on from the conversation in this file. Resolves to what a person should know. */
export async function openFile(transport: Transport, file: File): Promise<string> {
  const { name } = file;
  if (file.size > MAX_BYTES) throw new Error(WORDS.fileTooBig(name, size(file.size), size(MAX_BYTES)));
  let url: string;
  try {
    url = await dataUrl(file);
  } catch {
    throw new Error(WORDS.fileUnreadable(name));
  }
  const data = url.slice(url.indexOf(",") + 1);
  const lost = await transport.request({ kind: "import", name, data }).catch((error: unknown) => {
    if (!(error instanceof Refused) || error.message.includes(name)) throw error;
    throw new Error(WORDS.fileRefused(name, error.message)); // which of the files it was
  });
  return [WORDS.openedFile(name), ...lost].join("\n");
}

