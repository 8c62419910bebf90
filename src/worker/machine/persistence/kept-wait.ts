/** A wait for a signal of a run that is written down. */
import type { World } from '../../../core/world.ts';
import type { Command } from '../../../flow/machine/commands.ts';
import { StateError } from '../../../flow/machine/scopes.ts';
import type { Snapshot } from '../../../flow/machine/snapshot.ts';
import { Left } from '../left.ts';
import type { LocalSignals } from '../signals.ts';
import type { KeptRun } from './kept-run.ts';

/** Other processes cannot wake this one: it looks once a second. */
const LOOK_MS = 1000;

export interface KeptWaitOptions {
  readonly world: Pick<World, 'clock' | 'timers'>;
  /** Signals of this process. */
  readonly local: LocalSignals;
  /** Leave the process instead of waiting. */
  readonly leave: boolean;
  readonly stop: AbortSignal;
}

/** Resolves to the data of the signal. Rejects with `Left`, or with a `TimeoutError` when the time that this wait has in all is over. */
export async function keptWait(
  kept: KeptRun,
  snapshot: Snapshot,
  { channel, timeoutMs }: Command & { readonly do: 'wait' },
  { world, local, leave, stop }: KeptWaitOptions,
): Promise<unknown> {
  const there = (await kept.receive(channel)) ?? local.take(channel);
  if (there !== undefined) return there.data;
  const until = kept.waitUntil(timeoutMs);
  const late = new StateError('TimeoutError', `it took more than ${(timeoutMs ?? 0) / 1000} s`);
  if (until !== undefined && until <= world.clock.wall()) throw late;
  await kept.waiting(snapshot, channel);
  if (leave) throw new Left(channel);
  const over = new AbortController();
  const cancel =
    until === undefined ? undefined : world.timers.after(until - world.clock.wall(), () => over.abort(late));
  const own = AbortSignal.any([stop, over.signal]);
  try {
    const { data } = await Promise.race([local.next(channel, own), looked(kept, channel, world, own)]);
    return data;
  } finally {
    cancel?.();
    over.abort();
  }
}

async function looked(
  kept: KeptRun,
  channel: string,
  { timers }: Pick<World, 'timers'>,
  stop: AbortSignal,
): Promise<{ readonly data: unknown }> {
  // Without a place for signals those of this process are all there are.
  if (kept.place.signals === undefined) return new Promise(() => {});
  for (;;) {
    await new Promise<void>((resolve) => {
      const cancel = timers.after(LOOK_MS, resolve);
      stop.addEventListener('abort', () => (cancel(), resolve()), { once: true });
    });
    if (stop.aborted) return new Promise(() => {});
    const signal = await kept.receive(channel);
    if (signal !== undefined) return signal;
  }
}
