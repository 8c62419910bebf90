import type { Value } from '../expression/values.ts';
import { isMap, type ValueMap } from '../expression/values.ts';
import type { SnapshotPatch } from './history/patch.ts';
import { isSnapshotPatch } from './history/patch.ts';

/** The handler that runs machines, and the queue of runs that name none. */
export const MACHINE_HANDLER = 'machine';
export const MACHINE_QUEUE = 'machines';
/** A run that kills its worker again and again comes to an end. A wait gives its try back. */
export const MACHINE_TRIES = 25;

/** The input of a task of this handler. */
export interface MachinePayload {
  /** The hash of the stored definition. */
  readonly definition?: string;
  /** Or the name of a machine that the worker knows. */
  readonly name?: string;
  readonly input?: Value;
  /** Where a fork begins: a patch of the empty snapshot. */
  readonly from?: SnapshotPatch;
  /** What the caller named the run. */
  readonly executionId?: string;
  /** Tags of the workers that can run it: what it starts asks for them too. */
  readonly requires?: readonly string[];
  /** The way from the machine of the definition to this one, by the names that each has for the next. */
  readonly peers?: readonly string[];
  readonly parent?: string;
  readonly depth?: number;
  readonly maxDepth?: number;
}

/** A text says what is wrong with it. */
export function readPayload(given: Value): MachinePayload | string {
  if (!isMap(given)) return 'it is a map';
  const { definition, name, from, peers, requires, executionId, parent, depth, maxDepth } = given as ValueMap;
  if ((typeof definition === 'string') === (typeof name === 'string'))
    return 'it has either "definition" or "name", a text';
  for (const [field, value] of Object.entries({ executionId, parent }))
    if (value !== undefined && typeof value !== 'string') return `"${field}" is a text`;
  for (const [field, value] of Object.entries({ depth, maxDepth }))
    if (value !== undefined && !Number.isSafeInteger(value)) return `"${field}" is a whole number`;
  if (from !== undefined && !isSnapshotPatch(from)) return '"from" is where a run stood';
  for (const [field, value] of Object.entries({ peers, requires }))
    if (value !== undefined && !(Array.isArray(value) && value.every((one) => typeof one === 'string')))
      return `"${field}" is a list of names`;
  return given as MachinePayload;
}
