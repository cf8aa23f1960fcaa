/**
 * Builds the JupyterLab extension with Jupyter's own builder: what JupyterLab shares is not bundled.
 *
 * One rule: nothing is asked of Python or of the network. The builder knows what a JupyterLab
 * shares from the list that npm has installed with it.
 */

import { execFileSync } from "node:child_process";
import { copyFile, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";

import * as esbuild from "esbuild";

const BUILDER = "node_modules/@jupyter/builder/lib/build-labextension.js";
const CORE = "node_modules/@jupyterlab/core-meta/core.package.json";

/** Build `src/lab.ts` and `lab/` into `lmc_jupyter/labextension`; `common` are esbuild's options. */
export async function buildLab(common) {
  const here = common.absWorkingDir;
  await esbuild.build({
    ...common,
    minify: false, // the builder does
    entryPoints: ["src/lab.ts"],
    format: "esm",
    packages: "external",
    outfile: join(here, "lab", "lib", "lab.js"),
  });
  try {
    execFileSync(process.execPath, [BUILDER, "--core-package-file", CORE, "lab"], {
      cwd: here,
      stdio: ["ignore", "pipe", "pipe"],
      encoding: "utf8",
    });
  } catch (error) {
    throw new Error(`Jupyter's builder failed:\n${error.stdout}\n${error.stderr}`);
  }
  const made = join(here, "..", "lmc_jupyter", "labextension");
  const about = JSON.parse(await readFile(join(made, "package.json"), "utf8"));
  await stat(join(made, about.jupyterlab._build.load)); // what JupyterLab asks for first
  about.version = await version(join(made, "..", "__init__.py")); // JupyterLab's list shows it
  await writeFile(join(made, "package.json"), `${JSON.stringify(about, null, 2)}\n`);
  await copyFile(join(here, "lab", "install.json"), join(made, "install.json"));
  let bytes = 0;
  for (const name of await readdir(join(made, "static"))) {
    if (name.endsWith(".js")) bytes += (await stat(join(made, "static", name))).size;
  }
  console.log(`${relative(here, made)}/static  ${(bytes / 1000).toFixed(1)} kB`);
}

/** The package's version, which stands in that file alone. */
async function version(file) {
  const found = /^__version__ = "(.+)"$/m.exec(await readFile(file, "utf8"));
  if (!found) throw new Error(`${file} has no line __version__ = "…"`);
  return found[1];
}
