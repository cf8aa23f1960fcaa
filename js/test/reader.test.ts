// @vitest-environment node
import { build, type Plugin } from "esbuild";
import type { Lexer, Tokenizer } from "marked";
import { describe, expect, it } from "vitest";

import { MARKED_READER } from "../marked-reader.mjs";

type Reader = { Lexer: typeof Lexer; Tokenizer: typeof Tokenizer };
const CORPUS = import.meta.glob<string>("./corpus/*", { query: "?raw", import: "default", eager: true });
const BITS = [
  ..."** * _ __ ~~ ~ ` a é “ ! | \\ [x](y) [x] <b> <a href=b> </div> http://a.b/c www.a.de a@b.cd &amp;".split(" "),
  ...["```\n", "\n", "\n\n", "- ", "1. ", "> ", "# ", " ", "    ", "<div>\n", "<!-- a -->", "---\n", "===\n"],
  ...['[x]: /y "t"\n', "|a|b|\n|-|-|\n|c|d|\n"],
];

async function readerOf(plugins: Plugin[]): Promise<Reader> {
  const stdin = { contents: 'export { Lexer, Tokenizer } from "marked"', resolveDir: new URL(".", import.meta.url).pathname };
  const { outputFiles } = await build({ stdin, bundle: true, format: "esm", write: false, plugins, logLevel: "error" });
  const text = encodeURIComponent(outputFiles[0]?.text ?? "");
  return (await import(/* @vite-ignore */ `data:text/javascript,${text}`)) as Reader;
}

function read({ Lexer, Tokenizer }: Reader, text: string): string {
  class WithoutHtml extends Tokenizer {
    override html(): undefined {}
    override tag(): undefined {}
  }
  return JSON.stringify(new Lexer({ gfm: true, tokenizer: new WithoutHtml() }).lex(text));
}

describe("the part of marked that is built in", () => {
  it("reads all that the whole reads, in the same way", async () => {
    const [part, whole] = [await readerOf([MARKED_READER]), await readerOf([])];
    let seed = 7;
    const next = () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
    const random = () => Array.from({ length: 14 }, () => BITS[Math.floor(next() * BITS.length)]).join("");
    const texts = [...Object.values(CORPUS), ...Array.from({ length: 5_000 }, random)];
    expect(texts.length).toBeGreaterThan(5_010);
    for (const text of texts) expect(read(part, text)).toBe(read(whole, text));
  });
});
