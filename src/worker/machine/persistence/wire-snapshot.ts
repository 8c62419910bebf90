/** Snapshots as they are stored: the wire format of the language, with one entry of ours for what it has no name for. */
import { fault } from '../../../core/errors.ts';
import { isList, isMap, type Value, type ValueMap } from '../../../flow/expression/values.ts';
import type { Machine } from '../../../flow/machine/definition.ts';
import type { Phase, Snapshot } from '../../../flow/machine/snapshot.ts';
import type { Stored } from './backends.ts';

/** In the order in which a state goes through them; `waiting` and `tool_call` in between. */
export const CHECKPOINT_EVENTS = ['machine_start', 'state_enter', 'execute', 'state_exit', 'machine_end'] as const;

export type CheckpointEvent = (typeof CHECKPOINT_EVENTS)[number] | 'waiting' | 'tool_call';

/** A machine that is to be launched: written down before it is, so that a crash in between is made good. */
export interface LaunchIntent {
  readonly execution_id: string;
  readonly machine: string;
  readonly input: Value;
  readonly launched: boolean;
}

export interface WireSnapshot {
  readonly execution_id: string;
  readonly machine_name: string;
  readonly spec_version: string;
  readonly current_state: string;
  readonly context: ValueMap;
  readonly step: number;
  readonly created_at: string;
  readonly event?: CheckpointEvent;
  /** Of a final state, and of a run that has ended. */
  readonly output?: Value;
  readonly total_api_calls?: number;
  readonly total_cost?: number;
  readonly parent_execution_id?: string;
  readonly pending_launches?: readonly LaunchIntent[];
  readonly waiting_channel?: string;
  readonly config_hash?: string;
  readonly tool_loop_state?: ValueMap;
  readonly depth?: number;
  /** Ours. A snapshot of another program has none, and goes on at the state that it names. */
  readonly leasehold?: OwnPart;
}

/** What the wire format leaves out. */
export interface OwnPart
  extends Omit<Partial<Snapshot>, 'executionId' | 'parentExecutionId' | 'state' | 'context' | 'step'> {
  /** The signal that this snapshot has taken up: a copy of it that is still there does not count again. */
  readonly signal?: string;
  /** Until when it waits for a signal, in milliseconds since 1970. */
  readonly wait_until?: number;
  /** What a tool loop has done within this step. */
  readonly ledger?: Readonly<Record<string, ValueMap>>;
}

export interface WireParts
  extends Pick<WireSnapshot, 'pending_launches' | 'waiting_channel' | 'config_hash' | 'tool_loop_state'> {
  readonly event: CheckpointEvent;
  readonly now: number;
  readonly own?: Pick<OwnPart, 'signal' | 'wait_until' | 'ledger'>;
}

/** The snapshot as it is stored. */
export function wireOf(
  { name, specVersion }: Pick<Machine, 'name' | 'specVersion'>,
  snapshot: Snapshot,
  parts: WireParts,
): WireSnapshot {
  const { executionId, parentExecutionId, state, context, step, totalApiCalls, totalCost, depth, ...rest } = snapshot;
  const { event, now, own = {}, ...others } = parts;
  const output = outputOf(snapshot, event);
  return {
    execution_id: executionId,
    machine_name: name,
    spec_version: specVersion,
    current_state: state,
    context,
    step,
    created_at: new Date(now).toISOString(),
    event,
    ...(output === undefined ? {} : { output }),
    total_api_calls: totalApiCalls,
    total_cost: totalCost,
    ...(parentExecutionId === undefined ? {} : { parent_execution_id: parentExecutionId }),
    ...others,
    depth,
    leasehold: { ...rest, ...own },
  };
}

function outputOf({ end, output }: Snapshot, event: CheckpointEvent): Value {
  if (event === 'machine_end') return end?.kind === 'completed' ? end.output : undefined;
  return event === 'state_exit' ? output : undefined;
}

/** Where a snapshot of another program goes on: a state that it has not left runs again. */
const PHASES: Readonly<Record<string, Phase>> = { machine_start: 'started?', state_exit: 'move', waiting: 'wait' };

/** The snapshot that a run goes on from. Throws `INVALID_INPUT` if it is none, or none of this machine. */
export function snapshotOf(machine: Machine, wire: WireSnapshot): Snapshot {
  const { execution_id, parent_execution_id, current_state, context, step, event = 'execute', depth = 0 } = wire;
  const { signal: _, wait_until: _until, ledger: _ledger, ...own } = wire.leasehold ?? {};
  if (!machine.states.has(current_state)) {
    const problem = `the run stands in the state ${JSON.stringify(current_state)}, which the machine "${machine.name}" does not have`;
    throw fault(
      'INVALID_INPUT',
      { field: `checkpoint of ${execution_id}`, problem },
      { hint: 'Run it with the machine that it was started with.' },
    );
  }
  const ended = event === 'machine_end';
  return {
    executionId: execution_id,
    ...(parent_execution_id === undefined ? {} : { parentExecutionId: parent_execution_id }),
    depth,
    maxDepth: machine.maxDepth,
    state: current_state,
    step,
    phase: ended ? 'ended' : (PHASES[event] ?? 'wait'),
    context,
    input: {},
    output: wire.output ?? null,
    items: null,
    results: [],
    totalApiCalls: wire.total_api_calls ?? 0,
    totalCost: wire.total_cost ?? 0,
    totalTokens: 0,
    totalAgentMs: 0,
    sessions: {},
    agentCalls: 0,
    ...(ended ? { end: { kind: 'completed' as const, output: wire.output ?? null } } : {}),
    ...own,
  };
}

/** A stored value as a snapshot. Files come from anywhere: what is not one is refused, not run. */
export function readWire(executionId: string, stored: Stored | null): WireSnapshot | undefined {
  if (stored === null) return undefined;
  if (typeof stored !== 'string' && isWire(stored)) return stored;
  throw fault('INVALID_INPUT', { field: `checkpoint of ${executionId}`, problem: 'it is not a snapshot of a machine' });
}

function isWire(value: Readonly<Record<string, unknown>>): value is Readonly<Record<string, unknown>> & WireSnapshot {
  const { execution_id, current_state, context, step, pending_launches = [], leasehold = {}, event = '' } = value;
  return (
    typeof execution_id === 'string' &&
    typeof current_state === 'string' &&
    isMap(context) &&
    Number.isSafeInteger(step) &&
    typeof event === 'string' &&
    isMap(leasehold) &&
    isOwn(leasehold) &&
    (pending_launches === null || (Array.isArray(pending_launches) && pending_launches.every(isIntent)))
  );
}

const PHASES_OF_RUNS: ReadonlySet<unknown> = new Set<Phase>([
  'started?',
  'enter',
  'entered?',
  'wait',
  'waited?',
  'action',
  'acted?',
  'launch',
  'launched?',
  'machine',
  'invoked?',
  'agent',
  'answered?',
  'exit',
  'exited?',
  'move',
  'moved?',
  'recovered?',
  'close',
  'closed?',
  'ended',
]);
const COUNTS = ['totalTokens', 'totalAgentMs', 'agentCalls', 'maxDepth', 'depth', 'wait_until'] as const;

/** The interpreter takes these without a question. */
function isOwn(own: ValueMap): boolean {
  const { phase, items = null, results = [], sessions = {}, ledger = {} } = own;
  return (
    (phase === undefined || PHASES_OF_RUNS.has(phase)) &&
    (phase !== 'ended' || isMap(own['end'])) &&
    (items === null || isList(items)) &&
    isList(results) &&
    isMap(sessions) &&
    isMap(ledger) &&
    COUNTS.every((name) => own[name] === undefined || typeof own[name] === 'number')
  );
}

const isIntent = (value: unknown): value is LaunchIntent =>
  isMap(value) && typeof value['execution_id'] === 'string' && typeof value['machine'] === 'string';

/** A fork of a run: the same place under another name, with nothing left to launch. The two go on apart from each other. */
export function cloneSnapshot(snapshot: WireSnapshot, newId: string, now: number = Date.now()): WireSnapshot {
  const { pending_launches: _, ...copy } = structuredClone(snapshot);
  return {
    ...copy,
    execution_id: newId,
    parent_execution_id: snapshot.execution_id,
    created_at: new Date(now).toISOString(),
  };
}
