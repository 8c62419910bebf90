/**
 * A machine with all that it names: its machines, agents, prompts and profiles. A run keeps it by its hash, so that any worker can go on with the
 * run, whatever became of the files.
 */
import { isMap, type Value } from '../../expression/values.ts';
import type { Machine } from '../definition.ts';
import { readMachine } from '../read-machine.ts';

/** Plain JSON. Paths are those of a place that exists nowhere. */
export interface MachineBundle {
  readonly machine: BundledSource;
  readonly files: Readonly<Record<string, unknown>>;
  /** Machines that it names and does not bring. */
  readonly registered: Readonly<Record<string, BundledSource>>;
}

export interface BundledSource {
  readonly value: unknown;
  readonly folder: string;
  readonly name: string;
}

/** The characters of a bundle: a link takes this much at once. */
export const MOST_BUNDLE = 1024 * 1024;
/** Deep enough that a path which leads out of the folder of a machine still leads somewhere. */
export const BUNDLE_ROOT = '/1/2/3/4/5/6/7/8';
/** The name of the machine itself. */
export const BUNDLED_NAME = 'the machine';

/** The bundle of a machine that brings all it needs. */
export function bundleAlone(value: unknown): MachineBundle {
  return { machine: { value, folder: `${BUNDLE_ROOT}/machine`, name: BUNDLED_NAME }, files: {}, registered: {} };
}

/** Undefined: the text is no bundle. */
export function readBundle(text: string): MachineBundle | undefined {
  const value = parsed(text);
  if (!isMap(value)) return undefined;
  const { machine, files, registered } = value;
  if (!isSource(machine) || !isMap(files) || !isMap(registered)) return undefined;
  return Object.values(registered).every(isSource) ? (value as unknown as MachineBundle) : undefined;
}

/** The machine of a bundle, and what its file says. Undefined: it cannot run. */
export function machineIn({
  machine: { value },
}: MachineBundle): { readonly machine: Machine; readonly raw: Value } | undefined {
  const raw = value as Value;
  const { machine } = readMachine(raw);
  return machine === undefined ? undefined : { machine, raw };
}

function parsed(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return undefined;
  }
}

function isSource(value: Value): boolean {
  return (
    isMap(value) && isMap(value['value']) && typeof value['folder'] === 'string' && typeof value['name'] === 'string'
  );
}
