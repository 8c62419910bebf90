import { encodePayload } from '../../core/task/payload.ts';
import { type LeaseProof, MOST_ENDS, type PlainEnd } from '../../protocol/frames.ts';
import type { Assignment, Completion } from '../../protocol/link.ts';

/** A plain end as it is sent, and its place among those that were reported together. */
export interface SentEnd {
  readonly end: PlainEnd;
  /** Of its task. */
  readonly id: string;
  readonly at: number;
}

/** In UTF-16 units. Escaped in the text of its frame a unit is at most six bytes, so that a batch stays far below the bound of a frame. */
const MOST_UNITS = 256 * 1024;

/** The ends as they are sent. Those that no request can hold are answered here. */
export function sentEnds(
  ends: readonly Completion[],
  answers: (Error | undefined)[],
  proofOf: (lease: Assignment) => LeaseProof,
): readonly SentEnd[] {
  const sent: SentEnd[] = [];
  for (const [at, { lease, result }] of ends.entries()) {
    try {
      const text = result === undefined ? {} : { result: encodePayload(result, { field: 'result' }) };
      sent.push({ end: { lease: proofOf(lease), ...text }, id: lease.id, at });
    } catch (error) {
      answers[at] = error as Error;
    }
  }
  return sent;
}

/** In their order, as many in a batch as a request may hold. An end that is larger by itself is alone. */
export function batchesOf(ends: readonly SentEnd[]): readonly (readonly SentEnd[])[] {
  const batches: SentEnd[][] = [];
  let units = 0;
  for (const one of ends) {
    const size = one.end.result?.length ?? 0;
    const last = batches.at(-1);
    if (last === undefined || last.length >= MOST_ENDS || units + size > MOST_UNITS) {
      batches.push([one]);
      units = size;
    } else {
      last.push(one);
      units += size;
    }
  }
  return batches;
}
