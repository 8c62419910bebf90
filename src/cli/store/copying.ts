import type { Contents, CopyOptions } from '../../app/upkeep/upkeep.ts';
import type { Config } from '../../config/options.ts';
import { exitCodeOfSignal, type StopSignal } from '../kit/exit.ts';
import { formatBytes, formatCount } from '../kit/figures.ts';
import { progressFor } from '../kit/progress-for.ts';
import { onStopSignals } from '../kit/stop-signals.ts';

const MB = 1e6;

/** The result of a copy and its time, or the exit status of the signal that stopped it. */
export type Copied<T> = { readonly result: T; readonly tookMs: number } | { readonly stopped: number };

/** Copies with progress. A signal stops it in order: the partial copy is removed, and nothing else is changed. */
export async function copying<T>(
  config: Pick<Config, 'json' | 'force'>,
  work: (options: CopyOptions) => Promise<T>,
): Promise<Copied<T>> {
  const stop = new AbortController();
  const quit = (signal: StopSignal): void => stop.abort(new Stopped(signal));
  const unlisten = onStopSignals({ stop: quit, force: (signal) => process.exit(exitCodeOfSignal(signal)) });
  let progress: ReturnType<typeof progressFor> | undefined;
  const startedAt = performance.now();
  try {
    const result = await work({
      force: config.force,
      signal: stop.signal,
      onCopied: ({ done, total }) => {
        progress ??= progressFor(config, 'MB copied:', Math.max(1, Math.ceil(total / MB)));
        progress.add(done / MB - progress.done);
      },
    });
    return { result, tookMs: Math.round(performance.now() - startedAt) };
  } catch (error) {
    if (error instanceof Stopped) return { stopped: exitCodeOfSignal(error.signal) };
    throw error;
  } finally {
    progress?.end();
    unlisten();
  }
}

class Stopped extends Error {
  readonly signal: StopSignal;

  constructor(signal: StopSignal) {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }
}

/** `2.4 MB, schema 2, 3 queues, 1,200 tasks: 20 ready, 1,180 completed`. */
export function describeContents({ bytes, schema, queues, tasks }: Contents): string {
  const states = Object.entries(tasks).filter(([, count]) => count > 0);
  const total = states.reduce((sum, [, count]) => sum + count, 0);
  const each = states.map(([state, count]) => `${formatCount(count)} ${state}`).join(', ');
  const counts = [some(queues, 'queue'), `${some(total, 'task')}${each === '' ? '' : `: ${each}`}`];
  return [formatBytes(bytes), `schema ${schema}`, ...counts].join(', ');
}

function some(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}
