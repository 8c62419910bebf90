import type { Limit } from '../../../src/core/limits/limit.ts';
import { type Case, endedIt, type Final, keyOf } from './farm-evidence.ts';
import { LIMITS, usesOf } from './farm-limits.ts';
import type { Start } from './farm-notes.ts';

/** When a handler ran that certainly had its lease, and what it took. */
interface Span {
  readonly name: string;
  readonly slot: string;
  readonly from: number;
  readonly to: number;
}

/** No more handlers ran at once than their limits allow, by what the handlers themselves wrote down. */
export function checkLimits(it: Case): void {
  const frozen = new Set<number>();
  const killed = new Map<number, number>();
  const lastWait = new Map<string, number>();
  for (const note of it.evidence.notes) {
    if (note.note === 'struck' && note.signal === 'SIGSTOP') frozen.add(note.pid);
    if (note.note === 'struck' && note.signal === 'SIGKILL') killed.set(note.pid, note.at);
    if (note.note !== 'waits') continue;
    const attempt = `${note.id}/${note.attempt}`;
    lastWait.set(attempt, Math.max(note.at, lastWait.get(attempt) ?? 0));
  }
  const spans: Span[] = [];
  for (const [attempt, start] of it.starts) {
    const final = it.finals.get(start.id as string);
    const uses = final === undefined ? [] : usesOf(final.handler, keyOf(final.payload));
    if (final === undefined || uses.length === 0) continue;
    const outcome = outcomeOf(final, start);
    if (outcome === 'expired') it.gates.limitedReaped++;
    const to =
      outcome === 'parked'
        ? lastWait.get(attempt)
        : outcome !== 'expired'
          ? it.ends.get(attempt)?.at
          : // Its lease ran out after its worker was killed, and not while it stood still.
            frozen.has(start.worker as number)
            ? undefined
            : killed.get(start.worker as number);
    if (to === undefined) continue;
    for (const { name, key } of uses) {
      spans.push({ name, slot: `${name}/`, from: start.at, to });
      if (key !== undefined) spans.push({ name, slot: `${name}/${key}`, from: start.at, to });
    }
  }
  for (const [slot, own] of Map.groupBy(spans, (span) => span.slot)) {
    const { concurrent, perKey } = LIMITS[own[0]?.name as keyof typeof LIMITS] as Partial<Limit>;
    const most = (slot.endsWith('/') ? concurrent : perKey) ?? Number.POSITIVE_INFINITY;
    const peak = peakOf(own);
    if (peak > most) it.wrong(`${peak} ran at once of ${slot}, which allows ${most}`);
  }
  for (const { id, reason, attempt } of it.evidence.finals) {
    if (reason !== 'timeout') continue;
    it.gates.startsTimedOut++;
    if (attempt > 0) it.wrong(`${id} was claimed, and then failed because nobody had`);
  }
}

/** How an attempt ended. */
function outcomeOf(final: Final, { attempt }: Start): string | undefined {
  const recorded = final.attempts.find((one) => one.attempt === attempt)?.outcome;
  return recorded ?? (endedIt(final) && final.attempt === attempt ? final.state : undefined);
}

function peakOf(spans: readonly Span[]): number {
  const steps = spans.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to, by: -1 },
  ]);
  let active = 0;
  let peak = 0;
  for (const { by } of steps.toSorted((a, b) => a.at - b.at || a.by - b.by)) {
    active += by;
    peak = Math.max(peak, active);
  }
  return peak;
}
