/**
 * What the microphone hears, as a wav of 16 kHz and one channel: what models take.
 *
 * One rule: it hears only between `begin` and `stop` or `discard`, and the browser shows that it
 * does. The sound stays in the page until the person sends it.
 */

import { sentenceOf } from "../render/rendering";
import { WORDS } from "../words";

export const RATE = 16_000;
export const BYTES_A_SECOND = 2 * RATE;
/** A question carries 7 MB. */
export const MOST_SECONDS = 180;

/** A recording that goes on. */
export class Recording {
  readonly since = performance.now();
  readonly #recorder: MediaRecorder;
  readonly #stream: MediaStream;
  readonly #parts: Blob[] = [];
  readonly #ended: Promise<void>;

  private constructor(stream: MediaStream) {
    this.#stream = stream;
    this.#recorder = new MediaRecorder(stream);
    this.#ended = new Promise((resolve, reject) => {
      this.#recorder.onstop = () => resolve();
      this.#recorder.onerror = () => reject(new Error(WORDS.micFailed("the recording stopped")));
    });
    this.#ended.catch(() => undefined); // it is heard of at `stop`; a discarded one is nobody's
    this.#recorder.ondataavailable = ({ data }) => this.#parts.push(data);
    this.#recorder.start();
  }

  /** Rejects with a sentence where there is nothing to record with, or it is not allowed. */
  static async begin(): Promise<Recording> {
    if (!window.isSecureContext) throw new Error(WORDS.micInsecure);
    const devices: MediaDevices | undefined = navigator.mediaDevices;
    if (!devices || typeof MediaRecorder !== "function") throw new Error(WORDS.micNone);
    let stream: MediaStream | null = null;
    try {
      stream = await devices.getUserMedia({
        audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true },
      });
      return new Recording(stream);
    } catch (error) {
      if (stream) silence(stream);
      throw new Error(whyNot(error));
    }
  }

  /** End it, and have what was heard; rejects with a sentence when that is nothing. */
  async stop(): Promise<File> {
    if (this.#recorder.state !== "inactive") this.#recorder.stop();
    try {
      await this.#ended;
    } finally {
      silence(this.#stream);
    }
    return wavOf(new Blob(this.#parts));
  }

  /** End it, and forget what was heard. */
  discard(): void {
    this.#recorder.ondataavailable = null;
    if (this.#recorder.state !== "inactive") this.#recorder.stop();
    silence(this.#stream);
  }
}

/** The browser shows that nothing listens any more. */
function silence(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

function whyNot(error: unknown): string {
  const name = error instanceof Error || error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError" || name === "SecurityError") return WORDS.micDenied;
  if (name === "NotFoundError" || name === "OverconstrainedError") return WORDS.micMissing;
  if (name === "NotReadableError" || name === "AbortError") return WORDS.micBusy;
  return WORDS.micFailed(sentenceOf(error));
}

async function wavOf(recorded: Blob): Promise<File> {
  let heard: AudioBuffer;
  try {
    // a context of this rate gives what it decodes in this rate
    heard = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(await recorded.arrayBuffer());
  } catch {
    throw new Error(WORDS.micEmpty);
  }
  if (heard.length === 0) throw new Error(WORDS.micEmpty);
  const channels = Array.from({ length: heard.numberOfChannels }, (_, at) => heard.getChannelData(at));
  const most = Math.min(heard.length, MOST_SECONDS * RATE);
  const mono = new Float32Array(most);
  for (const channel of channels) {
    for (let at = 0; at < most; at++) mono[at] = (mono[at] ?? 0) + (channel[at] ?? 0) / channels.length;
  }
  return new File([wav(mono)], "recording.wav", { type: "audio/wav" });
}

/** Samples from -1 to 1 as a wav of 16 bits and one channel. */
export function wav(samples: Float32Array, rate = RATE): ArrayBuffer {
  const size = 2 * samples.length;
  const data = new DataView(new ArrayBuffer(44 + size));
  const word = (at: number, letters: string) => {
    for (let index = 0; index < letters.length; index++) data.setUint8(at + index, letters.charCodeAt(index));
  };
  word(0, "RIFF");
  data.setUint32(4, 36 + size, true);
  word(8, "WAVEfmt ");
  data.setUint32(16, 16, true); // bytes of this part
  data.setUint16(20, 1, true); // plain numbers
  data.setUint16(22, 1, true); // channels
  data.setUint32(24, rate, true);
  data.setUint32(28, 2 * rate, true); // bytes a second
  data.setUint16(32, 2, true); // bytes a sample
  data.setUint16(34, 16, true); // bits a sample
  word(36, "data");
  data.setUint32(40, size, true);
  samples.forEach((sample, at) => {
    const value = Math.max(-1, Math.min(1, sample));
    data.setInt16(44 + 2 * at, Math.round(value * 32_767), true);
  });
  return data.buffer as ArrayBuffer;
}
