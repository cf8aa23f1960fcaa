/** Text made to do harm: nothing of it is in the page but text, links to the web, and formulas. */

import { describe, expect, it } from "vitest";

import type { Chunk } from "../src/lmc";
import { begin } from "../src/render";
import { MarkdownStream } from "../src/render/markdown";
import { ATTACKS } from "./attacks";
import { forbidden, host } from "./forbidden";

it("has a corpus, and a control", () => {
  expect(ATTACKS.length).toBeGreaterThanOrEqual(60);
  const naive = document.implementation.createHTMLDocument().createElement("div"); // where nothing runs
  const bad = ATTACKS.filter((attack) => {
    naive.innerHTML = attack;
    return forbidden(naive).length > 0;
  });
  expect(bad.length).toBeGreaterThan(40); // drawn as HTML, most of them do harm
});

describe.each(ATTACKS.map((attack) => [attack]))("%s", (attack) => {
  it("is harmless as markdown, whole and streamed", () => {
    for (const text of [attack, `a\n\n${attack}\n\nb`, `- ${attack}\n> ${attack}`, `| x |\n|---|\n| ${attack} |`]) {
      const whole = new MarkdownStream(host);
      whole.push(text);
      whole.end();
      expect(forbidden(whole.element)).toEqual([]);
      const stream = new MarkdownStream(host);
      for (const character of text) {
        stream.push(character);
        stream.flush();
        expect(forbidden(stream.element)).toEqual([]);
      }
      stream.end();
      expect(forbidden(stream.element)).toEqual([]);
    }
  });

  it("is harmless in every other place", () => {
    const heads: Chunk[] = [
      { role: "user", type: "message" },
      { role: "computer", type: "console" },
      { role: "assistant", type: "code", format: "html" },
      { role: "assistant", type: "code", format: attack },
      { role: "computer", type: "code", format: "javascript" },
      { role: "user", type: "file", format: "path" },
      { role: "computer", type: "image", format: "path" },
      { role: "computer", type: "image", format: "base64.png" },
      { role: "computer", type: "image", format: attack },
      { role: "user", type: "audio", format: "wav" },
      { role: "computer", type: attack },
    ];
    for (const head of heads) {
      const rendering = begin(head, host);
      rendering.push(attack);
      rendering.end();
      expect(forbidden(rendering.element)).toEqual([]);
      expect(rendering.element.textContent).toMatch(/\S/);
      rendering.dispose();
    }
  });
});
