/** Text made to do harm: nothing of it is in the page but text, links to the web, and formulas. */

import { describe, expect, it } from "vitest";

import type { Chunk } from "../src/lmc";
import { begin } from "../src/render";
import { MarkdownStream } from "../src/render/markdown";
import { rebuilt } from "../src/render/math";
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

it("MathML is built again from a list", () => {
  const math = (inner: string) => `<span><math xmlns="http://www.w3.org/1998/Math/MathML">${inner}</math></span>`;
  const bad = math(
    '<mi onclick="x()" href="javascript:x" mathvariant="bold" style="x" class="y">a</mi>' +
      '<maction actiontype="statusline"><mi>b</mi></maction>' +
      '<annotation-xml encoding="text/html"><img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="x()"/></annotation-xml>' +
      '<script xmlns="http://www.w3.org/1999/xhtml">x()</script><annotation>src</annotation>' +
      '<mstyle mathcolor="red" mathbackground="url(x)"><mo>+</mo></mstyle>',
  );
  const built = rebuilt(bad);
  expect(built.outerHTML).toBe(
    '<math><mi mathvariant="bold">a</mi><mi>b</mi>' +
      '<mstyle mathcolor="red"><mo>+</mo></mstyle></math>',
  );
  expect(built.namespaceURI).toBe("http://www.w3.org/1998/Math/MathML");
  expect(() => rebuilt("<p>no</p>")).toThrow("not a formula");
  expect(() => rebuilt("<math")).toThrow("not a formula");
});
