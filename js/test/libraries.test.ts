import { describe, expect, it } from "vitest";

import type { AssetName } from "../src/protocol";
import { code } from "../src/render/code";
import { libraries, withLibraries } from "../src/render/libraries";
import type { Host } from "../src/render/rendering";

const ASKS = '<script data-lmc="plotly.js"></script>';

function host(files: Partial<Record<AssetName, string>>): Host & { asked: AssetName[] } {
  const asked: AssetName[] = [];
  return {
    asked,
    asset: (name) => {
      asked.push(name);
      const text = files[name];
      if (text === undefined) return Promise.reject(new Error(`${name} is not installed`));
      return Promise.resolve(new TextEncoder().encode(text).buffer as ArrayBuffer);
    },
    openImage: () => undefined,
  };
}

describe("a library that a page asks for", () => {
  it("is known by its empty script only", () => {
    expect(libraries(`<p>${ASKS}${ASKS}<script data-lmc="bokeh.js"></script>`)).toEqual(["plotly.js", "bokeh.js"]);
    expect(libraries('<script src="plotly.js"></script><script data-lmc="other.js"></script>')).toEqual([]);
  });

  it("is asked for again after it has failed, and then once", async () => {
    await expect(withLibraries(ASKS, host({}))).rejects.toThrow("not installed");
    const here = host({ "plotly.js": 'let a = "</script><!--$&";' });
    const page = await withLibraries(`<i>${ASKS}</i>`, here);
    expect(page).toBe('<i><script>let a = "<\\/script><\\!--$&";</script></i>');
    await withLibraries(ASKS, here);
    expect(here.asked).toEqual(["plotly.js"]);
  });

  it("that cannot come is said in a sentence", async () => {
    const drawn = code({ role: "computer", type: "code", format: "html" }, host({}));
    drawn.push('<div></div><script data-lmc="bokeh.js"></script>');
    drawn.end();
    expect(drawn.element.textContent).toContain("Loading");
    await new Promise((resolve) => setTimeout(resolve));
    expect(drawn.element.textContent).toContain("This chart cannot be drawn here: bokeh.js is not installed");
    expect(drawn.element.querySelector("iframe")).toBeNull();
    drawn.dispose();
  });

  it("stands in the frame before what uses it", async () => {
    const drawn = code({ role: "computer", type: "code", format: "html" }, host({ "bokeh.js": "var Bokeh = 1;" }));
    document.body.append(drawn.element);
    drawn.push('<script data-lmc="bokeh.js"></script><script>use(Bokeh)</script>');
    drawn.end();
    await new Promise((resolve) => setTimeout(resolve));
    const frame = drawn.element.querySelector("iframe");
    expect(frame?.srcdoc).toContain("var Bokeh = 1;");
    drawn.dispose();
    expect(document.querySelector("iframe")).toBeNull();
    drawn.element.remove();
  });
});
