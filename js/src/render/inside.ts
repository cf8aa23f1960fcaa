/**
 * The two functions that run within the sandbox's inner frame.
 *
 * One rule: their text goes into the frame, so they use nothing of this module, nor of any other.
 */

/**
 * What runs inside, in a world of its own: it reports and takes the theme, nothing else.
 *
 * Its text goes into the frame, so it uses nothing of this module. `before` is how many lines of
 * its document stand before what is shown, `picture` how long the HTML may be that says how a page
 * with scripts looks.
 */
export function inside(token: string, most: number, before: number, picture: number): void {
  const post = (message: object) => parent.postMessage({ ...message, lmc: token }, "*");
  const text = (value: unknown): string => {
    try {
      if (value instanceof Element) return value.outerHTML.slice(0, 200);
      return typeof value === "object" && !(value instanceof Error) ? JSON.stringify(value) : String(value);
    } catch {
      return String(value);
    }
  };
  const root = document.documentElement;
  const later = setTimeout.bind(window);
  let said = 0;
  let loaded = 0;
  let quiet = 0;
  let isTold = false;
  let tall = 0;
  let seen = 0;
  const height = () => Math.ceil(Math.max(root.getBoundingClientRect().height, document.body?.scrollHeight ?? 0));
  /** Where it is not drawn (a closed sidebar), `innerText` would hold its scripts. */
  const words = () => {
    if (root.clientWidth) return document.body.innerText;
    const copy = document.body.cloneNode(true) as HTMLElement;
    for (const each of copy.querySelectorAll("script,style")) each.remove();
    return copy.textContent ?? "";
  };
  /** How it looks, as HTML without scripts; "" for a page that looks so by itself. */
  const look = () => {
    if (!picture || document.scripts.length < 2) return "";
    const copy = root.cloneNode(true) as HTMLElement;
    const both = <T extends Element>(name: string) => {
      const copies = copy.querySelectorAll<T>(name);
      return [...root.querySelectorAll<T>(name)].map((each, at) => [each, copies[at] as T] as const);
    };
    for (const [canvas, its] of both<HTMLCanvasElement>("canvas")) {
      const image = document.createElement("img");
      image.src = canvas.toDataURL();
      image.style.cssText = `${canvas.style.cssText};width:${canvas.clientWidth}px;height:${canvas.clientHeight}px`;
      its.replaceWith(image);
    }
    for (const [style, its] of both<HTMLStyleElement>("style")) {
      const rules = style.sheet?.cssRules ?? []; // a script may have put rules in that are in no text
      if (!style.textContent?.trim()) its.textContent = [...rules].map(({ cssText }) => cssText).join("\n");
    }
    for (const each of copy.querySelectorAll("script,meta,[data-lmc]")) each.remove();
    const html = copy.outerHTML;
    return html.length > picture ? "" : html;
  };
  /** Once it has loaded and said nothing for a moment. */
  const settle = () => {
    if (!loaded || isTold) return;
    clearTimeout(quiet);
    quiet = later(() => {
      isTold = true;
      post({ page: { text: words().slice(0, most), width: root.scrollWidth, height: height(), picture: look() } });
    }, Math.max(0, Math.min(300, loaded + 3_000 - Date.now())));
  };
  const say = (kind: string, words: string) => {
    said += 1;
    if (said > 400) return; // it is cut before, and must not drown the page around
    post({ say: kind, text: words.slice(0, most) });
    settle();
  };
  for (const kind of ["log", "info", "warn", "error", "debug"] as const) {
    const old = console[kind];
    console[kind] = (...values: unknown[]) => {
      const words = values.map(text).join(" ");
      say(kind, kind === "error" ? `error: ${words}` : kind === "warn" ? `warning: ${words}` : words);
      old.apply(console, values);
    };
  }
  const refused: [string, unknown][] = [["alert", undefined], ["confirm", false], ["prompt", null], ["print", undefined], ["open", null]];
  for (const [name, answer] of refused) {
    Object.defineProperty(window, name, {
      configurable: true,
      writable: true,
      value: (words: unknown = "") => {
        say("error", `blocked: ${name}(${text(words)})`);
        return answer;
      },
    });
  }
  addEventListener("lmc-blocked", (event) => {
    say("error", `blocked: a link to ${text((event as CustomEvent).detail)} (there is no network here)`);
  });
  const blocked = new Set<string>();
  addEventListener("securitypolicyviolation", ({ blockedURI, effectiveDirective }) => {
    const key = `${effectiveDirective} ${blockedURI}`;
    if (!blocked.has(key)) say("error", `blocked: ${blockedURI} (${effectiveDirective}; there is no network here)`);
    blocked.add(key).add(blockedURI);
  });
  addEventListener(
    "error",
    (event) => {
      const { target } = event;
      if (target instanceof Element) {
        const source = target.getAttribute("src") ?? target.getAttribute("href") ?? "";
        later(() => {
          if (![...blocked].some((uri) => source && (uri === source || uri.startsWith(source) || source.startsWith(uri))))
            say("error", `error: <${target.localName}> could not load ${source.slice(0, 200)}`);
        }, 50);
        return;
      }
      const line = event.lineno - (event.filename.endsWith("block.js") ? 0 : before);
      const at = line > 0 ? ` (line ${line})` : "";
      say("error", `error: ${event.message.replace(/^Uncaught /, "")}${at}`);
    },
    true,
  );
  addEventListener("unhandledrejection", (event) => say("error", `error: unhandled rejection: ${text(event.reason)}`));
  const size = () => {
    const [now, window_] = [height(), innerHeight];
    // a page that is always so much taller than its window would grow for ever
    const isChasing = tall > 0 && window_ > seen && now - window_ === tall - seen && now > window_;
    if (isChasing) root.style.overflowY = "hidden";
    else post({ height: now });
    [tall, seen] = [now, window_];
  };
  /** How many columns of its table are in sight, where it is wider than the window. */
  const columns = () => {
    const cells = [...(document.querySelector("table")?.tBodies[0]?.rows[0]?.querySelectorAll("td") ?? [])];
    const inSight = cells.map((each) => each.getBoundingClientRect()).filter(({ left, right }) => left >= 0 && right <= innerWidth);
    post({ columns: root.scrollWidth > innerWidth ? [inSight.length, cells.length] : [] });
  };
  addEventListener("scroll", columns, { passive: true });
  addEventListener("load", () => {
    loaded = Date.now();
    size();
    new ResizeObserver(() => {
      size();
      columns();
    }).observe(root);
    settle();
  });
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || !data || data.lmc !== token) return;
    if (data.ping) post({ pong: data.ping });
    const theme = document.getElementById("lmc-theme");
    if (theme && typeof data.theme === "string") theme.textContent = data.theme;
  });
  post({ pong: 1 });
}

/**
 * Runs a block of JavaScript in the frame; `await` may stand at its top.
 *
 * Its text goes into the frame, as that of `inside`.
 */
export function runs(code: string): void {
  let source = code;
  if (/\bawait\b/.test(code)) {
    try {
      new Function(code);
    } catch {
      source = `(async () => {${code}\n})()`;
    }
  }
  // nothing is caught here: an error that is thrown anew would be told with this line
  const value: unknown = (0, eval)(`${source}\n//# sourceURL=block.js`);
  // where something is drawn, that is the result; a rejection is heard as such
  void Promise.resolve(value).then((result) => {
    if (result !== undefined && document.body.childElementCount <= 1) console.log(result);
  });
}
