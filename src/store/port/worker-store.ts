import type { WorkerState } from '../../core/placement/worker.ts';
import type { DutyTerm } from './duty-store.ts';

/** The part of the port for workers: who is there, and who has fallen silent. */
export interface WorkerStore {
  /** A new row for each process start: an incarnation never inherits the leases of its predecessor. */
  workerRegister(params: NewWorker): Promise<number>;
  /** The workers that are expected to beat, and how many tasks each has. */
  workerFleet(): Promise<FleetSnapshot>;
  /** Says which of them are known: one that is not was pruned or never registered, and must register. */
  workerBeat(params: { readonly beats: readonly WorkerBeat[] }): Promise<readonly boolean[]>;
  /** All, or those in one state: of thousands few are lost, and the others need not be read to see who. */
  workerList(params?: { readonly state?: WorkerState }): Promise<readonly WorkerRecord[]>;
  /** Marks those as lost that should beat and have not done so for `staleMs`; says which. */
  workerReap(params: { readonly duty: DutyTerm; readonly staleMs: number }): Promise<readonly number[]>;
}

export interface NewWorker {
  readonly name: string;
  readonly incarnation: string;
  readonly slots: number;
  readonly tags: readonly string[];
  readonly host?: string | undefined;
  readonly pid?: number | undefined;
  readonly handlers?: readonly string[] | undefined;
  /** The queues that it serves; not given: all. */
  readonly queues?: readonly string[] | undefined;
  /** Higher ones are given work first; default 0. */
  readonly priority?: number | undefined;
  readonly version?: string | undefined;
  /** Where the server saw it come from. */
  readonly address?: string | undefined;
  /** Also as an event in the feed. */
  readonly told?: boolean | undefined;
}

export interface FleetSnapshot {
  /** Lease time, in which `seenAt` is told. */
  readonly now: number;
  readonly members: readonly FleetMember[];
}

export interface FleetMember extends WorkerRecord {
  readonly running: number;
}

/** What is not given stays as it was; null takes it away. */
export interface WorkerBeat {
  readonly worker: number;
  /** Default: what it was; one that was starting or lost is online. */
  readonly state?: Exclude<WorkerState, 'lost'> | undefined;
  /** A free word of the worker's own. */
  readonly status?: string | null | undefined;
  /** JSON text. */
  readonly metadata?: string | null | undefined;
  /** Tasks that it has ended since the beat before; added to the total of its name. */
  readonly ended?: number | undefined;
  /** Also as an event in the feed. */
  readonly told?: boolean | undefined;
}

export interface WorkerRecord
  extends Omit<NewWorker, 'host' | 'pid' | 'handlers' | 'queues' | 'priority' | 'version' | 'address' | 'told'> {
  readonly worker: number;
  readonly state: WorkerState;
  readonly enabled: boolean;
  /** The last beat, in lease time. */
  readonly seenAt: number;
  /** When it registered, in calendar time. */
  readonly startedAt: number | undefined;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  readonly handlers: readonly string[];
  readonly queues: readonly string[] | undefined;
  readonly priority: number;
  readonly version: string | undefined;
  /** Grows with every change that placement looks at. */
  readonly revision: number;
  readonly status: string | undefined;
  readonly metadata: string | undefined;
  readonly address: string | undefined;
  /** Tasks that all who came under its name have ended, as their beats have told. */
  readonly totalTasks: number;
}
