/**
 * Of marked only the reader of GitHub's dialect, which is the one that we read: its HTML writer and
 * its global instance, the rules of three other dialects and what reads tags are two fifths of it.
 *
 * One rule: what is left reads every text as the whole does (test/reader.test.ts). The file is cut
 * before the instance, and at each other dialect; what is then unused falls away.
 */

import { readFile } from "node:fs/promises";

/** A plugin of esbuild. */
export const MARKED_READER = {
  name: "marked-reader",
  setup(build) {
    build.onLoad({ filter: /marked\.esm\.js$/ }, async ({ path }) => {
      let text = await readFile(path, "utf8");
      const find = (pattern) => {
        const found = pattern.exec(text);
        if (!found) throw new Error("build.mjs: marked has changed its shape; look at MARKED_READER");
        return found;
      };
      const names = ["Lexer", "Tokenizer"].map((name) => find(new RegExp(`[\\w$]+ as ${name}\\b`))[0]);
      text = text.slice(0, find(/var \w+=new \w+;function \w+\(\w+,\w+\)\{return \w+\.parse\(/).index);
      const [tables, block, gfmBlock, pedanticBlock, inline, gfmInline, breaks, pedanticInline] = find(
        /(\w+)=\{normal:\w+,gfm:(\w+),pedantic:(\w+)\},(\w+)=\{normal:\w+,gfm:(\w+),breaks:(\w+),pedantic:(\w+)\}/,
      );
      text = text.replace(tables, `${block}={gfm:${gfmBlock}},${inline}={gfm:${gfmInline}}`);
      for (const name of [pedanticBlock, breaks, pedanticInline]) {
        text = text.replace(find(new RegExp(`,${name}=\\{\\.\\.\\.\\w+,[^]*?\\.getRegex\\(\\)\\}(?=,)`))[0], "");
      }
      // tags are text (render/dialect.ts): neither of the two methods that read them, nor their rule
      for (const method of [/(?<=\})html\(\w+\)\{[^]*?(?=def\(\w+\)\{)/, /(?<=\})tag\(\w+\)\{[^]*?(?=link\(\w+\)\{)/]) {
        text = text.replace(find(method)[0], "");
      }
      // and of the plain dialect's rules, which ours are made from, none that ours has another for
      const [plain, plainRules] = find(/=\{blockquote:([^}]*)\}/);
      text = text.replace(plain, `={blockquote:${plainRules.replace(/(?:html|lheading|paragraph|table):\w+,/g, "")}}`);
      for (const [option, value] of [["pedantic", false], ["breaks", false], ["gfm", true]]) {
        text = text.replaceAll(`this.options.${option}`, `${value}`);
      }
      const [, edit] = find(/function (\w+)\(\w+,\w+=""\)\{let \w+=typeof \w+=="string"/);
      text = text.replace(new RegExp(`(?<=[=:])${edit}\\(`, "g"), `/* @__PURE__ */${edit}(`);
      return { contents: `${text}export{${names.join(",")}};`, loader: "js" };
    });
  },
};
