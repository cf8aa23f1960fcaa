/** Numbers of closing words: underlined, or a way to where they stand. */

import { beforeEach, describe, expect, test, vi } from "vitest";
import { markNumbers, showRecord } from "../src/panel/receipts";

let node: HTMLElement;

beforeEach(() => {
  node = document.createElement("div");
});

const texts = (selector: string) => [...node.querySelectorAll(selector)].map(({ textContent }) => textContent);

describe("the numbers of closing words", () => {
  test("what stands nowhere is underlined and said, what stands somewhere leads there", () => {
    node.innerHTML = "<p>Of 1,234 rows <code>42</code> have 9.</p><pre>9</pre><p>v9 19 9.5 2,9 9</p>";
    const before = node.textContent;
    const show = vi.fn();
    markNumbers(node, { "1,234": 3, "42": -1, "9": null }, show);
    expect(texts("u")).toEqual(["9", "9", "Underlined"]);
    expect(texts("button")).toEqual(["1,234"]);
    expect(node.textContent?.startsWith(before ?? "")).toBe(true);
    node.querySelector("button")?.click();
    expect(show).toHaveBeenCalledWith(3, "1,234");
  });

  test("where all are found nothing is said", () => {
    node.innerHTML = "<p>It is 42.</p>";
    markNumbers(node, { "42": 0 }, vi.fn());
    expect(node.textContent).toBe("It is 42.");
  });

  test("what is written in a number's text is no pattern", () => {
    node.innerHTML = "<p>1x5 and 1.5</p>";
    markNumbers(node, { "1.5": null }, vi.fn());
    expect(texts("p:first-child u")).toEqual(["1.5"]);
  });

  test("the record gets the focus, and opens what is folded over the number", () => {
    Element.prototype.scrollIntoView = vi.fn();
    node.innerHTML = '<article data-at="3"><details><p>42</p></details><details><p>7</p></details></article>';
    document.body.append(node);
    showRecord(node, 3, "42");
    expect(document.activeElement).toBe(node.querySelector("article"));
    expect([...node.querySelectorAll("details")].map((each) => each.open)).toEqual([true, false]);
    showRecord(node, 4, "42");
  });
});
