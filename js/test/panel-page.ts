/** A page with a panel on it, for tests: opens it, presses, types, looks. */

import { act } from "preact/test-utils";

import { mountPanel } from "../src/panel";
import type { Snapshot } from "../src/protocol";
import type { ShowWidget } from "../src/widgets";
import { FakeKernel, settle, snapshot } from "./panel-kernel";

/** jsdom makes no event trusted: tests say which hand it was. */
export const hand = { trusted: true };

export class Page {
  readonly kernel = new FakeKernel();
  readonly host = document.createElement("div");
  readonly #close: () => void;

  constructor(
    changes: Partial<Snapshot> = {},
    root: (host: HTMLElement) => HTMLElement = (host) => host,
    prepare: (kernel: FakeKernel) => void = () => undefined,
    widget?: ShowWidget,
  ) {
    this.kernel.state = snapshot(changes);
    prepare(this.kernel);
    document.body.append(this.host);
    let close = () => {};
    this.root = root(this.host);
    void act(() => {
      close = mountPanel(this.root, this.kernel.wire, { trusted: () => hand.trusted, ...(widget ? { widget } : {}) });
    });
    this.#close = close;
  }

  readonly root: HTMLElement;

  static async open(changes: Partial<Snapshot> = {}): Promise<Page> {
    const page = new Page(changes);
    await page.soon();
    return page;
  }

  close(): void {
    void act(() => this.#close());
    this.host.remove();
  }

  /** Until what is due has happened. */
  async soon(work: () => unknown = () => undefined): Promise<void> {
    await act(async () => {
      await work();
      await settle();
    });
    await act(settle);
  }

  find<E extends Element = HTMLElement>(selector: string): E {
    const found = this.root.querySelector<E>(selector);
    if (!found) throw new Error(`there is no ${selector} in ${this.root.innerHTML.slice(0, 2_000)}`);
    return found;
  }

  all(selector: string): HTMLElement[] {
    return [...this.root.querySelectorAll<HTMLElement>(selector)];
  }

  /** A button by its name: its label, or its text. */
  button(name: string): HTMLButtonElement {
    const found = this.buttons(name)[0];
    if (!found) throw new Error(`there is no button ${name}`);
    return found;
  }

  buttons(name: string): HTMLButtonElement[] {
    return [...this.root.querySelectorAll("button")].filter(
      (button) => (button.getAttribute("aria-label") ?? button.textContent ?? "").trim() === name,
    );
  }

  async press(name: string): Promise<void> {
    await this.soon(() => this.button(name).click());
  }

  get input(): HTMLTextAreaElement {
    return this.find<HTMLTextAreaElement>(".lmc-input");
  }

  async type(text: string, into: HTMLTextAreaElement | HTMLInputElement = this.input): Promise<void> {
    await this.soon(() => {
      into.focus();
      into.value = text;
      into.setSelectionRange(text.length, text.length);
      into.dispatchEvent(new InputEvent("input", { bubbles: true }));
    });
  }

  async key(key: string, more: KeyboardEventInit = {}, on: Element = this.input): Promise<KeyboardEvent> {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, composed: true, ...more });
    await this.soon(() => on.dispatchEvent(event));
    return event;
  }

  async events(...events: Parameters<FakeKernel["events"]>): Promise<void> {
    await this.soon(() => this.kernel.events(...events));
  }

  /** The item of the open menu that begins so. */
  item(label: string): HTMLElement {
    const found = this.all("[role^=menuitem]").find((one) => one.textContent?.startsWith(label));
    if (!found) throw new Error(`there is no item ${label}`);
    return found;
  }

  text(selector = ".lmc-panel"): string {
    return this.find(selector).textContent ?? "";
  }
}
