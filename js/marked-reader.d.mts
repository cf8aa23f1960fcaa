import type { Plugin } from "esbuild";

/** A plugin of esbuild. */
export const MARKED_READER: Plugin;
