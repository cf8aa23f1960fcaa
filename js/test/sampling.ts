/** Whether this run tries everything (`make test-long`), and the seed that it draws with. */

declare const process: { env: Record<string, string | undefined> };

export const LONG = process.env["LMC_TEST_LONG"] === "1";
export const SEED = Number(process.env["LMC_TEST_SEED"] ?? 0);

/** Draws from 0 to below the argument, the same numbers for the same seed (1 or more). */
export function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}
