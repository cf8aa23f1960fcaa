/** Code of each language becomes a cell that runs it, or text; never Python that it is not. */

import { describe, expect, it } from "vitest";

import { asCell } from "../src/cell";

describe("a cell of code", () => {
  it.each(["python", "", "Python", " py "])("takes %j as it is", (language) => {
    expect(asCell("x = 1\n", language)).toEqual({ type: "code", source: "x = 1\n" });
  });

  it.each([
    ["shell", "%%bash\nls\n"],
    ["html", "%%html\nls\n"],
    ["R", "%%script Rscript -\nls\n"],
    ["javascript", "%%javascript\nls\n"],
  ])("runs %s by its magic", (language, source) => {
    expect(asCell("ls\n", language)).toEqual({ type: "code", source });
  });

  it("shows what nothing runs as a block of text, whatever fences are in it", () => {
    expect(asCell("a\n````\nb", "fortran")).toEqual({
      type: "markdown",
      source: "`````fortran\na\n````\nb\n`````",
    });
  });

  it("keeps a language's name out of the rest of the line", () => {
    expect(asCell("a", "c++ `x`\n%%bash").source).toBe("```c++xbash\na\n```");
  });
});
