/** The effect of a step, counted: 300 bytes, of which nothing repeats that a database could pack. */
import { randomBytes } from 'node:crypto';

const LENGTH = 300;
/** Prime, so that no two steps of a run begin at the same place. */
const STRIDE = 977;
const noise = randomBytes(64 * 1024).toString('base64url');

let count = 0;

export function effect(run: number, step: number): string {
  count++;
  const head = `${run}.${step}.`;
  const from = ((run * 31 + step) * STRIDE) % (noise.length - LENGTH);
  return head + noise.slice(from, from + LENGTH - head.length);
}

export function effects(): number {
  return count;
}
