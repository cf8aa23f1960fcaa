/**
 * Builds the front end into the Python package: what is shipped in the wheel.
 *
 * One rule: the same sources give the same bundles (the names of the extension's chunks aside).
 *
 *   node build.mjs          the widget, its style, assets -> ../lmc_jupyter/static
 *                           the JupyterLab extension      -> ../lmc_jupyter/labextension
 */

import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

import * as esbuild from "esbuild";

import { buildLab } from "./build-lab.mjs";
import { MARKED_READER } from "./marked-reader.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const STATIC = join(HERE, "..", "lmc_jupyter", "static");

/** What every bundle of ours is built with. */
const COMMON = {
  absWorkingDir: HERE,
  bundle: true,
  minify: true,
  target: "es2022", // private fields as they are: lowered, they cost 9 kB and time at each access
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
};

/**
 * KaTeX's style sheet for our formulas only, without its fonts, which come with the first formula;
 * its typewriter font does not come (src/katex.ts), the font of code stands for it.
 */
const KATEX_UNDER_LMC = {
  name: "katex-under-lmc",
  setup(build) {
    build.onLoad({ filter: /katex[\\/]dist[\\/]katex\.css$/ }, async ({ path }) => {
      const rules = (await readFile(path, "utf8"))
        .replace(/@font-face\s*\{[^}]*\}/g, "")
        .replace(/^body\b/m, "&")
        .replaceAll("KaTeX_Typewriter", "var(--lmc-mono)");
      return { contents: `.lmc{${rules}}`, loader: "css" };
    });
  },
};

/** One file of the widget each; KaTeX and highlight.js are fetched by it at need. */
const WIDGET = {
  "widget.js": {
    entryPoints: ["src/widget.ts"],
    format: "esm",
    plugins: [MARKED_READER],
    inject: ["src/h.ts"],
    tsconfigRaw: { compilerOptions: { jsx: "react", jsxFactory: "h", jsxFragmentFactory: "Fragment" } },
  },
  "katex.js": { entryPoints: ["src/katex.ts"], format: "esm", loader: { ".woff2": "dataurl" } },
  "highlight.js": { entryPoints: ["src/highlight.ts"], format: "esm" },
  "widget.css": {
    entryPoints: ["src/style.css"],
    plugins: [KATEX_UNDER_LMC],
    supported: { nesting: false }, // written out, for browsers of before 2023
  },
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
