/**
 * The files of the package that are fetched at need, for tests: the real ones, from the sources.
 *
 * One rule: they come the way they come in a page: as bytes, by `import` of an object URL.
 */

import { vi } from "vitest";

import { coloured } from "../src/highlight";
import { renderToString } from "../src/katex";
import type { AssetName } from "../src/protocol";

const SOURCE =
  "export const { coloured, renderToString } = globalThis.lmcAssetsOfTests;";

/** What a host gives; every name that was asked for is in `mock.calls`. */
export function assets() {
  vi.stubGlobal("lmcAssetsOfTests", { coloured, renderToString });
  URL.createObjectURL = () => `data:text/javascript,${encodeURIComponent(SOURCE)}`;
  URL.revokeObjectURL = () => undefined;
  return vi.fn((_name: AssetName) =>
    Promise.resolve(new TextEncoder().encode(SOURCE).buffer as ArrayBuffer),
  );
}
