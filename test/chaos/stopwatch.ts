import { closeSync, openSync, readSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';

/** How long SQLite kept this thread, in milliseconds: by the clock, on a CPU, and in the queue for one. */
export interface Stretch {
  readonly what: string;
  readonly ms: number;
  readonly cpuMs: number;
  readonly queuedMs: number;
}

/** The longest by the clock, and the longest when the queue for a CPU is not counted. */
export interface Longest {
  readonly clock: Stretch;
  readonly queueless: Stretch;
}

export interface Stopwatch {
  /** One call into SQLite: a statement, a commit, a pragma. */
  call: Longest;
  /** From before BEGIN to after COMMIT or ROLLBACK. */
  transaction: Longest;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Times every call of this thread into SQLite from outside the store, so that the proof does not rest on what the store
 * says about itself.
 */
export function startStopwatch(): Stopwatch {
  const none: Stretch = { what: 'nothing', ms: 0, cpuMs: 0, queuedMs: 0 };
  const watch: Stopwatch = {
    call: { clock: none, queueless: none },
    transaction: { clock: none, queueless: none },
  };
  let began: Moment | undefined;

  function time(prototype: object, method: string, textOf: (self: unknown, args: readonly unknown[]) => string): void {
    const methods = prototype as Record<string, Method>;
    const real = methods[method] as Method;
    methods[method] = function timed(this: unknown, ...args: unknown[]): unknown {
      const from = moment();
      const text = textOf(this, args);
      if (text.startsWith('BEGIN')) began = from;
      try {
        return real.apply(this, args);
      } finally {
        const to = performance.now();
        watch.call = longer(watch.call, text, from, to);
        if (began !== undefined && (text === 'COMMIT' || text === 'ROLLBACK')) {
          watch.transaction = longer(watch.transaction, text, began, to);
          began = undefined;
        }
      }
    };
  }

  time(DatabaseSync.prototype, 'exec', (_self, [text]) => text as string);
  for (const method of ['get', 'all', 'run']) {
    time(StatementSync.prototype, method, (self) => (self as StatementSync).sourceSQL);
  }
  return watch;
}

const queueless = ({ ms, queuedMs }: Stretch): number => ms - queuedMs;

function longer(before: Longest, text: string, from: Moment, to: number): Longest {
  if (to - from.at <= queueless(before.queueless)) return before; // the usual case, without asking the kernel
  const now = stretch(text, from, to);
  return {
    clock: now.ms > before.clock.ms ? now : before.clock,
    queueless: queueless(now) > queueless(before.queueless) ? now : before.queueless,
  };
}

interface Moment {
  readonly at: number;
  readonly cpuMs: number;
  readonly queuedMs: number;
}

function stretch(text: string, from: Moment, to: number): Stretch {
  const { cpuMs, queuedMs } = moment();
  const what = text.replaceAll(/\s+/g, ' ').slice(0, 60);
  return { what, ms: to - from.at, cpuMs: cpuMs - from.cpuMs, queuedMs: queuedMs - from.queuedMs };
}

const scheduler = openScheduler();
const line = Buffer.alloc(100);

/** Of the main thread. Only Linux tells how long it stood in the queue for a CPU. */
function moment(): Moment {
  if (scheduler === undefined) {
    const { user, system } = process.threadCpuUsage();
    return { cpuMs: (user + system) / 1000, queuedMs: 0, at: performance.now() };
  }
  const length = readSync(scheduler, line, 0, line.length, 0);
  const [cpu, queued] = line.toString('latin1', 0, length).split(' ');
  return { cpuMs: Number(cpu) / 1e6, queuedMs: Number(queued) / 1e6, at: performance.now() };
}

function openScheduler(): number | undefined {
  try {
    const fd = openSync('/proc/self/schedstat', 'r');
    process.once('exit', () => closeSync(fd));
    return fd;
  } catch {
    return undefined;
  }
}
