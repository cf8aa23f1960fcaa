// The panel's Assembler, built from js/src/stream.ts, and a frame for node: one JSON line of chunks
// for each stream comes in, one JSON line of messages goes out. With "naive", what comes is joined
// by its type alone.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const js = new URL("../js/", import.meta.url);
const esbuild = createRequire(new URL("package.json", js))("esbuild");
const built = await esbuild.build({
  entryPoints: [new URL("src/stream.ts", js).pathname],
  bundle: true,
  format: "esm",
  write: false,
});
const { Assembler } = await import(
  `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString("base64")}`
);

function assemble(chunks) {
  const assembler = new Assembler();
  const messages = chunks.map((chunk) => assembler.feed(chunk)).filter((each) => each !== null);
  const rest = assembler.flush();
  if (rest) messages.push({ ...rest, partial: true });
  return messages;
}

function naive(chunks) {
  const messages = [];
  for (const { role, type, format, content } of chunks) {
    const last = messages.at(-1);
    if (last?.type !== type) messages.push({ role, type, format, content: content ?? "" });
    else last.content += content ?? "";
  }
  return messages;
}

const join = process.argv[2] === "naive" ? naive : assemble;
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line) process.stdout.write(`${JSON.stringify(join(JSON.parse(line)))}\n`);
}
