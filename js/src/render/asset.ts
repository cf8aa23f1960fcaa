/**
 * A module of the package that is not in the bundle, fetched when it is needed the first time.
 *
 * One rule: it comes once, for whoever asks, and what does not come is asked for again only by
 * who needs it next. It is our own file, by the kernel; nothing is fetched from the web.
 */

import type { AssetName } from "../protocol";
import type { Host } from "./rendering";

/** What a module of the package exports under one name. */
export class Asset<T> {
  /** It, once it is here. */
  ready: T | null = null;
  readonly #name: AssetName;
  readonly #exported: string;
  #loading: Promise<T> | null = null;

  constructor(name: AssetName, exported: string) {
    this.#name = name;
    this.#exported = exported;
  }

  /** Fetch it, unless it is here or on its way. */
  async load(host: Host): Promise<T> {
    this.#loading ??= this.#fetched(host);
    try {
      this.ready = await this.#loading;
      return this.ready;
    } catch (error) {
      this.#loading = null;
      throw error;
    }
  }

  async #fetched(host: Host): Promise<T> {
    const file = await host.asset(this.#name);
    const url = URL.createObjectURL(new Blob([file], { type: "text/javascript" }));
    try {
      const module = (await import(/* @vite-ignore */ url)) as { [exported: string]: unknown };
      if (typeof module[this.#exported] !== "function") {
        throw new Error(`${this.#name} has no ${this.#exported}`);
      }
      return module[this.#exported] as T;
    } finally {
      URL.revokeObjectURL(url);
    }
  }
}
