/** The two nested frames, as far as jsdom goes; what they keep in is tested in a real browser. */

import { afterEach, describe, expect, it, vi } from "vitest";

import { outer, type Shown } from "../../lmc_jupyter/content/frames.js";
import type { Page } from "../src/protocol";
import { nestedDocument, Sandbox, type Options } from "../src/render/sandbox";

/** What the outer frame is given to show. */
function shownIn(document: string): Shown {
  const script = new DOMParser().parseFromString(document, "text/html").querySelector("script");
  return JSON.parse(/\)\((\{"page":.*\})\)$/s.exec(script?.textContent ?? "")?.[1] ?? "null") as Shown;
}

/** The document of the inner frame, as the outer one makes it. */
function innerOf(document_: string): { frame: HTMLIFrameElement; inner: Document } {
  outer(shownIn(document_));
  const frame = document.querySelector<HTMLIFrameElement>("body > iframe");
  if (!frame) throw new Error("there is no inner frame");
  return { frame, inner: new DOMParser().parseFromString(frame.srcdoc, "text/html") };
}

const live: Sandbox[] = [];
function sandbox(html: string, options?: Options) {
  const made = new Sandbox(html, options);
  live.push(made);
  document.body.append(made.element);
  const frame = made.element.querySelector("iframe");
  if (!frame) throw new Error("there is no frame");
  const token = shownIn(frame.srcdoc).token;
  if (!token) throw new Error("there is no token");
  const say = (data: unknown, source: MessageEventSource | null = frame.contentWindow) =>
    window.dispatchEvent(new MessageEvent("message", { data, source }));
  return { made, frame, token, say };
}

afterEach(() => {
  for (const each of live.splice(0)) each.dispose();
  document.body.replaceChildren();
  vi.useRealTimers();
});

describe("the frames", () => {
  it("are two, each with scripts only, and the outer one lets nothing be loaded", () => {
    const { frame } = sandbox("<p title='a&amp;b'>\"quoted\"</p>");
    expect(frame.getAttribute("sandbox")).toBe("allow-scripts");
    expect(frame.getAttribute("allow")).toBe("");
    expect(frame.getAttribute("referrerpolicy")).toBe("no-referrer");
    const around = new DOMParser().parseFromString(frame.srcdoc, "text/html");
    const policyOf = (page: Document) => page.querySelector("meta[http-equiv]")?.getAttribute("content") ?? "";
    expect(policyOf(around)).toMatch(/^default-src 'none';.*frame-src 'none'; child-src 'none'/);
    expect(around.querySelector("iframe")).toBeNull();
    const { frame: its, inner } = innerOf(frame.srcdoc);
    expect(its.getAttribute("sandbox")).toBe("allow-scripts");
    expect(its.getAttribute("allow")).toBe("");
    expect(its.getAttribute("referrerpolicy")).toBe("no-referrer");
    expect(policyOf(inner)).toMatch(/^default-src 'none';/);
    expect(policyOf(inner)).not.toMatch(/https?:|\*|allow-same-origin/);
    expect(inner.querySelector("p")?.title).toBe("a&b");
    expect(inner.querySelector("p")?.textContent).toBe('"quoted"');
    expect(inner.querySelector("script")?.textContent).toContain("RTCPeerConnection");
  });

  it("hold whatever the HTML tries to close", () => {
    const page = nestedDocument('</iframe>"></iframe><script>top.x=1</script>', "ab");
    const around = new DOMParser().parseFromString(page, "text/html");
    expect(around.querySelector("iframe")).toBeNull();
    expect(around.querySelectorAll("script").length).toBe(1);
    const { inner } = innerOf(page);
    expect(inner.querySelectorAll("script").length).toBe(2); // ours, and its own
  });

  it("have a token of their own each", () => {
    expect(sandbox("a").token).not.toBe(sandbox("a").token);
  });

  it("are refused for HTML that is too long", () => {
    const made = new Sandbox("x".repeat(8_000_001));
    expect(made.element.textContent).toContain("too long");
    expect(made.isLive).toBe(false);
  });
});

describe("what comes out", () => {
  it("is how many columns of a wide table are in sight, as bounded numbers", () => {
    const { made, token, say } = sandbox("x");
    const line = () => made.element.querySelector(".lmc-note")?.textContent;
    say({ lmc: token, columns: [3, 22] });
    expect(line()).toContain("3 of 22 columns in sight");
    say({ lmc: token, columns: ["<b>", 1e99] });
    expect(line()).toContain("0 of 100000 columns");
    say({ lmc: token, columns: [] });
    expect(line()).toBe("");
  });

  it("is a height, clamped and not too often", () => {
    vi.useFakeTimers();
    const { frame, token, say } = sandbox("x");
    const height = (value: unknown) => say({ lmc: token, height: value });
    height(300);
    vi.advanceTimersByTime(1);
    expect(frame.style.height).toBe("300px");
    for (let value = 301; value < 400; value++) height(value);
    expect(frame.style.height).toBe("300px");
    vi.advanceTimersByTime(100);
    expect(frame.style.height).toBe("399px");
    height(1e9);
    vi.advanceTimersByTime(100);
    expect(frame.style.height).toBe("2000px");
    height(-5);
    vi.advanceTimersByTime(100);
    expect(frame.style.height).toBe("0px");
    for (const bad of ["400", 1.5, Number.NaN, null, {}]) height(bad);
    vi.advanceTimersByTime(200);
    expect(frame.style.height).toBe("0px");
  });

  it("is text, and bounded", () => {
    const { made, token, say } = sandbox("x");
    const lines = () => made.element.querySelector("pre");
    expect(lines()?.hidden).toBe(true);
    say({ lmc: token, say: "log", text: "<b>hi</b>" });
    say({ lmc: token, say: "error", text: "y".repeat(50_000) });
    expect(lines()?.hidden).toBe(false);
    expect(lines()?.querySelector("b")).toBeNull();
    expect(lines()?.firstChild?.textContent).toBe("<b>hi</b>\n");
    expect(lines()?.lastChild?.textContent?.length).toBe(10_001);
    for (let line = 0; line < 1_000; line++) say({ lmc: token, say: "log", text: "z" });
    expect(lines()?.childElementCount).toBe(200);
    expect(lines()?.lastChild?.textContent).toContain("left out");
  });

  it("is heard from its own frame and with its token only", () => {
    const { made, frame, token, say } = sandbox("x");
    const other = sandbox("y");
    say({ lmc: token, say: "log", text: "1" }, window);
    say({ lmc: token, say: "log", text: "2" }, other.frame.contentWindow);
    say({ lmc: other.token, say: "log", text: "3" });
    say({ say: "log", text: "4" });
    say("5");
    say(null);
    expect(made.element.querySelector("pre")?.textContent).toBe("");
    made.dispose();
    say({ lmc: token, say: "log", text: "6" }, frame.contentWindow);
    expect(made.element.childElementCount).toBe(0);
  });
});

describe("a report", () => {
  const told = () => {
    const pages: Page[] = [];
    return { pages, report: (page: Page) => void pages.push(page) };
  };

  it("comes once, after the first moments, with what was said until then", () => {
    const { pages, report } = told();
    const { made, token, say } = sandbox("x", { report });
    say({ lmc: token, say: "log", text: "first" });
    expect(pages).toEqual([]);
    const lines = made.element.querySelector("pre");
    expect(lines?.textContent).toBe(""); // it stands in the record behind
    const page = { text: "t", width: 300.4, height: 20 };
    say({ lmc: token, page });
    say({ lmc: token, say: "log", text: "later" });
    say({ lmc: token, page: { ...page, text: "again" } });
    expect(pages).toEqual([{ lines: ["first"], text: "t", width: 300, height: 20 }]);
    expect(lines?.textContent).toBe("later\n");
  });

  it("is bounded, whatever the page says of itself", () => {
    const { pages, report } = told();
    const { token, say } = sandbox("x", { report });
    for (let line = 0; line < 1_000; line++) say({ lmc: token, say: "log", text: "y".repeat(20_000) });
    say({ lmc: token, page: null });
    say({ lmc: token, page: "page" });
    expect(pages).toEqual([]);
    say({ lmc: token, page: { text: "t".repeat(50_000), width: Number.POSITIVE_INFINITY, height: "7" } });
    const [page] = pages;
    expect(page?.lines.join("").length).toBe(100_000);
    expect(page?.text.length).toBe(10_000);
    expect([page?.width, page?.height]).toEqual([0, 0]);
    say({ lmc: token, say: "log", text: "more" });
    expect(pages.length).toBe(1);
  });

  it("says that a page has not finished, or has gone away", () => {
    vi.useFakeTimers();
    const slow = told();
    sandbox("<script>for(;;);</script>", { report: slow.report });
    vi.advanceTimersByTime(9_900);
    expect(slow.pages).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(slow.pages[0]?.lines).toEqual(["It had not finished loading after 10 s."]);
    vi.advanceTimersByTime(60_000);
    expect(slow.pages.length).toBe(1);
    const gone = told();
    const { token, say } = sandbox("x", { report: gone.report });
    say({ lmc: token, say: "error", text: "blocked: the page tried to go to x" });
    say({ lmc: token, gone: 1 });
    expect(gone.pages[0]?.lines).toEqual(["blocked: the page tried to go to x"]);
    const long = told();
    live.push(new Sandbox("x".repeat(8_000_001), { report: long.report }));
    expect(long.pages[0]?.lines[0]).toContain("too long");
  });

  it("comes from a frame that nobody has scrolled to, and which does not give way", () => {
    const observe = vi.fn();
    class Observer {
      observe = observe;
      disconnect = vi.fn();
    }
    vi.stubGlobal("IntersectionObserver", Observer);
    const { pages, report } = told();
    const waits = sandbox("x", { report });
    expect(waits.made.isLive).toBe(true);
    const later = new Sandbox("x");
    live.push(later);
    document.body.append(later.element);
    expect(later.isLive).toBe(false);
    expect(observe).toHaveBeenCalledTimes(2);
    vi.unstubAllGlobals();
    for (let other = 0; other < 20; other++) sandbox("y");
    expect(waits.made.isLive).toBe(true);
    waits.say({ lmc: waits.token, page: { text: "", width: 1, height: 1 } });
    expect(pages.length).toBe(1);
    sandbox("y");
    expect(waits.made.isLive).toBe(false);
  });
});

it("what was heard before is not drawn again, and what comes later is", () => {
  const { made, token, say } = sandbox("x", { isHeard: true });
  say({ lmc: token, say: "log", text: "first" });
  say({ lmc: token, page: { text: "", width: 1, height: 1 } });
  say({ lmc: token, say: "log", text: "clicked" });
  expect(made.element.querySelector("pre")?.textContent).toBe("clicked\n");
});

it("JavaScript gets a page of its own, and no text of it ends its element", () => {
  const { inner } = innerOf(nestedDocument("x = '</script><b>'", "t".repeat(32), { language: "javascript" }));
  expect(inner.querySelector("b")).toBeNull();
  expect(inner.body.querySelector("script")?.textContent).toContain("x = '\\u003c/script>\\u003cb>'");
});

describe("what would go to an address by itself", () => {
  const still = (html: string) => {
    const { frame, inner } = innerOf(nestedDocument(html, "t".repeat(32), { isStill: true }));
    return { frame, inner, again: document.querySelector("button") };
  };
  it("is taken out of a page that is live, and its scripts stay", () => {
    const { inner } = innerOf(
      nestedDocument(
        "<meta http-equiv=' Refresh' content='0;url=http://a.test'><link rel='DNS-prefetch' href='//a.test'>" +
          "<iframe src='http://a.test'></iframe><iframe srcdoc=\"<iframe src='//a.test'></iframe><b>\"></iframe>" +
          "<template shadowrootmode=open><iframe src='//a.test'></iframe></template><script>1</script>",
        "t".repeat(32),
      ),
    );
    expect(inner.documentElement.outerHTML).not.toContain("a.test");
    expect(inner.querySelectorAll("script").length).toBe(2);
  });

  it("is let through as it is where there is nothing of it", () => {
    const html = "<!doctype html>\n<html><body  class=x>\n<p>a</p><script>1</script></body></html>";
    expect(innerOf(nestedDocument(html, "t".repeat(32))).frame.srcdoc.endsWith(`<body>${html}`)).toBe(true);
  });

  it("is found in what the parser makes of it, not in what it looks like", () => {
    const { inner } = still("<svg><p><style><!--</style><iframe src=//a.test>--></svg><math><mtext><iframe src=//a.test>");
    expect(inner.querySelector("iframe[src]")).toBeNull();
  });

  it("runs no script of a page of the past before a person presses the button", () => {
    const { frame, inner, again } = still("<p onclick=x()>seen</p><script>y()</script>");
    expect(inner.body.innerHTML).toBe("<p>seen</p>");
    const rules = inner.querySelector("meta[http-equiv]")?.getAttribute("content") ?? "";
    expect(rules).toMatch(/script-src 'nonce-[0-9a-f]{32}';/);
    expect(rules).not.toMatch(/unsafe-eval|script-src[^;]*unsafe-inline/);
    again?.click(); // by a script
    expect(document.querySelector("body > iframe")).toBe(frame);
  });

  it("a page of the past without scripts has no such button", () => {
    expect(still("<p>seen</p>").again).toBeNull();
  });
});

describe("a frame that does not answer", () => {
  it("is taken away with a sentence, and can be shown again", () => {
    vi.useFakeTimers();
    const { made, token, say } = sandbox("<script>for(;;);</script>", { silentMs: 4_000 });
    vi.advanceTimersByTime(7_900);
    expect(made.isLive).toBe(true);
    say({ lmc: token, pong: 1 });
    vi.advanceTimersByTime(8_000);
    expect(made.isLive).toBe(false);
    expect(made.element.textContent).toContain("gave no answer for 4 s");
    made.element.querySelector("button")?.click();
    expect(made.isLive).toBe(true);
  });

  it("stays while it answers, and while the page is hidden", () => {
    vi.useFakeTimers();
    const { made, token, say } = sandbox("x", { silentMs: 4_000 });
    for (let second = 0; second < 60; second++) {
      vi.advanceTimersByTime(1_000);
      say({ lmc: token, pong: 1 });
    }
    expect(made.isLive).toBe(true);
    const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    vi.advanceTimersByTime(60_000);
    expect(made.isLive).toBe(true);
    hidden.mockRestore();
  });
});

it("only so many frames are live; one that is out of sight gives way", () => {
  const all = Array.from({ length: 20 }, () => sandbox("x").made);
  expect(all.filter((each) => each.isLive).length).toBeLessThanOrEqual(12);
  expect(all.at(-1)?.isLive).toBe(true);
  expect(all[0]?.isLive).toBe(false);
});
