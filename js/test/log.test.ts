/** The list follows its end until the reader leaves it; jsdom has no layout, so the heights are said. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { Conversation } from "../src/conversation";
import { MessageList } from "../src/panel/log";
import type { Acts } from "../src/panel/row";

describe("the list of records", () => {
  let list: MessageList;
  let sizes: { scrollTop: number; scrollHeight: number; clientHeight: number };
  const scrolled = (now: Partial<typeof sizes>) => {
    Object.assign(sizes, now);
    list.element.dispatchEvent(new Event("scroll"));
  };
  const atEnd = () => sizes.scrollTop + sizes.clientHeight >= sizes.scrollHeight;

  beforeEach(() => {
    list = new MessageList(new Conversation(), {} as Acts);
    sizes = { scrollTop: 0, scrollHeight: 12_021, clientHeight: 664 };
    for (const name of ["scrollHeight", "clientHeight"] as const) {
      Object.defineProperty(list.element, name, { get: () => sizes[name] });
    }
    Object.defineProperty(list.element, "scrollTop", {
      get: () => sizes.scrollTop,
      set: (top: number) => (sizes.scrollTop = Math.min(top, sizes.scrollHeight - sizes.clientHeight)),
    });
    list.toEnd();
    expect(sizes.scrollTop).toBe(11_357);
  });
  afterEach(() => list.dispose());

  it("that got more room, was moved up for it, and has grown since, follows its end", () => {
    scrolled({ clientHeight: 698, scrollTop: 11_323, scrollHeight: 12_090 });
    expect(list.following).toBe(true);
    expect(atEnd()).toBe(true);
  });

  it("of which something went, and that has grown again, follows its end", () => {
    scrolled({ scrollTop: 11_000, scrollHeight: 11_900 });
    expect(list.following).toBe(true);
    expect(atEnd()).toBe(true);
  });

  it("stays where its reader went, however it changes then, until they come back to its end", () => {
    scrolled({ scrollTop: 11_200, scrollHeight: 12_100 }); // it grows as they scroll
    expect(list.following).toBe(false);
    scrolled({ clientHeight: 500, scrollTop: 11_100 });
    expect([list.following, sizes.scrollTop]).toEqual([false, 11_100]);
    scrolled({ scrollTop: 11_590 });
    expect(list.following).toBe(true);
  });
});
