import type { World } from '../core/world.ts';
import type { ReleaseReport, UpgradeOrder } from '../protocol/frames.ts';
import type { Assignment, Link } from '../protocol/link.ts';
import type { AttemptOutcome } from './attempt.ts';
import type { WorkerLog } from './logs/worker-log.ts';
import type { Ladder, Runner } from './runner/runner.ts';
import type { Vault } from './vault/vault.ts';
import type { WorkspaceSettings } from './workspace/workspace-settings.ts';

export interface WorkerOptions {
  readonly link: Link;
  readonly world: World;
  readonly name: string;
  readonly incarnation: string;
  /** The first runner that knows a handler runs it. */
  readonly runners: readonly Runner[];
  /** Runs suspects in a process of their own, where it knows their handler; otherwise they run alone in this one. */
  readonly suspectRunner?: Runner;
  /** Handlers that run at once. */
  readonly slots: number;
  readonly tags?: readonly string[];
  readonly priority?: number;
  readonly version?: string;
  readonly queues?: readonly string[];
  /** The ticket that its pool has started it with. */
  readonly ticket?: string;
  /** Opens the place for credentials when the worker starts. Undefined: it takes none. */
  readonly vault?: () => Promise<Vault>;
  /** What it says of its program with each connection to a node. */
  readonly release?: (() => ReleaseReport) | undefined;
  /** Called when the node wants it to come back as another release; it may be called again. */
  readonly onUpgrade?: ((order: UpgradeOrder) => void) | undefined;
  /** Where temporary files of artifacts go, and how much one of them may hold; default the folder of the system, and 8 GiB. */
  readonly artifactFiles?: { readonly folder?: string; readonly maxSpoolBytes?: number } | undefined;
  /** Where and how workspaces are made. Undefined: this worker makes none. */
  readonly workspaces?: WorkspaceSettings | undefined;
  /** Where programs of the system are. */
  readonly path?: string | undefined;
  /** Claims one task, runs it, and ends. */
  readonly once?: boolean;
  /** Ends when nothing came for this long. */
  readonly idleExitMs?: number;
  /** Tasks claimed beyond the slots at most; default 250, 0 for none. */
  readonly lookahead?: number;
  readonly ladder?: Ladder;
  /** How long a blocked loop keeps the leases of runs that have no timeout; default 10 minutes. */
  readonly maxBlockMs?: number;
  readonly log?: WorkerLog;
  /** Called for every task that the worker is done with, except those that parked. */
  readonly onSettled?: (assignment: Assignment, outcome: Exclude<AttemptOutcome, 'parked'>, ranMs: number) => void;
}

export interface WorkerStats {
  readonly running: number;
  readonly ahead: number;
  readonly settled: Readonly<Record<AttemptOutcome, number>>;
}

export interface StopOptions {
  readonly drain?: boolean;
  readonly drainMs?: number;
  /** Overrides the ladder of the worker. */
  readonly ladder?: Ladder;
}

export const DEFAULT_LADDER: Ladder = { abortMs: 2000, termMs: 2000 };
export const DEFAULT_LOOKAHEAD = 250;
/** Results that may be on their way to the store at once; beyond it nothing is claimed. */
export const MAX_UNSETTLED = 1000;

/** Logs a warning, with the error behind it where there is one. */
export type Warn = (message: string, error?: unknown, about?: Readonly<Record<string, unknown>>) => void;
