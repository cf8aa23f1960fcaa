import { describe, expect, it } from "vitest";

import { diff, type Line } from "../src/diff";

const side = (lines: Line[], sign: "-" | "+") =>
  lines
    .filter(([each]) => each === " " || each === sign)
    .map(([, text]) => text)
    .join("\n");

describe("the lines of two texts", () => {
  it("says which line goes and which comes in its place", () => {
    expect(diff("a = 1\nb = a / 0\nc = 3", "a = 1\nb = a / 2\nc = 3")).toEqual([
      [" ", "a = 1"],
      ["-", "b = a / 0"],
      ["+", "b = a / 2"],
      [" ", "c = 3"],
    ]);
  });

  it("leaves what is the same", () => {
    expect(diff("one\ntwo", "one\ntwo")).toEqual([
      [" ", "one"],
      [" ", "two"],
    ]);
  });

  it("finds what moved apart", () => {
    expect(diff("x\ny", "new\nx\nmore\ny")).toEqual([
      ["+", "new"],
      [" ", "x"],
      ["+", "more"],
      [" ", "y"],
    ]);
  });

  it("is both texts again, for any two", () => {
    let seed = 7;
    const next = (below: number) => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed % below;
    };
    for (let round = 0; round < 300; round++) {
      const text = () => Array.from({ length: next(9) + 1 }, () => "abc"[next(3)]).join("\n");
      const [before, after] = [text(), text()];
      const lines = diff(before, after);
      expect([side(lines, "-"), side(lines, "+")]).toEqual([before, after]);
    }
  });

  it("does not search for ever in long texts that share nothing", () => {
    const long = (word: string) => Array.from({ length: 5_000 }, (_, at) => `${word} ${at}`).join("\n");
    const lines = diff(long("a"), long("b"));
    expect(lines).toHaveLength(10_000);
    expect([side(lines, "-"), side(lines, "+")]).toEqual([long("a"), long("b")]);
  });
});
