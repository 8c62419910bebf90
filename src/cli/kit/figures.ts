import type { NodeSnapshot, WorkerSnapshot } from '../../app/serve.ts';

/** One queue as it is shown. */
export interface QueueFigures {
  readonly name: string;
  readonly paused: boolean;
  readonly ready: number;
  readonly running: number;
  readonly scheduled: number;
  readonly waiting: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Tasks that ended per second since the look before; undefined at the first look. */
  readonly perSecond: number | undefined;
}

export interface Figures {
  readonly queues: readonly QueueFigures[];
  readonly duties: readonly string[];
  readonly storeBytes: number | undefined;
  readonly uptimeMs: number;
  readonly worker?: WorkerSnapshot | undefined;
  /** What the node does in its cluster. */
  readonly role?: string | undefined;
}

/** A look at the node and the time of it, kept to take the difference from. */
export interface TimedSnapshot extends NodeSnapshot {
  readonly at: number;
}

export function figuresOf(now: TimedSnapshot, before: TimedSnapshot | undefined, startedAt: number): Figures {
  const ended = new Map(before?.queues.map(({ name, stats }) => [name, endedIn(stats)]));
  const seconds = before === undefined ? 0 : (now.at - before.at) / 1000;
  return {
    queues: now.queues.map(({ name, paused, stats }) => ({
      name,
      paused,
      ...stats,
      perSecond: seconds <= 0 ? undefined : Math.max(0, endedIn(stats) - (ended.get(name) ?? 0)) / seconds,
    })),
    duties: now.duties,
    storeBytes: now.storeBytes,
    worker: now.worker,
    role: now.role,
    uptimeMs: Math.round(now.at - startedAt),
  };
}

/** Whether anything but the clock and the rates has moved; a rate follows from the counters. */
export function isNews(now: Figures, shown: Figures | undefined): boolean {
  return shown === undefined || essence(now) !== essence(shown);
}

function essence({ queues, duties, role }: Figures): string {
  return JSON.stringify([queues.map((queue) => ({ ...queue, perSecond: undefined })), duties, role]);
}

function endedIn(stats: { completed: number; failed: number; cancelled: number }): number {
  return stats.completed + stats.failed + stats.cancelled;
}

/** `host-12, 2 of 4 slots busy`. */
export function formatWorker({ name, running, slots }: WorkerSnapshot): string {
  return `${name}, ${formatCount(running)} of ${formatCount(slots)} slots busy`;
}

/** `12,345`. */
export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `42/s`, `3.5/s`; a dash while there is nothing to compare with. */
export function formatRate(perSecond: number | undefined): string {
  if (perSecond === undefined) return '–';
  return `${perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : formatCount(perSecond)}/s`;
}

/** `812 B`, `1.2 MB`. */
export function formatBytes(bytes: number): string {
  let size = bytes;
  for (const unit of ['B', 'kB', 'MB', 'GB']) {
    if (size < 1000) return `${unit === 'B' || size >= 100 ? Math.round(size) : size.toFixed(1)} ${unit}`;
    size /= 1000;
  }
  return `${size.toFixed(1)} TB`;
}

/** The two largest parts: `4s`, `3m 12s`, `2h 5m`, `3d 4h`. */
export function formatUptime(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0s';
  return parts
    .slice(first, first + 2)
    .filter(([count], i) => i === 0 || count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ');
}
