import { type Figures, formatUptime } from '../kit/figures.ts';
import { safeLine } from './safe.ts';

/** What a node shows about itself when it starts. */
export interface Banner {
  readonly version: string;
  readonly address: string;
  /** Makes a login link for a browser, good once and not for long. It is for a terminal: a log would keep it. */
  readonly login: () => string;
  /** The store in short: a path, or `memory:`. */
  readonly store: string;
  readonly pid: number;
}

/** The output of `up`: for a terminal, a pipe or a program. */
export interface Display {
  started(banner: Banner): void;
  figures(figures: Figures): void;
  /** A success. */
  note(message: string): void;
  /** An event in the cluster, for the log. */
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** A problem that the process survives. */
  warning(message: string, fields?: Readonly<Record<string, unknown>>): void;
  stopping(): void;
  /** The stop takes long: shows that it can be cut short. */
  stillStopping(): void;
  stopped(uptimeMs: number): void;
  /** Restores the terminal; the process may end right after. */
  restore(): void;
}

export const STILL_STOPPING =
  'Still stopping; press Ctrl-C again to end at once. Nothing acknowledged gets lost either way.';

export function greeting(banner: Banner): string {
  return `Leasehold ${banner.version} is up at ${banner.address} on ${banner.store}; Ctrl-C stops it.`;
}

/** On a terminal. */
export function invitation({ login }: Banner): string {
  return `Web UI: ${login()} (good once, for ten minutes; "leasehold login" makes another)`;
}

/** In a pipe or a log, where a link would let in whoever reads it. */
export function plainInvitation({ address }: Banner): string {
  return `Web UI: ${address}/ui/ ("leasehold login" prints a link that lets a browser in)`;
}

export function farewell(banner: Banner | undefined, uptimeMs: number): string {
  const kept =
    banner === undefined || banner.store.startsWith('memory:') ? '' : ` Everything acknowledged is in ${banner.store}.`;
  return `Stopped after ${formatUptime(uptimeMs)}.${kept}`;
}

/** After this time a node has tried for every duty; the first figures of a plain display come later. */
const SETTLED_MS = 900;

export function duties(figures: Figures): string {
  if (figures.duties.length > 0) return figures.duties.join(', ');
  return figures.uptimeMs < SETTLED_MS ? 'none yet' : 'none here (another process holds them)';
}

/** A message with its fields on one line: `a duty failed (duty: reaper)`. */
export function withFields(message: string, fields: Readonly<Record<string, unknown>> = {}): string {
  // Always one line: text from outside must not look like a line of ours.
  const pairs = Object.entries(fields).map(([name, value]) => `${name}: ${safeLine(String(value))}`);
  return pairs.length === 0 ? message : `${message} (${pairs.join(', ')})`;
}
