/** The microphone of the composer: what it records, how it is seen, and what it says where it cannot. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { readFiles } from "../src/panel/attach";
import { RATE, wav } from "../src/panel/record";
import { kind } from "../src/render/base64";
import { WORDS } from "../src/words";
import { Page } from "./panel-page";

const until = (holds: () => unknown) => vi.waitFor(holds, { timeout: 60_000 });

/** Two channels of a second of 0.5 and of -1.5, as a browser would have decoded them. */
class Decoded {
  readonly numberOfChannels = 2;
  constructor(readonly length = RATE) {}
  getChannelData(channel: number): Float32Array {
    return new Float32Array(this.length).fill(channel ? -1.5 : 0.5);
  }
}

class Recorder {
  state = "inactive";
  onstop = () => undefined;
  onerror = () => undefined;
  ondataavailable: ((event: { data: Blob }) => void) | null = null;
  start(): void {
    this.state = "recording";
  }
  stop(): void {
    this.state = "inactive";
    this.ondataavailable?.({ data: new Blob(["opus"]) });
    this.onstop();
  }
}

const tracks = { stopped: 0, stop: () => (tracks.stopped += 1) };
let decoded: () => Promise<Decoded>;
let allowed: () => Promise<unknown>;
let page: Page;

beforeEach(() => {
  tracks.stopped = 0;
  decoded = () => Promise.resolve(new Decoded());
  allowed = () => Promise.resolve({ getTracks: () => [tracks] });
  vi.stubGlobal("isSecureContext", true);
  vi.stubGlobal("MediaRecorder", Recorder);
  vi.stubGlobal(
    "OfflineAudioContext",
    class {
      decodeAudioData = () => decoded();
    },
  );
  Object.defineProperty(navigator, "mediaDevices", {
    configurable: true,
    value: { getUserMedia: () => allowed() },
  });
  Blob.prototype.arrayBuffer ??= () => Promise.resolve(new ArrayBuffer(4));
});
afterEach(() => {
  page?.close();
  vi.unstubAllGlobals();
  Reflect.deleteProperty(navigator, "mediaDevices");
});

const record = () => page.press(WORDS.record);
const chips = () => page.all(".lmc-chip");

describe("a wav", () => {
  it("has the head that readers want, and samples within their bounds", () => {
    const data = new DataView(wav(new Float32Array([0, 1, -1, 7, -0.5])));
    const word = (at: number) => String.fromCharCode(...[0, 1, 2, 3].map((by) => data.getUint8(at + by)));
    expect([word(0), word(8), word(12), word(36)]).toEqual(["RIFF", "WAVE", "fmt ", "data"]);
    expect([4, 16, 24, 28, 40].map((at) => data.getUint32(at, true))).toEqual([46, 16, 16_000, 32_000, 10]);
    expect([20, 22, 32, 34].map((at) => data.getUint16(at, true))).toEqual([1, 1, 2, 16]);
    expect([0, 1, 2, 3, 4].map((at) => data.getInt16(44 + 2 * at, true))).toEqual([0, 32_767, -32_767, 32_767, -16_383]);
  });
});

describe("the microphone", () => {
  it("records, shows that it does, and attaches what was heard", async () => {
    page = await Page.open();
    expect(page.root.querySelector(".lmc-recording")).toBeNull();
    await record();
    expect(page.find(".lmc-recording").getAttribute("aria-label")).toBe(WORDS.recording);
    expect(page.text(".lmc-recording")).toMatch(/\d\.\d s/);
    expect(document.activeElement?.textContent).toBe(WORDS.recordStop);
    await page.press(WORDS.recordStop);
    await until(() => expect(chips().length).toBe(1));
    expect(tracks.stopped).toBe(1);
    expect(page.root.querySelector(".lmc-recording")).toBeNull();
    const player = page.find<HTMLAudioElement>(".lmc-chip audio");
    expect(player.controls).toBe(true);
    expect(player.autoplay).toBe(false);
    await page.press("Send");
    const [{ attachments: [sent] } = { attachments: [] }] = page.kernel.heard("ask");
    expect(sent).toMatchObject({ name: "recording.wav", mime: "audio/wav" });
    expect(kind(sent?.data ?? "")).toBe("wav");
    const bytes = Uint8Array.from(atob(sent?.data ?? ""), (letter) => letter.charCodeAt(0));
    expect(bytes.length).toBe(44 + 2 * RATE);
    expect(new DataView(bytes.buffer).getInt16(44, true)).toBe(Math.round(-0.5 * 32_767)); // the mean of both
  });

  it("forgets what is discarded, and lets the microphone go with the panel", async () => {
    page = await Page.open();
    await record();
    await page.press(WORDS.discard);
    expect(page.root.querySelector(".lmc-recording")).toBeNull();
    expect(chips().length).toBe(0);
    expect(tracks.stopped).toBe(1);
    await record();
    page.close();
    expect(tracks.stopped).toBe(2);
    page = await Page.open();
  });

  it("ends by itself when a question carries no more", async () => {
    page = await Page.open();
    await record();
    const now = performance.now();
    vi.spyOn(performance, "now").mockReturnValue(now + 181_000);
    await until(() => expect(chips().length).toBe(1));
    vi.restoreAllMocks();
    await until(() => expect(page.text(".lmc-notice")).toContain("at its limit of 3 min"));
  });

  it.each([
    ["NotAllowedError", WORDS.micDenied],
    ["NotFoundError", WORDS.micMissing],
    ["NotReadableError", WORDS.micBusy],
    ["TypeError", "Nothing was recorded: odd"],
  ])("says what to do: %s", async (name, sentence) => {
    page = await Page.open();
    allowed = () => Promise.reject(Object.assign(new Error("odd"), { name }));
    await record();
    expect(page.text(".lmc-notice")).toContain(sentence);
    expect(page.find<HTMLButtonElement>(`[aria-label="${WORDS.record}"]`).disabled).toBe(false);
  });

  it("says so where pages may not record, where browsers cannot, and when nothing was heard", async () => {
    page = await Page.open();
    vi.stubGlobal("isSecureContext", false);
    await record();
    expect(page.text(".lmc-notice")).toContain(WORDS.micInsecure);
    vi.stubGlobal("isSecureContext", true);
    vi.stubGlobal("MediaRecorder", undefined);
    await record();
    expect(page.text(".lmc-notice")).toContain(WORDS.micNone);
    vi.stubGlobal("MediaRecorder", Recorder);
    decoded = () => Promise.reject(new Error("no data"));
    await record();
    await page.press(WORDS.recordStop);
    await until(() => expect(page.text(".lmc-notice")).toContain(WORDS.micEmpty));
    expect(tracks.stopped).toBe(1);
  });
});

describe("a sound that is dropped", () => {
  it("is played when it is a wav, and is a file else", async () => {
    const names = [
      ["a.wav", "audio/wav"],
      ["b.wav", "audio/x-wav"],
      ["c.mp3", "audio/mpeg"],
      ["d.svg", "image/svg+xml"],
    ] as const;
    const { read } = await readFiles(names.map(([name, type]) => new File(["RIFF"], name, { type })), []);
    expect(read.map(({ sound }) => sound !== null)).toEqual([true, true, false, false]);
    expect(read.map(({ preview }) => preview)).toEqual([null, null, null, null]);
  });
});
