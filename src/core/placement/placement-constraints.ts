import { fault } from '../errors.ts';
import { normalizePlacement, type PlacementInput } from './placement.ts';

/**
 * `placement_constraints` of apflow, in the spelling of its specification (`requires_…`) or of its program (`require_…`).
 * Null counts as not given.
 */
export interface PlacementConstraints {
  /** The node must offer all of these executors. */
  readonly requires_executors?: readonly string[] | null;
  readonly require_executors?: readonly string[] | null;
  /** The node must have exactly these values. */
  readonly requires_capabilities?: Capabilities | null;
  readonly require_capabilities?: Capabilities | null;
  /** One of these nodes; absent or null: any. */
  readonly allowed_nodes?: readonly string[] | null;
  /** None of these; wins over `allowed_nodes`. */
  readonly forbidden_nodes?: readonly string[] | null;
  readonly max_parallel_per_node?: number | null;
}

export type Capabilities = Readonly<Record<string, string | number | boolean>>;

const KEYS: ReadonlySet<string> = new Set([
  'requires_executors',
  'require_executors',
  'requires_capabilities',
  'require_capabilities',
  'allowed_nodes',
  'forbidden_nodes',
  'max_parallel_per_node',
] satisfies (keyof PlacementConstraints)[]);

/** Where a task of an apflow client may run, as `push` takes it. */
export function placementFromConstraints(constraints: PlacementConstraints | null | undefined): PlacementInput {
  if (constraints === null || constraints === undefined) return {};
  checkKeys(constraints);
  const executors = eitherOf(
    ['requires_executors', constraints.requires_executors],
    ['require_executors', constraints.require_executors],
  );
  const capabilities = eitherOf(
    ['requires_capabilities', constraints.requires_capabilities],
    ['require_capabilities', constraints.require_capabilities],
  );
  const { allowed_nodes: allowed, forbidden_nodes: forbidden, max_parallel_per_node: most } = constraints;
  if (Array.isArray(allowed) && allowed.length === 0) {
    throw refuse('allowed_nodes', 'it is empty, so that no node could run the task; leave it out where any may');
  }
  // Refuses now what a push would refuse.
  return normalizePlacement({
    ...(executors === undefined ? {} : { handlers: executors }),
    ...(capabilities === undefined ? {} : { requires: tagsFromCapabilities(capabilities) }),
    ...(allowed === null || allowed === undefined ? {} : { only: allowed }),
    ...(forbidden === null || forbidden === undefined ? {} : { never: forbidden }),
    ...(most === null || most === undefined ? {} : { maxPerWorker: most }),
  });
}

/** The capabilities of an apflow node, as the tags of a worker. A task asks for the same texts. */
export function tagsFromCapabilities(capabilities: Capabilities): readonly string[] {
  if (typeof capabilities !== 'object' || capabilities === null || Array.isArray(capabilities)) {
    throw refuse('requires_capabilities', 'it must be an object of names and values, such as {"gpu": "nvidia"}');
  }
  return Object.entries(capabilities).map(([name, value]) => {
    if (typeof value === 'string' || typeof value === 'boolean') return `${name}=${value}`;
    if (typeof value === 'number' && Number.isFinite(value)) return `${name}=${value}`;
    throw refuse(
      'requires_capabilities',
      `${JSON.stringify(name.slice(0, 40))} must be a text, a number, true or false`,
    );
  });
}

function checkKeys(constraints: unknown): void {
  if (typeof constraints !== 'object' || constraints === null || Array.isArray(constraints)) {
    throw refuse('placement_constraints', 'it must be an object');
  }
  const unknown = Object.keys(constraints).find((key) => !KEYS.has(key));
  if (unknown === undefined) return;
  const hint = `Check the spelling; the known ones are ${[...KEYS].join(', ')}.`;
  throw fault('UNKNOWN_OPTION', { option: unknown.slice(0, 40) }, { hint });
}

/** The one of two spellings that is given. Null counts as not given. */
function eitherOf<T>(
  [one, a]: readonly [name: string, value: T | null | undefined],
  [other, b]: readonly [name: string, value: T | null | undefined],
): T | undefined {
  const given = [a ?? undefined, b ?? undefined].filter((value) => value !== undefined);
  if (given.length === 2) throw refuse(one, `${other} is given too; they mean the same, so give one of them`);
  return given[0];
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
