import { type EngineError, fault } from '../errors.ts';
import type { WorkerState } from './worker.ts';

/** Who takes the name of a joined worker, and where. */
export interface NameTaker {
  /** Name and incarnation; for a program that tells no incarnation, what stays the same from start to start. */
  readonly holder: string;
  /** The process that the worker is connected to. Each start has another one. */
  readonly process: string;
  /** The id of that process as a node; undefined: it is in no cluster. */
  readonly node?: string | undefined;
}

/** Who has a name, as the store knows it. */
export interface NameHold extends Pick<NameTaker, 'holder' | 'process'> {
  /** Of the worker's row. */
  readonly state: WorkerState;
  /** Since its last heartbeat. */
  readonly silentMs: number;
  /** A later start has taken the place of the node: whoever was connected to it is not any more. */
  readonly nodeEnded: boolean;
}

/** A joined worker sends a heartbeat every ten seconds at least. */
export const NAME_SILENT_MS = 15_000;

/** Whether somebody else has to wait for the name. A process decides by itself about those that are connected to it. */
export function keepsName(hold: NameHold, by: NameTaker): boolean {
  if (hold.holder === by.holder || hold.process === by.process || hold.nodeEnded) return false;
  return hold.state !== 'offline' && hold.state !== 'lost' && hold.silentMs <= NAME_SILENT_MS;
}

export function nameTaken(name: string): EngineError {
  return fault(
    'CONFLICT',
    { problem: `a worker named ${name} is connected already` },
    { hint: 'Stop it, or give this one a name and a secret of its own.' },
  );
}
