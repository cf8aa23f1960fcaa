/**
 * The libraries that charts are drawn by, put into a page that asks for them.
 *
 * One rule: a library comes from the kernel, as it is installed there, and never from the web; it
 * runs in the sandbox only. A page asks by an empty script: `<script data-lmc="plotly.js">`.
 */

import type { AssetName } from "../protocol";
import type { Host } from "./rendering";

const ASKED = /<script data-lmc="(plotly\.js|bokeh\.js)"><\/script>/g;

const requests = new Map<AssetName, Promise<string>>();

/** Which libraries this page asks for. */
export function libraries(html: string): AssetName[] {
  return [...new Set([...html.matchAll(ASKED)].map(([, name]) => name as AssetName))];
}

/** The page with the libraries in it that it asks for. */
export async function withLibraries(html: string, host: Host): Promise<string> {
  const sources = new Map<string, string>();
  for (const name of libraries(html)) sources.set(name, await source(name, host));
  return html.replace(ASKED, (_, name: string) => `<script>${sources.get(name) ?? ""}</script>`);
}

/** A library's text, fetched once; what has failed is asked for again by who needs it next. */
async function source(name: AssetName, host: Host): Promise<string> {
  const coming = requests.get(name) ?? host.asset(name).then((file) => inline(new TextDecoder().decode(file)));
  requests.set(name, coming);
  try {
    return await coming;
  } catch (error) {
    requests.delete(name);
    throw error;
  }
}

/** As it may stand in a script of a page. */
function inline(text: string): string {
  return text.replace(/<\/(?=script)/gi, "<\\/").replaceAll("<!--", "<\\!--");
}
