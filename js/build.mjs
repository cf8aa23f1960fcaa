/**
 * Builds the front end into the Python package: what is shipped in the wheel.
 *
 * One rule: the same sources give the same bundles (the names of the extension's chunks aside).
 *
 *   node build.mjs          the widget, its style, KaTeX  -> ../lmc_jupyter/static
 *                           the JupyterLab extension      -> ../lmc_jupyter/labextension
 */

import { mkdir, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

import * as esbuild from "esbuild";

import { buildLab } from "./build-lab.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const STATIC = join(HERE, "..", "lmc_jupyter", "static");

/** What every bundle of ours is built with. */
const COMMON = {
  absWorkingDir: HERE,
  bundle: true,
  minify: true,
  target: "es2021",
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
};

/** One file of the widget each; KaTeX is loaded by it only when there is math. */
const WIDGET = {
  "widget.js": { entryPoints: ["src/widget.ts"], format: "esm" },
  "katex.js": { entryPoints: ["src/katex.ts"], format: "esm" },
  "widget.css": { entryPoints: ["src/style.css"] },
};

async function buildWidget() {
  await mkdir(STATIC, { recursive: true });
  for (const [name, options] of Object.entries(WIDGET)) {
    const outfile = join(STATIC, name);
    await esbuild.build({ ...COMMON, ...options, outfile });
    const { size } = await stat(outfile);
    console.log(`${relative(HERE, outfile)}  ${(size / 1000).toFixed(1)} kB`);
  }
}

await buildWidget();
await buildLab(COMMON);
