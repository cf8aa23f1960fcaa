/** Formulas: which text is one, and what becomes of it. */

import { afterEach, describe, expect, it, vi } from "vitest";

import { MarkdownStream } from "../src/render/markdown";
import { maskMath } from "../src/render/math";
import type { Host } from "../src/render/rendering";
import { assets } from "./assets";

const until = (holds: () => unknown) => vi.waitFor(holds, { timeout: 60_000 });

function draw(text: string, asset: Host["asset"], Stream = MarkdownStream): HTMLElement {
  const stream = new Stream({ asset, openImage: () => undefined });
  stream.push(text);
  stream.end();
  return stream.element;
}

const never: Host["asset"] = () => new Promise(() => undefined);
const formulas = (text: string) => [...draw(text, never).querySelectorAll(".lmc-math")].map((node) => node.textContent);

describe("what is a formula", () => {
  it.each([
    ["$x$", ["$x$"]],
    ["a $x_1 + y_2$ b $z$", ["$x_1 + y_2$", "$z$"]],
    ["\\(a\\) and \\[b\\] and $$c$$", ["\\(a\\)", "\\[b\\]", "$$c$$"]],
    ["$$\nx\n\\\\ y\n$$", ["$$\nx\n\\\\ y\n$$"]],
    ["text\n\\[\nx\n\\]\nmore", ["\\[\nx\n\\]"]],
    ["it costs $5 and $10", []],
    ["from $5, to $6, or $7", []],
    ["$5$10", []],
    ["\\$x\\$ and `$y$`", []],
    ["```\n$x$\n```", []],
    ["$$\n\nx\n\n$$", []],
    ["$ x $", []],
    ["[link $x$](https://x.org)", ["$x$"]],
    ["*a $b*c$ d*", ["$b*c$"]],
    ["| $a$ |\n|---|\n| \\(b\\) |", ["$a$", "\\(b\\)"]],
  ])("%j", (text, wanted) => expect(formulas(text)).toEqual(wanted));

  it.each(["$", "$$", "\\(", "\\["])("a long one that begins with %s is read while its end has not come", (begin) => {
    // where a sign can be read in two ways, forty of them take a day
    const stream = new MarkdownStream({ asset: never, openImage: () => undefined });
    const tex = "\\alpha + \\beta \\\\ ".repeat(100);
    stream.push(`Here:\n\n${begin}`);
    for (let at = 0; at < tex.length; at += 50) {
      stream.push(tex.slice(at, at + 50));
      stream.flush();
    }
    stream.end();
    expect(stream.element.textContent).toContain("alpha");
    expect(stream.element.querySelector(".lmc-math")).toBeNull();
    expect(maskMath(begin + tex)).toBe(begin + tex);
  });

  it("is masked letter by letter", () => {
    expect(maskMath("*a $b*c$ d* \\$ x")).toBe("*a aaaaa d* \\$ x");
    expect(maskMath("plain *text*")).toBe("plain *text*");
    expect(maskMath("$a \\(b\\)")).toBe("$a aaaaa");
  });
});

describe("typesetting", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  it("comes with the first formula, once, and leaves what is wrong as it was written", async () => {
    vi.resetModules(); // a page in which no formula was yet
    const { MarkdownStream: Fresh } = await import("../src/render/markdown");
    const asset = assets();
    draw("no formula", asset, Fresh);
    expect(asset).not.toHaveBeenCalled();
    const element = draw("$x^2$ and $\\frac{1$ and $$y$$", asset, Fresh);
    await until(() => expect(element.querySelectorAll("math").length).toBe(2));
    expect(element.querySelector(".lmc-bad-math")?.textContent).toBe("$\\frac{1$");
    expect(element.querySelector<HTMLElement>(".lmc-bad-math")?.title).toContain("KaTeX parse error");
    expect(draw("$z$", asset, Fresh).querySelector("math")?.textContent).toBe("z"); // at once by now
    expect(asset).toHaveBeenCalledTimes(1);
  });
});

it("a typesetter that does not come is said, and the source stays", async () => {
  vi.resetModules();
  const { MarkdownStream: Fresh } = await import("../src/render/markdown");
  const stream = new Fresh({ asset: () => Promise.reject(new Error("no kernel")), openImage: () => undefined });
  stream.push("$x$");
  stream.end();
  const math = stream.element.querySelector<HTMLElement>(".lmc-math");
  await until(() => expect(math?.title).toContain("no kernel"));
  expect(math?.textContent).toBe("$x$");
});
