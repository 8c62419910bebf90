import { type Figures, formatUptime } from '../kit/figures.ts';
import { safeLine } from './safe.ts';

/** What a node says about itself when it starts. */
export interface Banner {
  readonly version: string;
  readonly address: string;
  /** Lets a browser in, once and not for long. */
  readonly login: string;
  /** The store as a person would name it: a path, or `memory:`. */
  readonly store: string;
  readonly pid: number;
}

/** How `up` talks: to a terminal, into a pipe or to a program. */
export interface Display {
  started(banner: Banner): void;
  figures(figures: Figures): void;
  /** Something that went well. */
  note(message: string): void;
  /** What somebody did, for whoever reads the log later. */
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Something that a person should know and the process survives. */
  warning(message: string, fields?: Readonly<Record<string, unknown>>): void;
  stopping(): void;
  /** The stop takes long enough to say that it can be cut short. */
  stillStopping(): void;
  stopped(uptimeMs: number): void;
  /** Puts the terminal back as it was; the process may end right after. */
  restore(): void;
}

export const STILL_STOPPING =
  'Still stopping; press Ctrl-C again to end at once. Nothing acknowledged gets lost either way.';

export function greeting(banner: Banner): string {
  return `Leasehold ${banner.version} is up at ${banner.address} on ${banner.store}; Ctrl-C stops it.`;
}

export function invitation({ login }: Banner): string {
  return `Web UI: ${login} (good once, for ten minutes; "leasehold login" makes another)`;
}

export function farewell(banner: Banner | undefined, uptimeMs: number): string {
  const kept =
    banner === undefined || banner.store.startsWith('memory:') ? '' : ` Everything acknowledged is in ${banner.store}.`;
  return `Stopped after ${formatUptime(uptimeMs)}.${kept}`;
}

/** A node has tried for every duty by then, and the first look of a plain display comes later. */
const SETTLED_MS = 900;

export function duties(figures: Figures): string {
  if (figures.duties.length > 0) return figures.duties.join(', ');
  return figures.uptimeMs < SETTLED_MS ? 'none yet' : 'none here (another process holds them)';
}

/** A message with its fields on one line: `a duty failed (duty: reaper)`. */
export function withFields(message: string, fields: Readonly<Record<string, unknown>> = {}): string {
  // One line, whatever stands in them: what comes from outside must not look like a line of ours.
  const pairs = Object.entries(fields).map(([name, value]) => `${name}: ${safeLine(String(value))}`);
  return pairs.length === 0 ? message : `${message} (${pairs.join(', ')})`;
}
