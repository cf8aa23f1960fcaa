/** Whether this run tries everything (`make test-long`), and the seed that it draws with. */

declare const process: { env: Record<string, string | undefined> };

export const LONG = process.env["LMC_TEST_LONG"] === "1";
export const SEED = Number(process.env["LMC_TEST_SEED"] ?? 0);
