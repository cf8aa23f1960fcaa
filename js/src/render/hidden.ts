/**
 * What you see is what runs: characters that a page shows as nothing get a mark to be seen by.
 *
 * One rule: the same characters as `revealed` of `lmc_jupyter/content/hidden.py`. Marks
 * are for a person's eyes; what runs is the code that the kernel holds.
 */

const SUSPECT = /[^\n\t -~]/u;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Cn}]/u;
const SYMBOL = /[\p{So}\p{Sm}]/u;
/** Drawn as nothing. */
const FILLERS = new Set([
  0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0, 0xfffc, 0x1d159,
]);
/** Emoji that Unicode counts as punctuation or modifiers; after U+2139 a selector makes another name. */
const EMOJI_LETTERS = new Set([0x203c, 0x2049, 0x3030, 0x303d]);
/** Letters of Greek, Cyrillic, Armenian and phonetic script that look like Latin ones. */
const LOOK_ALIKE =
  /[\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03f2\u03f3\u03f9\u037f\u0405\u0406\u0408\u0410\u0412\u0415\u0417\u041a\u041c-\u041e\u0420-\u0423\u0425\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04ae\u04af\u04ba\u04bb\u04c0\u04cf\u0501\u050c\u051a-\u051d\u0251\u0261\u03b1\u03bd\u03c1\u0555\u0570\u0578\u057d\u0585]/;
/** Small letters of other scripts, and the Latin ones that they look like. */
const TWINS =
  "\u0430\u0441\u0501\u0435\u04bb\u0456\u0458\u04cf\u043e\u0440\u051b\u0455\u0443\u051d\u0445\u03b1\u03bf\u03c1\u0578\u0570\u057d\u0585\u0261\u0251";
const LATIN = "acdehijlopqsywxaopnhuoga";
/** Names of Python that can be written with those letters alone. */
const SHADOWED =
  /^(all|and|any|as|ascii|async|asyncio|class|code|copy|csv|del|else|exec|hash|help|hex|id|in|io|is|json|len|locals|logging|nonlocal|open|os|pass|pow|pwd|queue|shlex|slice|ssl|sys|uuid|while|yield)$/;
/** Letters of Arabic and Indic scripts, in whose words a joiner is a part of the spelling. */
const JOINED = /[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\u0900-\u0dff]/;
/** At the edge of a word they are a formula's. */
const SYMBOLS = /^[\u03b1\u03bd\u03c1]+|[\u03b1\u03bd\u03c1]+$/g;
const WORD = /\\[nrt]|%[-+ #0-9.]*[dfs]|([\p{L}\p{Nl}\p{No}]+)/gu;
const OTHER =
  /[^A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]/;
const ODD_SPACES = new Set([0x00a0, 0x1680, 0x202f, 0x205f, 0x3000]);

/** Splits code into [text, hidden]; a hidden part is a mark such as `⟨U+202E⟩`. */
export function splitHidden(code: string): [string, boolean][] {
  if (!SUSPECT.test(code)) return code ? [[code, false]] : [];
  const parts: [string, boolean][] = [];
  const characters = Array.from(code); // lone surrogates stay as they are
  const places = lookAlikes(code);
  let plain = "";
  characters.forEach((character, index) => {
    if (SUSPECT.test(character) && (places.has(index) || isHidden(characters, index))) {
      if (plain) parts.push([plain, false]);
      plain = "";
      const point = pointOf(character);
      parts.push([`⟨U+${point.toString(16).toUpperCase().padStart(4, "0")}⟩`, true]);
    } else {
      plain += character;
    }
  });
  if (plain) parts.push([plain, false]);
  return parts;
}

/**
 * Where letters stand that look like Latin ones, or are such ones for Python, as numbers of
 * characters: in words that read like a name of Python, or have Latin letters and no other foreign. `_`, a dot, digits and escapes such as `\n` and `%d` part words.
 */
function lookAlikes(code: string): ReadonlySet<number> {
  const indices = new Set<number>();
  let at = 0;
  let before = 0; // characters before `at`
  for (const word of code.matchAll(WORD)) {
    before += Array.from(code.slice(at, word.index)).length;
    at = word.index;
    const whole = Array.from(word[1] ?? "");
    const twin = whole.map((letter) => LATIN[TWINS.indexOf(letter)] ?? letter).join("");
    const isName = SHADOWED.test(twin);
    if (isName || isLatinForPython(whole)) {
      whole.forEach((letter, index) => {
        if (isName ? letter > "\x7f" : isOtherForm(letter)) indices.add(before + index);
      });
      continue;
    }
    const letters = Array.from((word[1] ?? "").replace(SYMBOLS, (edge) => " ".repeat(edge.length)));
    const others = letters.flatMap((letter, index) =>
      OTHER.test(letter) && /\p{L}/u.test(letter) ? [index] : [],
    );
    if (!letters.some((letter) => /[A-Za-z]/.test(letter))) continue;
    if (!others.every((index) => LOOK_ALIKE.test(letters[index] ?? ""))) continue;
    for (const index of others) indices.add(before + index);
  }
  return indices;
}

/** Whether Python reads this word as a name of ASCII letters alone; `ℝ` and `xⁿ` are plain to see. */
function isLatinForPython(word: string[]): boolean {
  const [first = ""] = word;
  if (word.length === 1 && (/[\u2100-\u218f]/.test(first) || !isOtherForm(first))) return false;
  return word.length > 0 && !/[^\0-\x7f]/.test(word.join("").normalize("NFKC"));
}

function isOtherForm(letter: string): boolean {
  return /[^\0-\x7fªº]/.test(letter) && /[\p{Lu}\p{Ll}\p{Lt}\p{Lo}\p{Nl}]/u.test(letter);
}

/** A name or a word as one text, in which hidden characters are marks. */
export function visible(text: string): string {
  return splitHidden(text)
    .map(([part]) => part)
    .join("");
}

/** What an editor may show: without hidden characters, for a field cannot mark them. */
export function withoutHidden(code: string): string {
  if (!SUSPECT.test(code)) return code;
  const characters = Array.from(code);
  return characters
    .map((character, index) => {
      if (!SUSPECT.test(character) || !isHidden(characters, index)) return character;
      return /\p{Zs}/u.test(character) ? " " : "";
    })
    .join("");
}

/** How many hidden characters the code has. */
export function hidden(code: string): number {
  return splitHidden(code).filter(([, isMark]) => isMark).length;
}

function isHidden(characters: string[], index: number): boolean {
  const character = characters[index] ?? "";
  const point = pointOf(character);
  const before = characters[index - 1] ?? "";
  const after = characters[index + 1] ?? "";
  // asks for the picture form of the emoji before it: plain to see
  if (point === 0xfe0f) return !(isEmoji(before) || (/^[0-9#*]$/.test(before) && after === "\u20e3"));
  if ((point === 0x200c || point === 0x200d) && JOINED.test(before) && JOINED.test(after)) return false;
  // joins two emoji into one
  if (point === 0x200d) return !((isEmoji(before) || before === "\ufe0f") && isEmoji(after));
  if (FILLERS.has(point) || isOddSpace(point) || (point >= 0xfe00 && point <= 0xfe0e)) return true;
  if ((point >= 0xe0100 && point <= 0xe01ef) || (point >= 0x180b && point <= 0x180f)) return true;
  return INVISIBLE.test(character);
}

function isOddSpace(point: number): boolean {
  return ODD_SPACES.has(point) || (point >= 0x2000 && point <= 0x200a);
}

/** Whether a selector or joiner beside it belongs to a picture: symbols outside ASCII. */
function isEmoji(character: string): boolean {
  const point = pointOf(character);
  if (point < 0x7f || FILLERS.has(point)) return false;
  const isSkinTone = point >= 0x1f3fb && point <= 0x1f3ff;
  return isSkinTone || EMOJI_LETTERS.has(point) || SYMBOL.test(character);
}

function pointOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
