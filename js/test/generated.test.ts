/**
 * Texts that a generator makes of hostile ones, drawn whole and cut anywhere: nothing of them is in
 * the page but what text may be. Some hundred by day, 100,000 in a long run.
 */

import { marked } from "marked";
import { expect, it } from "vitest";

import { MarkdownStream } from "../src/render/markdown";
import { ATTACKS } from "./attacks";
import { forbidden, host } from "./forbidden";
import { LONG, numbers, SEED } from "./sampling";

const COUNT = LONG ? 100_000 : 500;
const CONTROL = LONG ? 2_000 : 500;

/** Ways in which Markdown and HTML nest, hide or break what stands in them. */
const AROUND: ((inner: string) => string)[] = [
  (inner) => `**${inner}**`,
  (inner) => `*a ${inner} b*`,
  (inner) => `[${inner}](https://ok.org)`,
  (inner) => `[a](${inner})`,
  (inner) => `[a](<${inner}> "t")`,
  (inner) => `![${inner}](${inner})`,
  (inner) => `\`${inner}\``,
  (inner) => `> ${inner.replace(/\n/g, "\n> ")}`,
  (inner) => `- ${inner}\n  - ${inner}`,
  (inner) => `| ${inner} | b |\n|---|---|\n| ${inner} | c |`,
  (inner) => `# ${inner}\n${inner}\n===`,
  (inner) => `\`\`\`${inner}\n${inner}\n\`\`\``,
  (inner) => `~~~html\n${inner}`,
  (inner) => `    ${inner}`,
  (inner) => `$$${inner}$$`,
  (inner) => `\\(${inner}\\)`,
  (inner) => `<div>${inner}</div>`,
  (inner) => `<!--${inner}-->`,
  (inner) => `<svg><style>${inner}</style></svg>`,
  (inner) => `<math><mtext><table><mglyph>${inner}`,
  (inner) => `<a title="${inner}">x</a>`,
  (inner) => `<form id=body><input name=cookie value='${inner}'></form>`,
  (inner) => `<p style="background:url(https://evil.example/${inner})">x</p>`,
  (inner) => `[r]: ${inner} "t"\n\n[a][r] ![b][r]`,
  (inner) => [...inner].map((c) => (/[<>"':]/.test(c) ? `&#x${c.charCodeAt(0).toString(16)};` : c)).join(""),
  (inner) => inner.replace(/</g, "&lt;").replace(/>/g, "&gt;"),
  (inner) => inner.replace(/[a-z]/g, (c, at: number) => (at % 2 ? c.toUpperCase() : c)),
  (inner) => inner.replace(/ /g, "\t").replace(/=/g, "\n=\n"),
  (inner) => inner.replace(/</g, "\u0000<").replace(/:/g, "\u200b:"),
  (inner) => inner.replace(/<\/?/g, (begin) => `${begin}x-${begin}`),
  (inner) => `\\${inner}`,
  (inner) => inner.split("").reverse().join(""),
];

/** A text of two or three hostile ones, in and beside each other. */
function generated(next: (below: number) => number): string {
  const one = () => ATTACKS[next(ATTACKS.length)] ?? "";
  let text = one();
  for (let depth = next(4); depth >= 0; depth--) {
    text = AROUND[next(AROUND.length)]?.(text) ?? text;
    if (next(3) === 0) text = `${text}${["", "\n", "\n\n", " "][next(4)]}${one()}`;
    if (next(5) === 0) text = text.slice(next(text.length + 1)) || text;
  }
  return text.slice(0, 2_000);
}

it(`${COUNT.toLocaleString("en")} generated texts draw nothing but what text may be`, { timeout: 3_600_000 }, () => {
  const next = numbers(SEED + 1);
  for (let count = 0; count < COUNT; count++) {
    const text = generated(next);
    const stream = new MarkdownStream(host);
    for (let at = 0; at < text.length; ) {
      const to = at + 1 + next(text.length);
      stream.push(text.slice(at, to));
      stream.flush();
      at = to;
    }
    stream.end();
    const found = forbidden(stream.element);
    if (found.length) expect({ text, found }).toEqual({ text, found: [] });
  }
});

it(`control: most of ${CONTROL.toLocaleString("en")} generated texts are forbidden where a plain reader of Markdown draws them`, () => {
  const next = numbers(SEED + 1);
  const naive = document.implementation.createHTMLDocument().createElement("div"); // where nothing runs
  let bad = 0;
  for (let count = 0; count < CONTROL; count++) {
    naive.innerHTML = marked.parse(generated(next), { async: false });
    if (forbidden(naive).some((each) => !each.startsWith("no "))) bad += 1;
  }
  expect(bad).toBeGreaterThan(CONTROL / 2);
});
