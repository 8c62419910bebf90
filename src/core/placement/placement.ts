import { fault } from '../errors.ts';
import { checkKey, checkName, checkWorkerId } from '../names.ts';
import { CREDENTIAL, parseTest, passes, readTag, type Tag, type TagTest } from './tag.ts';
import { inRange, parseRange, type VersionTest } from './version.ts';
import type { WorkerState } from './worker.ts';

/** What a caller may ask of the worker that runs a task. */
export interface PlacementInput {
  /** Tests of its tags, all of which must pass: `gpu`, `gpu=nvidia`, `memory_gb>=16`. */
  readonly requires?: readonly string[] | undefined;
  /** It must also offer these handlers. */
  readonly handlers?: readonly string[] | undefined;
  /** It must hold these credentials; short for `requires: ["credential:NAME"]`. */
  readonly credentials?: readonly string[] | undefined;
  /** One of these workers, by name. */
  readonly only?: readonly string[] | undefined;
  /** None of these; wins over `only`. */
  readonly never?: readonly string[] | undefined;
  /** At most this many tasks with this queue, handler and placement at once on one worker. */
  readonly maxPerWorker?: number | undefined;
  /** A range of versions: `>=1.4 <2`. */
  readonly version?: string | undefined;
  /** Workers that pass the test come before others; weights add up. */
  readonly prefer?: readonly { readonly tag: string; readonly weight?: number | undefined }[] | undefined;
  /** The worker that last ran a task with this key comes before others. */
  readonly affinity?: string | undefined;
}

/** A checked placement in its canonical form: the same demand is the same text, and so the same lane. */
export interface Placement {
  readonly requires?: readonly string[];
  readonly handlers?: readonly string[];
  readonly only?: readonly string[];
  readonly never?: readonly string[];
  readonly maxPerWorker?: number;
  readonly version?: string;
  readonly prefer?: readonly Preference[];
  readonly affinity?: string;
}

export interface Preference {
  readonly tag: string;
  readonly weight: number;
}

/** What placement needs to know of a worker. */
export interface Candidate {
  readonly worker: number;
  readonly name: string;
  readonly state: WorkerState;
  readonly enabled: boolean;
  readonly tags: readonly string[];
  /** The handlers that it offers; undefined: it did not say, and may offer any. */
  readonly handlers: readonly string[] | undefined;
  /** The queues that it serves; undefined: all. */
  readonly queues: readonly string[] | undefined;
  readonly version: string | undefined;
  readonly priority: number;
}

/** What is placed: the lane of a task. */
export interface Placed {
  readonly queue: string;
  readonly handler: string;
  readonly placement: Placement;
}

/** Why a worker may not run a task. */
export type Obstacle =
  | { readonly kind: 'disabled' | 'draining' | 'offline' | 'not_chosen' | 'excluded' }
  | { readonly kind: 'queue'; readonly queue: string }
  | { readonly kind: 'handler'; readonly handler: string }
  | { readonly kind: 'tag'; readonly tag: string }
  | { readonly kind: 'credential'; readonly credential: string }
  | { readonly kind: 'version'; readonly wanted: string; readonly has: string | undefined };

const KEYS: ReadonlySet<string> = new Set([
  'requires',
  'handlers',
  'credentials',
  'only',
  'never',
  'maxPerWorker',
  'version',
  'prefer',
  'affinity',
] satisfies (keyof PlacementInput)[]);
const MAX_ENTRIES = 50;
const MAX_WEIGHT = 1_000_000;
const MAX_PER_WORKER = 1_000_000;

export const ANYWHERE: Placement = Object.freeze({});

/** Checks a placement and gives it its canonical form: lists are sorted and without repeats, empty fields are left out. */
export function normalizePlacement(input: PlacementInput): Placement {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw refuse('', 'it must be an object');
  for (const key of Object.keys(input)) {
    if (!KEYS.has(key))
      throw refuse('', `${JSON.stringify(key.slice(0, 40))} is not one of its keys ${[...KEYS].join(', ')}`);
  }
  const credentials = list('credentials', input.credentials, checkCredential);
  const requires = list('requires', input.requires, (test) => spell(parseTest('placement.requires', test)));
  const { maxPerWorker, version, affinity } = input;
  const placement = {
    requires: sorted([...requires, ...credentials]),
    handlers: sorted(list('handlers', input.handlers, (name) => checkName('handler', name))),
    only: sorted(list('only', input.only, (name) => checkWorkerId('worker name', name))),
    never: sorted(list('never', input.never, (name) => checkWorkerId('worker name', name))),
    maxPerWorker: maxPerWorker === undefined ? undefined : whole('maxPerWorker', maxPerWorker, MAX_PER_WORKER),
    version: version === undefined ? undefined : spellRange(version),
    prefer: preferences(input.prefer),
    affinity: affinity === undefined ? undefined : checkKey('placement.affinity', affinity),
  };
  const fields = Object.entries(placement).filter(([, value]) =>
    Array.isArray(value) ? value.length > 0 : value !== undefined,
  );
  return fields.length === 0 ? ANYWHERE : (Object.fromEntries(fields) as Placement);
}

/**
 * Everything that keeps this worker from running these tasks; empty: it may run them. Claims, Explain and the tests all decide by this
 * function. It does not check how many tasks the worker has already: the store counts those where it changes them.
 */
export function obstacles({ queue, handler, placement }: Placed, worker: Candidate): readonly Obstacle[] {
  const found: Obstacle[] = [];
  if (!worker.enabled) found.push({ kind: 'disabled' });
  if (worker.state === 'draining') found.push({ kind: 'draining' });
  if (worker.state === 'offline' || worker.state === 'lost') found.push({ kind: 'offline' });
  if (placement.never?.includes(worker.name)) found.push({ kind: 'excluded' });
  if (placement.only !== undefined && !placement.only.includes(worker.name)) found.push({ kind: 'not_chosen' });
  if (worker.queues !== undefined && !worker.queues.includes(queue)) found.push({ kind: 'queue', queue });
  for (const name of new Set([handler, ...(placement.handlers ?? [])])) {
    if (worker.handlers !== undefined && !worker.handlers.includes(name))
      found.push({ kind: 'handler', handler: name });
  }
  if (placement.requires !== undefined) {
    const tags = tagsOf(worker);
    for (const test of testsOf(placement)) if (!passes(test, tags)) found.push(missing(test));
  }
  if (placement.version !== undefined && !inRange(rangeOf(placement), worker.version)) {
    found.push({ kind: 'version', wanted: placement.version, has: worker.version });
  }
  return found;
}

export function eligible(placed: Placed, worker: Candidate): boolean {
  return obstacles(placed, worker).length === 0;
}

/** How much the task prefers a worker, beyond the worker's own priority. */
export function liking(placement: Placement, worker: Candidate): number {
  if (placement.prefer === undefined) return 0;
  const tags = tagsOf(worker);
  return preferencesOf(placement).reduce((sum, { test, weight }) => sum + (passes(test, tags) ? weight : 0), 0);
}

/** A sentence without its subject, for people. */
export function sayObstacle(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case 'disabled':
      return 'is disabled';
    case 'draining':
      return 'is draining';
    case 'offline':
      return 'is not online';
    case 'not_chosen':
      return 'is not among the chosen workers';
    case 'excluded':
      return 'is excluded by the task';
    case 'queue':
      return `does not serve the queue ${obstacle.queue}`;
    case 'handler':
      return `does not offer the handler ${obstacle.handler}`;
    case 'tag':
      return `lacks the tag ${obstacle.tag}`;
    case 'credential':
      return `lacks the credential ${obstacle.credential}`;
    case 'version':
      return `has version ${obstacle.has ?? 'unknown'}, wanted ${obstacle.wanted}`;
  }
}

function missing(test: TagTest): Obstacle {
  const tag = spell(test);
  return tag.startsWith(CREDENTIAL)
    ? { kind: 'credential', credential: tag.slice(CREDENTIAL.length) }
    : { kind: 'tag', tag };
}

// Parsed once for each object: placements live as long as their lanes, tags of workers until they are read again.

const tagCache = new WeakMap<readonly string[], readonly Tag[]>();
const testCache = new WeakMap<Placement, readonly TagTest[]>();
const rangeCache = new WeakMap<Placement, readonly VersionTest[]>();
const preferCache = new WeakMap<Placement, readonly { readonly test: TagTest; readonly weight: number }[]>();

const tagsOf = ({ tags }: Candidate): readonly Tag[] => cached(tagCache, tags, () => tags.map(readTag));
const testsOf = (placement: Placement): readonly TagTest[] =>
  cached(testCache, placement, () =>
    (placement.requires as readonly string[]).map((test) => parseTest('requires', test)),
  );
const rangeOf = (placement: Placement): readonly VersionTest[] =>
  cached(rangeCache, placement, () => parseRange('version', placement.version));
const preferencesOf = (placement: Placement): readonly { readonly test: TagTest; readonly weight: number }[] =>
  cached(preferCache, placement, () =>
    (placement.prefer as readonly Preference[]).map(({ tag, weight }) => ({ test: parseTest('prefer', tag), weight })),
  );

function cached<K extends object, V>(cache: WeakMap<K, V>, key: K, make: () => V): V {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const made = make();
  cache.set(key, made);
  return made;
}

const spell = ({ key, op, value }: TagTest): string => (op === undefined ? key : `${key}${op}${value}`);

function spellRange(version: unknown): string {
  const range = parseRange('placement.version', version);
  // Reversed, because people write the lower bound first.
  return sorted(range.map(({ op, version: numbers }) => `${op}${numbers.join('.')}`))
    .toReversed()
    .join(' ');
}

/** A name, not a test: with an operator in it, it would ask for something else. */
function checkCredential(name: unknown): string {
  const { key, op } = parseTest('placement.credentials', `${CREDENTIAL}${checkKey('placement.credentials', name)}`);
  if (op !== undefined) throw refuse('credentials', `a name must not contain "${op}"`);
  return key;
}

/** The credentials that a worker must hold; undefined: none, as with most. */
export function credentialsIn({ requires }: Placement): readonly string[] | undefined {
  const names = requires?.filter((tag) => tag.startsWith(CREDENTIAL)).map((tag) => tag.slice(CREDENTIAL.length));
  return names === undefined || names.length === 0 ? undefined : names;
}

function preferences(input: PlacementInput['prefer']): readonly Preference[] {
  const weights = new Map<string, number>();
  for (const one of entries('prefer', input)) {
    if (typeof one !== 'object' || one === null || Object.keys(one).some((key) => key !== 'tag' && key !== 'weight')) {
      throw refuse('prefer', 'each entry is an object with a tag and a weight, and nothing else');
    }
    const { tag, weight = 1 } = one as { tag: unknown; weight?: unknown };
    if (!Number.isSafeInteger(weight) || Math.abs(weight as number) > MAX_WEIGHT) {
      throw refuse('prefer', `a weight is a whole number from -${MAX_WEIGHT} to ${MAX_WEIGHT}`);
    }
    const text = spell(parseTest('placement.prefer', tag));
    weights.set(text, (weights.get(text) ?? 0) + (weight as number));
  }
  return [...weights]
    .map(([tag, weight]) => ({ tag, weight }))
    .filter(({ weight }) => weight !== 0)
    .sort((a, b) => (a.tag < b.tag ? -1 : 1));
}

function entries(field: string, value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MAX_ENTRIES) {
    throw refuse(field, `it must be a list of at most ${MAX_ENTRIES} entries`);
  }
  return value;
}

function list(field: string, value: unknown, check: (entry: unknown) => string): readonly string[] {
  return Array.from(entries(field, value), (entry) => check(entry));
}

function sorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

function whole(field: string, value: unknown, max: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number;
  throw refuse(field, `it must be a whole number from 1 to ${max}`);
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field: field === '' ? 'placement' : `placement.${field}`, problem });
}
