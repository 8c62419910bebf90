import { type Duration, parseDuration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';

/** How the text of a flag or a variable becomes a value. `name` is what the error calls it. */
type Parse<T> = (text: string, name: string) => T;

export interface Option<T = unknown> {
  /** One sentence without a full stop, for the help and the reference page. */
  readonly doc: string;
  /** What stands for the value in the help; absent for a switch, which takes none. */
  readonly value?: string;
  readonly parse: Parse<T>;
  /** Environment variables, the best name first. A switch has none: it belongs to one call. */
  readonly env: readonly string[];
  /** Reads what a variable says, where that differs from the flag. */
  readonly parseEnv?: Parse<T>;
  /** What somebody else puts under one of these names and does not mean for us: it counts as absent. */
  readonly foreignEnv?: RegExp;
  /** Worked out from the options before it, so that an option may follow another one. */
  readonly fallback: (sofar: { readonly dataDir: string }) => T;
  /** The default in words, where the value itself would not do. */
  readonly fallbackDoc?: string;
}

const MIN_LEASE_MS = 100;

/**
 * Every setting, once. The parser, the help, the type `Config` and `docs/reference/config.md` all follow this table; the
 * flag is the key in kebab-case.
 */
export const OPTIONS = Object.freeze({
  dataDir: {
    doc: 'Folder for the store and whatever else this node keeps',
    value: 'DIR',
    parse: filled,
    env: ['LEASEHOLD_DATA_DIR'],
    fallback: () => '.leasehold',
  },
  store: {
    doc: 'Where tasks are kept: sqlite:PATH, or memory: for a store that ends with the process',
    value: 'URL',
    parse: filled,
    env: ['LEASEHOLD_STORE', 'APFLOW_DATABASE_URL'],
    fallback: ({ dataDir }) => `sqlite:${dataDir}/leasehold.db`,
    fallbackDoc: 'sqlite:DIR/leasehold.db',
  },
  host: {
    doc: 'Address to listen on; only loopback ones until tokens and TLS are there',
    value: 'HOST',
    parse: filled,
    env: ['LEASEHOLD_HOST'],
    fallback: () => '127.0.0.1',
  },
  port: {
    doc: 'Port to listen on; 0 picks a free one',
    value: 'PORT',
    parse: portNumber,
    env: ['LEASEHOLD_PORT'],
    // In every pod beside a Kubernetes Service that is named leasehold this variable is tcp://ADDRESS:PORT of that service.
    foreignEnv: /^tcp:\/\//,
    fallback: () => 7420,
  },
  durability: {
    doc: 'What an acknowledged write survives: full, the loss of power; normal, kill -9',
    value: 'full|normal',
    parse: oneOf('full', 'normal'),
    env: ['LEASEHOLD_DURABILITY'],
    fallback: () => 'full' as const,
  },
  leaseDuration: {
    doc: 'How long a claim holds without being renewed',
    value: 'TIME',
    parse: atLeast(MIN_LEASE_MS),
    env: ['LEASEHOLD_LEASE_DURATION_SECONDS', 'APFLOW_LEASE_DURATION_SECONDS', 'APFLOW_LEASE_DURATION'],
    parseEnv: (text, name) => atLeast(MIN_LEASE_MS)(secondsOrDuration(text), name),
    fallback: () => 30_000,
    fallbackDoc: '30s',
  },
  retention: {
    doc: 'How long finished tasks, their events and their keys are kept',
    value: 'TIME',
    parse: parseDuration,
    env: ['LEASEHOLD_RETENTION'],
    fallback: () => 7 * 24 * 3_600_000,
    fallbackDoc: '7d',
  },
  json: {
    doc: 'Print one JSON object a line, for programs',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
} satisfies Readonly<Record<string, Option>>);

export type OptionKey = keyof typeof OPTIONS;

/** The settings of one process, parsed and frozen. Durations are milliseconds. */
export type Config = { readonly [K in OptionKey]: ReturnType<(typeof OPTIONS)[K]['parse']> };

export const OPTION_KEYS = Object.freeze(Object.keys(OPTIONS) as OptionKey[]);

/** The declaration of an option without the type of its value, for code that treats all alike. */
export function optionOf(key: OptionKey): Option {
  return OPTIONS[key];
}

/** `leaseDuration` → `--lease-duration`. */
export function flagOf(key: OptionKey): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The default as a person would write it. */
export function fallbackOf(key: OptionKey): string {
  const { fallbackDoc, fallback } = optionOf(key);
  return fallbackDoc ?? String(fallback({ dataDir: 'DIR' }));
}

function filled(text: string, name: string): string {
  if (text !== '') return text;
  throw fault('INVALID_INPUT', { field: name, problem: 'it is empty' });
}

function portNumber(text: string, name: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw fault('INVALID_INPUT', { field: name, problem: `${quote(text)} is not a whole number from 0 to 65535` });
}

function oneOf<const T extends string>(...words: readonly T[]): Parse<T> {
  return (text, name) => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw fault('INVALID_INPUT', { field: name, problem: `${quote(text)} is not one of ${words.join(', ')}` });
  };
}

function atLeast(minMs: number): (input: Duration, name: string) => number {
  return (input, name) => {
    const ms = parseDuration(input, name);
    if (ms >= minMs) return ms;
    throw fault('INVALID_INPUT', { field: name, problem: `${quote(String(input))} is less than ${minMs}ms` });
  };
}

/** The variables that count in seconds take a bare number, whole or not, and also the form with a unit. */
function secondsOrDuration(text: string): Duration {
  return /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1000) : text;
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
