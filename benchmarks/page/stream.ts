/**
 * The page of the markdown rows: one reply, streamed by ours and by drawing all of it again.
 *
 * One rule: both get the same pieces at the same times, in the same page, with the same style.
 */

import DOMPurify from "dompurify";
import { marked } from "marked";

import { MarkdownStream } from "../../js/src/render/markdown";

const PIECE = 4; // characters: about a token

interface Drawing {
  push(piece: string): void;
  /** Draw what has come, now. */
  flush(): void;
  end(): void;
}

type Way = "ours" | "whole per frame" | "whole per chunk";

/** Ten sections alike, so that a tenth at the end asks for no more than one at the beginning. */
function reply(): string {
  const section = (n: number) => `## Step ${n}: what the data says

The **mean** of column \`value_${n}\` is about ${n * 17}, with a *spread* that grows from left to
right; see [the table](https://example.org/${n}) below, and note that ${n} rows were dropped since
they had no date. Nothing in it depends on the order of the rows, so sorting it first is safe.

| column | type | missing | mean |
|:--|:-:|--:|--:|
| value_${n} | float64 | ${n} | ${n * 17}.25 |
| month | category | 0 | |
| amount | int64 | ${n * 2} | ${n * 311} |

\`\`\`python
def step_${n}(frame, column="value_${n}"):
    """Drop what has no date, then add the column up by month."""
    kept = frame[frame["date"].notna()].copy()
    kept["month"] = kept["date"].dt.to_period("M")
    total = kept.groupby("month")[column].agg(["sum", "mean", "count"])
    if total.empty:
        raise ValueError(f"nothing is left of {column!r}: were the dates read as text?")
    for month, row in total.iterrows():
        print(f"{month}: {row['sum']:.2f} in {int(row['count'])} orders")
    return total.sort_values("sum", ascending=False).head(${n} + 3)
\`\`\`

What follows from it:

1. The largest month is **always** the eleventh, with $x_{${n}} = \\frac{a + ${n}}{b}$ times the mean.
2. The smallest one is *not* the first, as one might think from the plot above.
   - It has only ${n + 40} orders, and most of them are returns.
   - Without them it would be like any other month.
3. A weighted mean, $$\\bar{x} = \\frac{\\sum_i w_i x_i}{\\sum_i w_i},$$ changes nothing of this.

> A word of caution: ${n} of the rows may be counted twice, since the export was made on two days
> and the identifiers are not the same in both of them. Compare the sums before you go on.

So the next thing to look at is how the amounts of these orders are distributed over the weekdays,
and whether the two outliers at the end of the year are real. The code for it comes right below.
Until then, keep \`frame_${n}\` as it is: the steps that follow read it again and change nothing, so
that each of them can be run by itself and in any order you like, as often as you need to.

`;
  return Array.from({ length: 10 }, (_, n) => section(n + 1)).join("");
}

const text = reply();
const pieces = text.match(new RegExp(`[^]{1,${PIECE}}`, "g")) ?? [];

const host = {
  asset: (name: string) => fetch(`/${name}`).then((answer) => answer.arrayBuffer()),
  openImage: () => undefined,
};

/** The list of the panel, as far as scrolling goes. */
function place(): HTMLElement {
  document.body.innerHTML = '<div class="lmc"><div class="bench-log"><div class="lmc-text"></div></div></div>';
  const log = document.querySelector<HTMLElement>(".bench-log");
  const inner = document.querySelector<HTMLElement>(".lmc-text");
  if (!log || !inner) throw new Error("the page has no place for the reply");
  new ResizeObserver(() => (log.scrollTop = log.scrollHeight)).observe(inner);
  return inner;
}

function drawing(way: Way, inner: HTMLElement): Drawing {
  if (way === "ours") {
    const stream = new MarkdownStream(host);
    inner.append(stream.element);
    return { push: (piece) => stream.push(piece), flush: () => stream.flush(), end: () => stream.end() };
  }
  let all = "";
  let asked = 0;
  inner.classList.add("lmc-md");
  const draw = () => {
    asked = 0;
    inner.innerHTML = DOMPurify.sanitize(marked.parse(all, { async: false }));
  };
  const push = (piece: string) => {
    all += piece;
    if (way === "whole per chunk") draw();
    else if (!asked) asked = requestAnimationFrame(draw);
  };
  return { push, flush: draw, end: draw };
}

/** Every chunk drawn by itself, as fast as it goes: microseconds a chunk in each tenth. */
async function each(way: Way): Promise<number[]> {
  const one = drawing(way, place());
  const tenth = Math.ceil(pieces.length / 10);
  const took: number[] = [];
  for (let from = 0; from < pieces.length; from += tenth) {
    const part = pieces.slice(from, from + tenth);
    await new Promise(requestAnimationFrame); // the page's own work is not counted
    const begun = performance.now();
    for (const piece of part) {
      one.push(piece);
      if (way !== "whole per chunk") one.flush();
    }
    took.push((1_000 * (performance.now() - begun)) / part.length);
  }
  one.end();
  return took;
}

/** So many chunks a second; milliseconds of every frame, and seconds that it fell behind. */
async function paced(way: Way, rate: number): Promise<{ frames: number[]; behind: number; seconds: number }> {
  const one = drawing(way, place());
  const frames: number[] = [];
  let [last, over] = [0, false];
  const frame = (now: number) => {
    if (last) frames.push(now - last);
    last = now;
    if (!over) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const begun = performance.now();
  for (let at = 0; at < pieces.length; ) {
    const due = Math.min(pieces.length, Math.floor(((performance.now() - begun) * rate) / 1_000));
    while (at < due) one.push(pieces[at++] ?? "");
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
  one.end();
  await new Promise(requestAnimationFrame);
  over = true;
  const seconds = (performance.now() - begun) / 1_000;
  return { frames, behind: Math.max(0, seconds - pieces.length / rate), seconds };
}

Object.assign(window, { bench: { each, paced, characters: text.length, chunks: pieces.length } });
