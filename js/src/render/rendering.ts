/**
 * What every renderer of a message type is, and what it may use of the world around it.
 *
 * One rule: foreign text becomes nodes by `textContent` only; HTML of others goes into the nested
 * sandbox (sandbox.ts), and nowhere else.
 */

import type { Chunk } from "../lmc";
import type { AssetName, Page } from "../protocol";

/** What a rendering may use of the world around it; every part that is optional may be missing. */
export interface Host {
  /** A file of the package, as bytes. */
  asset(name: AssetName): Promise<ArrayBuffer>;
  /** Show an image large. */
  openImage(image: HTMLImageElement): void;
  /** The whole text of a console whose middle is not here. */
  wholeConsole?(): Promise<string>;
  /** Of HTML that the computer shows: takes its report where the kernel waits for one; "heard" after that. */
  page?(): ((page: Page) => void) | "heard" | null;
  /** It is a record of the past: its scripts run when a person asks for it. */
  isPast?: boolean;
}

/** One message on the screen, growing. */
export interface Rendering {
  readonly element: HTMLElement;
  /** More content; `cut` characters before it were left out. */
  push(text: string, cut?: number): void;
  /** The line that runs now: a code block marks it, others ignore it. */
  line(active: number | null): void;
  /** Other content in place of all there was, such as code that the person edited. */
  replace(content: string): void;
  /** The message is whole. */
  end(): void;
  /** It leaves the screen. */
  dispose(): void;
}

/** Begins the rendering of one message; `head` is the chunk that opened it. */
export type Renderer = (head: Chunk, host: Host) => Rendering;

/** An element with a class and children; text becomes text. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  css = "",
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  if (css) node.className = css;
  node.append(...children);
  return node;
}

/** A sentence of ours in place of something that cannot be shown. */
export function sentence(text: string): HTMLElement {
  return el("p", "lmc-note", text);
}

export function button(label: string, onclick: (event: MouseEvent) => void): HTMLButtonElement {
  const node = el("button", "lmc-small", label);
  node.type = "button";
  node.addEventListener("click", onclick);
  return node;
}

/** What scrolls in itself can be reached and scrolled by keyboard. */
export function scrolls(node: HTMLElement, label: string): void {
  node.tabIndex = 0;
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", label);
}

/** What an error says. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What has the focus in the tree of this node: that of the page, or of a shadow root. */
export function focusIn(node: Node | null | undefined): Element | null {
  const tree = node?.getRootNode();
  return tree instanceof Document || tree instanceof ShadowRoot ? tree.activeElement : null;
}

/** 1234567 -> "1,234,567" */
export function count(number: number): string {
  return number.toLocaleString("en-US");
}

/** "3,000,000 characters left out", for a text whose middle is not shown. */
export function leftOut(characters: number): string {
  return `… ${count(characters)} character${characters === 1 ? "" : "s"} left out …`;
}

/**
 * A rendering that draws nothing until its message is whole: an image, a file, an audio clip.
 *
 * `draw` gets all of the content, and `place` to put nodes into; it runs again after `replace`.
 */
export function atOnce(css: string, draw: (content: string, place: HTMLElement) => void): Rendering {
  const element = el("div", css);
  let content = "";
  let whole = false;
  const redraw = () => {
    element.replaceChildren();
    draw(content, element);
  };
  return {
    element,
    push(text) {
      content += text;
      if (whole) redraw();
    },
    line: () => undefined,
    replace(text) {
      content = text;
      if (whole) redraw();
    },
    end() {
      if (whole) return;
      whole = true;
      redraw();
    },
    dispose: () => element.replaceChildren(),
  };
}
