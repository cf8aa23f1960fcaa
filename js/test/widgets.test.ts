import { afterEach, describe, expect, it, vi } from "vitest";

import type { Record as WireRecord } from "../src/protocol";
import { showsWidgets, type WidgetModel } from "../src/widgets";
import { Page } from "./panel-page";

const ID = "0123456789abcdef0123456789abcdef";
const OWN = "11111111111111111111111111111111";

/** A widget as Lumino and the front ends have it, with what it was told. */
class FakeView {
  readonly told: string[] = [];
  readonly luminoWidget: { node: HTMLElement; isAttached: boolean; processMessage(message: object): void };
  removed = 0;
  #gone: () => void = () => undefined;

  constructor(text: string) {
    const node = document.createElement("p");
    node.textContent = text;
    const told = this.told;
    this.luminoWidget = {
      node,
      isAttached: false,
      processMessage(message) {
        const { type } = message as { type: string };
        told.push(`${type}${node.isConnected ? "" : ", not in the page"}`);
        if (type === "after-attach") this.isAttached = true;
        if (type === "after-detach") this.isAttached = false;
      },
    };
  }

  once(_: "remove", callback: () => void): void {
    this.#gone = callback;
  }

  remove(): void {
    if (this.luminoWidget.isAttached && !this.luminoWidget.node.isConnected) throw new Error("not attached");
    this.removed += 1;
    this.#gone();
  }
}

class FakeModel implements WidgetModel {
  comm_live = true;
  #listeners = new Set<() => void>();
  on(_: string, callback: () => void): void {
    this.#listeners.add(callback);
  }
  off(_: string, callback: () => void): void {
    this.#listeners.delete(callback);
  }
  die(): void {
    this.comm_live = false;
    for (const listener of [...this.#listeners]) listener();
  }
  get listeners(): number {
    return this.#listeners.size;
  }
}

function frontEnd(models: Record<string, FakeModel>) {
  const views: FakeView[] = [];
  const asked: string[] = [];
  const widgets = {
    views,
    asked,
    async get_model(id: string): Promise<FakeModel> {
      asked.push(id);
      const model = models[id];
      if (!model) throw new Error("widget model not found");
      return model;
    },
    async create_view(): Promise<FakeView> {
      const view = new FakeView("live!");
      views.push(view);
      return view;
    },
  };
  return widgets;
}

const TEXT = "IntSlider(value=3)\n";
const shown = (widget: string): WireRecord => ({
  message: { role: "computer", type: "console", format: "output", content: TEXT },
  widget,
});

let page: Page | null = null;
async function open(widgets: ReturnType<typeof frontEnd>, ...records: WireRecord[]): Promise<Page> {
  const widget = showsWidgets(widgets, OWN) ?? undefined;
  page = new Page({ records }, undefined, undefined, widget);
  await page.soon();
  return page;
}
const live = (of: Page) => of.all(".lmc-has-widget").map((row) => row.querySelector(".lmc-widget")?.textContent);

afterEach(() => {
  vi.useRealTimers();
  page?.close();
  page = null;
});

describe("a live widget", () => {
  it("stands in the place of its text, attached as Lumino does it", async () => {
    const widgets = frontEnd({ [ID]: new FakeModel() });
    const it = await open(widgets, shown(ID));
    expect(live(it)).toEqual(["live!"]);
    expect(widgets.views[0]?.told).toEqual(["before-attach, not in the page", "after-attach"]);
    expect(it.text("article")).toContain("IntSlider(value=3)"); // it is hidden by the style only
  });

  it("goes with its record and with the panel, and nothing of it stays", async () => {
    const model = new FakeModel();
    const widgets = frontEnd({ [ID]: model });
    const it = await open(widgets, shown(ID), shown(ID));
    expect(widgets.views).toHaveLength(2);
    await it.events({ cut: 1 });
    expect(widgets.views.map((view) => view.removed)).toEqual([0, 1]);
    expect(widgets.views[1]?.told.slice(-2)).toEqual(["before-detach", "after-detach, not in the page"]);
    it.close();
    page = null;
    expect(widgets.views.map((view) => view.removed)).toEqual([1, 1]);
    expect(model.listeners).toBe(0);
  });

  it("is let go of by a panel that was taken out of the page first", async () => {
    const widgets = frontEnd({ [ID]: new FakeModel() });
    const it = await open(widgets, shown(ID));
    it.host.remove();
    it.close();
    page = null;
    expect(widgets.views[0]?.removed).toBe(1);
  });

  it("comes by a mark on a record that is being written", async () => {
    const it = await open(frontEnd({ [ID]: new FakeModel() }));
    const head = { role: "computer", type: "console" } as const;
    await it.events({ grown: { ...head, start: true } }, { marked: { at: 0, widget: ID } });
    await it.events({ grown: { ...head, format: "output", content: TEXT } }, { grown: { ...head, end: true } });
    expect(live(it)).toEqual(["live!"]);
    expect(it.all(".lmc-empty")).toEqual([]);
  });

  it("leaves its text where it was closed, or the kernel is gone", async () => {
    const [closed, gone] = [new FakeModel(), new FakeModel()];
    const widgets = frontEnd({ closed, gone });
    const it = await open(widgets, shown("closed"), shown("gone"));
    expect(live(it)).toHaveLength(2);
    await it.soon(() => widgets.views[0]?.remove());
    expect(live(it)).toHaveLength(1);
    await it.soon(() => gone.die());
    expect(live(it)).toEqual([]);
    expect(it.all(".lmc-widget").map((place) => place.childElementCount)).toEqual([0, 0]);
    expect(widgets.views.map((view) => view.removed > 0)).toEqual([true, true]);
  });

  it("leaves its text where its model is not there, but looks again for a while", async () => {
    vi.useFakeTimers();
    const models: Record<string, FakeModel> = {};
    const widgets = frontEnd(models);
    const it = await open(widgets, shown("late"), shown("never"));
    expect(live(it)).toEqual([]);
    models["late"] = new FakeModel();
    await it.soon(() => vi.advanceTimersByTimeAsync(60_000));
    expect(live(it)).toEqual(["live!"]);
    expect(widgets.asked.filter((id) => id === "never").length).toBeLessThan(10);
    expect(widgets.asked.filter((id) => id === "late")).toHaveLength(2);
  });

  it("is not sought by an id that is none, and a panel is not shown in itself", async () => {
    const ids = ["", "<img>", "../x", "a".repeat(65), OWN];
    const widgets = frontEnd(Object.fromEntries(ids.map((id) => [id, new FakeModel()])));
    const it = await open(widgets, ...ids.map(shown));
    expect(widgets.asked).toEqual([]);
    expect(live(it)).toEqual([]);
  });

  it("is not shown in a panel that stands in a panel", async () => {
    const widgets = frontEnd({ [ID]: new FakeModel() });
    const outer = document.createElement("div");
    outer.className = "lmc-panel";
    document.body.append(outer);
    const inside = (host: HTMLElement) => {
      outer.append(host);
      return host;
    };
    page = new Page({ records: [shown(ID)] }, inside, undefined, showsWidgets(widgets, OWN) ?? undefined);
    await page.soon();
    expect(live(page)).toEqual([]);
    expect(widgets.views).toEqual([]);
    outer.remove();
  });

  it("is text in a front end that lets nobody show widgets", async () => {
    expect(showsWidgets(undefined, OWN)).toBeNull();
    expect(showsWidgets({ get_model: () => Promise.reject(new Error("no")) }, OWN)).toBeNull();
    page = await Page.open({ records: [shown(ID)] });
    expect(live(page)).toEqual([]);
    expect(page.text("article")).toContain("IntSlider(value=3)");
  });
});
