/**
 * When to draw: at most once a frame, and less often when drawing is slow.
 *
 * One rule: whoever draws a stream asks here, so that drawing never takes more than about a third
 * of the page's time.
 */

const REST = 2; // after drawing for t ms, at least REST * t ms of rest
const UNNOTICED_MS = 4; // so short that no rest is needed

/** Calls `draw` in the next frame after `ask`, however often it was asked. */
export class Frames {
  #asked = 0;
  #notBefore = 0;
  readonly #draw: () => void;
  readonly #gap: number;

  /** `gap`: milliseconds between two drawings at least. */
  constructor(draw: () => void, gap = 0) {
    this.#draw = draw;
    this.#gap = gap;
  }

  ask(): void {
    if (!this.#asked) this.#asked = requestAnimationFrame(() => this.#frame());
  }

  /** Draw now, whatever was asked. */
  now(): void {
    this.cancel();
    this.#timed();
  }

  cancel(): void {
    cancelAnimationFrame(this.#asked);
    this.#asked = 0;
  }

  #frame(): void {
    this.#asked = 0;
    if (performance.now() < this.#notBefore) this.ask();
    else this.#timed();
  }

  #timed(): void {
    const begun = performance.now();
    this.#draw();
    const ended = performance.now();
    const took = ended - begun;
    this.#notBefore = ended + Math.max(this.#gap, took > UNNOTICED_MS ? REST * took : 0);
  }
}
