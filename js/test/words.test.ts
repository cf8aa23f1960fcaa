import { describe, expect, it } from "vitest";

import { dollars } from "../src/words";

describe("US dollars", () => {
  it.each([
    [0.000021, "$0.000021"],
    [4e-7, "$0.00000040"],
    [0.0001, "$0.0001"],
    [0.0012, "$0.0012"],
    [0.013, "$0.013"],
    [1.25, "$1.25"],
  ])("%d is %s", (cost, said) => {
    expect(dollars(cost)).toBe(said);
  });
});
