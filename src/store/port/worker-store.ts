import type { NameTaker } from '../../core/placement/name-hold.ts';
import type { WorkerState } from '../../core/placement/worker.ts';
import type { DutyTerm } from './duty-store.ts';
import type { NewTicket } from './pool-store.ts';

/** The part of the port for workers: which are there, and which have fallen silent. */
export interface WorkerStore {
  /**
   * A new row for each process start: an incarnation never inherits the leases of its predecessor. One that takes its name
   * is refused with `CONFLICT` while somebody else keeps that (`keepsName`), decided in the same write.
   */
  workerRegister(params: NewWorker): Promise<number>;
  /** The workers that are expected to beat, and how many tasks each has. */
  workerFleet(): Promise<FleetSnapshot>;
  /** Answers which of them are known. One that is not was pruned or never registered, and must register. */
  workerBeat(params: { readonly beats: readonly WorkerBeat[] }): Promise<readonly boolean[]>;
  /** All workers, or those in one state: of thousands few are lost, and the others need not be read to find them. */
  workerList(params?: { readonly state?: WorkerState }): Promise<readonly WorkerRecord[]>;
  /**
   * Marks workers as lost that should beat and have been silent for longer than they may: each for its own `staleMs`; one
   * that told none for this one, and for two of its beats at least. Returns which.
   */
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
  /** Workers with a higher priority get work first; default 0. */
  readonly priority?: number | undefined;
  readonly version?: string | undefined;
  /** The address that it connected from. */
  readonly address?: string | undefined;
  /** The pool that it belongs to. It groups workers, and decides nothing. */
  readonly pool?: string | undefined;
  /** How often it beats. */
  readonly beatMs?: number | undefined;
  /** How long it may be silent before it is lost, whoever looks; not given: as the reaper has it. */
  readonly staleMs?: number | undefined;
  /** Adds an event to the feed. */
  readonly told?: boolean | undefined;
  /** The ticket that it was started with: it is redeemed in the same write, and gives the pool. Refused with `TICKET_REFUSED`. */
  readonly redeems?: NewTicket | undefined;
  /** It takes its name: one name has one connection in the whole cluster. Undefined: it works on the store itself. */
  readonly takes?: NameTaker | undefined;
}

export interface FleetSnapshot {
  /** Lease time, which `seenAt` is in. */
  readonly now: number;
  readonly members: readonly FleetMember[];
}

export interface FleetMember extends WorkerRecord {
  readonly running: number;
}

/** Fields that are not given stay as they are; null removes them. */
export interface WorkerBeat {
  readonly worker: number;
  /** Default: its last state; a worker that was starting or lost becomes online. */
  readonly state?: Exclude<WorkerState, 'lost'> | undefined;
  /** A free text of the worker. */
  readonly status?: string | null | undefined;
  /** JSON text. */
  readonly metadata?: string | null | undefined;
  /** Tasks that it has ended since the last beat. They are added to the total of its name. */
  readonly ended?: number | undefined;
  /** Adds an event to the feed. */
  readonly told?: boolean | undefined;
}

export interface WorkerRecord
  extends Omit<
    NewWorker,
    | 'host'
    | 'pid'
    | 'handlers'
    | 'queues'
    | 'priority'
    | 'version'
    | 'address'
    | 'pool'
    | 'beatMs'
    | 'staleMs'
    | 'told'
    | 'takes'
    | 'redeems'
  > {
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
  /** Grows with every change that matters for placement. */
  readonly revision: number;
  readonly status: string | undefined;
  readonly metadata: string | undefined;
  readonly address: string | undefined;
  readonly pool: string | undefined;
  readonly beatMs: number | undefined;
  readonly staleMs: number | undefined;
  /** It was sent home by its pool, or came back after it was lost: it gets no task any more. */
  readonly leaving?: true;
  /** Tasks that all workers of its name have ended, by their beats. */
  readonly totalTasks: number;
}
