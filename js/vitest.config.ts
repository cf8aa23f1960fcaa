/**
 * The unit tests: every test runs in jsdom (happy-dom lets DOMPurify pass scripts).
 *
 * Files outside of js/ (the recorded streams) are read with `import.meta.glob` and `?raw`.
 */

import { defineConfig } from "vitest/config";

export default defineConfig({
  server: { fs: { allow: [".."] } },
  test: {
    environment: "jsdom",
    environmentOptions: { jsdom: { pretendToBeVisual: true } },
    include: ["test/**/*.test.{ts,tsx}"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Each file has globals of its own, and jsdom is loaded once a thread, which halves the time.
    pool: "vmThreads",
    // a core is left idle otherwise, which here is half of them
    maxWorkers: "100%",
  },
});
