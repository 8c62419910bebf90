import type { Machine } from '../../flow/machine/definition.ts';
import type { Problem } from '../../flow/machine/problems.ts';
import type { HooksRegistry } from './hooks-registry.ts';
import type { AgentCall } from './inline-driver.ts';
import type { MachineHooks } from './machine-hooks.ts';

export interface LoaderOptions {
  readonly hooks: HooksRegistry;
  /** Machines by their names, for peers that a machine names and does not bring. */
  readonly machines?: ReadonlyMap<string, MachineSource>;
  /** Finds the agent of a machine by the name that the machine has for it. */
  readonly agent: (name: string, of: MachinePlace) => Promise<AgentCall>;
  /** Hooks that the caller gives: they stand for those that the file names for the machine, which are not looked up then. */
  readonly own?: readonly MachineHooks[];
  /** Hooks that the caller gave to the machine around this one, for a machine that names none. */
  readonly inherited?: readonly MachineHooks[];
  /** Reads the files that a machine names; default: from the disk. */
  readonly read?: ReadSource;
  /** Imports a module with hooks: a file, by its whole path, or a package. Default: as Node does. */
  readonly importHooks?: (place: string) => Promise<Readonly<Record<string, unknown>>>;
  /** Every warning is an error. */
  readonly strict?: boolean;
  readonly onWarning?: (text: string) => void;
}

/** Rejects with `NOT_FOUND` for what is not there. */
export type ReadSource = (path: string) => Promise<MachineSource>;

/** A machine, and where its paths begin. */
export interface MachinePlace {
  readonly machine: Machine;
  readonly folder: string;
  readonly name: string;
}

/** What a machine is read from. Paths in it are relative to `folder`. */
export interface MachineSource {
  readonly value: unknown;
  readonly folder: string;
  /** In messages. */
  readonly name: string;
  readonly lineOf?: (path: Problem['path']) => number | undefined;
}
