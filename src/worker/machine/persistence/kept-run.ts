/** One run that is written down as it goes, so that another process can go on with it. */
import { createHash } from 'node:crypto';
import { fault } from '../../../core/errors.ts';
import type { Clock } from '../../../core/world.ts';
import type { ValueMap } from '../../../flow/expression/values.ts';
import { mapFrom } from '../../../flow/machine/answers.ts';
import type { Command, HookName, MachineEvent } from '../../../flow/machine/commands.ts';
import type { Machine } from '../../../flow/machine/definition.ts';
import { StateError } from '../../../flow/machine/scopes.ts';
import type { Snapshot } from '../../../flow/machine/snapshot.ts';
import type { Ledger, LedgerEntry } from '../../agents/ledger.ts';
import type { ExecutionLock, PersistenceBackend, ResultBackend, SignalBackend } from './backends.ts';
import { checkExecutionId, latestKey, stepKey } from './keys.ts';
import { deleteTree, latestOf } from './latest.ts';
import { checkpointUri } from './results.ts';
import { jsonOf } from './stored-text.ts';
import { toolLoopState } from './tool-loop-state.ts';
import {
  type CheckpointEvent,
  type LaunchIntent,
  snapshotOf,
  type WireParts,
  type WireSnapshot,
  wireOf,
} from './wire-snapshot.ts';

/** Where a machine keeps its runs, and what of them. */
export interface RunPlace {
  readonly backend: PersistenceBackend;
  readonly lock: ExecutionLock;
  readonly signals?: SignalBackend | undefined;
  readonly results?: ResultBackend | undefined;
  /** `machine_end`, `waiting` and `tool_call` are always written: without them a run would do again what it has done. */
  readonly events: ReadonlySet<CheckpointEvent>;
  /** Only the latest checkpoint of a run stays. */
  readonly onlyLatest?: boolean | undefined;
}

export interface KeptOptions {
  readonly machine: Machine;
  /** What the machine was read from. */
  readonly config?: unknown;
  readonly executionId: string;
  /** Go on from the latest checkpoint, if there is one. */
  readonly resume: boolean;
  readonly clock: Pick<Clock, 'wall'>;
  readonly onWarning?: ((text: string) => void) | undefined;
}

/** The checkpoint that is written when a hook is about to be asked. */
const ASKED: Partial<Record<HookName, CheckpointEvent>> = {
  on_machine_start: 'machine_start',
  on_state_enter: 'state_enter',
  on_state_exit: 'state_exit',
};

export class KeptRun {
  /** Where the run goes on; undefined: at its beginning. */
  readonly from: Snapshot | undefined;
  /** Machines that the run has launched and that have not ended: a crash of this process takes them along. */
  readonly #intents: Map<string, LaunchIntent>;
  readonly #place: RunPlace;
  readonly #options: KeptOptions;
  readonly #configHash: string | undefined;
  #configKept = false;
  #lastKey: string | undefined;
  #last: WireSnapshot | undefined;
  #signal: string | undefined;
  /** Signals that are taken up and not yet written down. */
  #unsettled: string[] = [];
  #waitUntil: number | undefined;
  #ledger: { readonly step: number; readonly entries: Map<string, ValueMap> } | undefined;

  private constructor(place: RunPlace, options: KeptOptions, wire: WireSnapshot | undefined) {
    this.#place = place;
    this.#options = options;
    this.#configHash = options.config === undefined ? undefined : hashOf(options.config);
    this.from = wire === undefined ? undefined : snapshotOf(options.machine, wire);
    this.#last = wire;
    const { pending_launches, leasehold: { signal, wait_until, ledger } = {} } = wire ?? {};
    this.#intents = new Map(
      (pending_launches ?? []).filter((one) => !one.launched).map((one) => [one.execution_id, one]),
    );
    this.#signal = signal;
    this.#waitUntil = wait_until;
    if (ledger !== undefined && wire !== undefined) {
      this.#ledger = { step: wire.step, entries: new Map(Object.entries(ledger)) };
    }
    if (wire?.config_hash !== undefined && this.#configHash !== undefined && wire.config_hash !== this.#configHash) {
      options.onWarning?.(
        `the machine "${options.machine.name}" has changed since the run ${options.executionId} was written down`,
      );
    }
  }

  /** Takes the run, and reads where it stands. Throws `CONFLICT` if somebody else runs it. */
  static async open(place: RunPlace, options: KeptOptions): Promise<KeptRun> {
    const { executionId, resume } = options;
    checkExecutionId(executionId);
    if (!(await place.lock.acquire(executionId))) {
      const problem = `the run ${executionId} is already running`;
      throw fault('CONFLICT', { problem }, { hint: 'Wait for its end, or run it under another name.' });
    }
    try {
      if (!resume) await deleteTree(place.backend, executionId);
      const latest = resume ? await latestOf(place.backend, executionId) : undefined;
      return new KeptRun(place, options, latest);
    } catch (error) {
      await place.lock.release(executionId);
      throw error;
    }
  }

  get place(): RunPlace {
    return this.#place;
  }

  /** Whether the driver must stop where this hook would be asked, because something is written there. */
  hears(hook: HookName): boolean {
    const { events } = this.#place;
    const event = ASKED[hook];
    return (event !== undefined && events.has(event)) || (hook === 'on_state_enter' && events.has('execute'));
  }

  /** Before a command is done. A run that failed keeps its last checkpoint, from which it can be tried again. */
  async before(snapshot: Snapshot, command: Command | undefined): Promise<void> {
    if (command === undefined) {
      if (snapshot.end?.kind === 'completed' && this.from?.phase !== 'ended') await this.#save('machine_end', snapshot);
    } else if (command.do === 'hook') {
      const event = ASKED[command.hook];
      if (event !== undefined && this.#place.events.has(event)) await this.#save(event, snapshot);
    }
  }

  /** After it: where a state has been entered, its work begins. */
  async after(snapshot: Snapshot, command: Command, event: MachineEvent): Promise<void> {
    if (command.do === 'wait') this.#waitUntil = undefined;
    if (command.do !== 'hook' || command.hook !== 'on_state_enter' || event.kind === 'failed') return;
    if (!this.#place.events.has('execute')) return;
    const context = contextAfter(snapshot, event);
    if (context !== undefined) await this.#save('execute', { ...snapshot, context, phase: 'wait' });
  }

  /** Machines that a crash of an earlier process may have taken along. */
  get pending(): readonly LaunchIntent[] {
    return [...this.#intents.values()];
  }

  /** Written down before any of them is launched. */
  async intend(snapshot: Snapshot, children: readonly Omit<LaunchIntent, 'launched'>[]): Promise<void> {
    for (const child of children) this.#intents.set(child.execution_id, { ...child, launched: false });
    await this.#save('execute', snapshot);
  }

  /** It has ended, or is nobody's matter any more. */
  childEnded(executionId: string): void {
    this.#intents.delete(executionId);
  }

  /** When everything that the run launched is over: what it wrote at its own end may still name them. */
  async close(): Promise<void> {
    if (this.#last?.event !== 'machine_end' || (this.#last.pending_launches ?? []).length === this.#intents.size)
      return;
    if (!(await this.#place.lock.acquire(this.#options.executionId))) return;
    try {
      const { pending_launches: _, ...last } = this.#last;
      await this.#write({ ...last, ...this.#launches() });
    } finally {
      await this.release();
    }
  }

  async release(): Promise<void> {
    await this.#place.lock.release(this.#options.executionId);
  }

  /** A signal that is there for this run; undefined: none is. It counts once, also if a crash has left a copy of it. */
  async receive(channel: string): Promise<{ readonly data: unknown } | undefined> {
    const { signals } = this.#place;
    const { executionId } = this.#options;
    for (;;) {
      const signal = await signals?.receive(channel, executionId);
      if (signal === undefined || signal === null) return undefined;
      if (signal.id === this.#signal) await signals?.settle(signal.id, executionId);
      else {
        this.#signal = signal.id;
        this.#unsettled.push(signal.id);
        return { data: signal.data };
      }
    }
  }

  /** Until when this wait lasts: what an earlier process has waited counts. */
  waitUntil(timeoutMs: number | undefined): number | undefined {
    if (timeoutMs !== undefined) this.#waitUntil ??= this.#options.clock.wall() + timeoutMs;
    return this.#waitUntil;
  }

  async waiting(snapshot: Snapshot, channel: string): Promise<void> {
    await this.#save('waiting', snapshot, { waiting_channel: channel });
  }

  /** What the step of this snapshot has done, also in an earlier process. */
  ledger(snapshot: Snapshot): Ledger {
    if (this.#ledger?.step !== snapshot.step) this.#ledger = { step: snapshot.step, entries: new Map() };
    const { entries } = this.#ledger;
    return {
      read: async (key) => entries.get(key),
      commit: async (added: readonly LedgerEntry[]) => {
        for (const { key, value } of added) entries.set(key, JSON.parse(jsonOf(value)) as ValueMap);
        await this.#save('tool_call', snapshot, { tool_loop_state: toolLoopState(entries) });
      },
    };
  }

  async #save(event: CheckpointEvent, snapshot: Snapshot, more: Partial<WireParts> = {}): Promise<void> {
    const { machine, clock } = this.#options;
    const ledger =
      event === 'tool_call' && this.#ledger !== undefined ? Object.fromEntries(this.#ledger.entries) : undefined;
    await this.#write(
      wireOf(machine, snapshot, {
        event,
        now: clock.wall(),
        ...this.#launches(),
        ...(this.#configHash === undefined ? {} : { config_hash: this.#configHash }),
        ...more,
        own: {
          ...(this.#signal === undefined ? {} : { signal: this.#signal }),
          ...(event === 'waiting' && this.#waitUntil !== undefined ? { wait_until: this.#waitUntil } : {}),
          ...(ledger === undefined ? {} : { ledger }),
        },
      }),
    );
  }

  #launches(): Pick<WireSnapshot, 'pending_launches'> {
    return this.#intents.size === 0 ? {} : { pending_launches: this.pending };
  }

  /** The checkpoint, then the pointer to it: a crash in between leaves the one before. */
  async #write(wire: WireSnapshot): Promise<void> {
    const { backend, results, signals, onlyLatest = false } = this.#place;
    const { executionId } = this.#options;
    await this.#keepConfig();
    const plain = this.#plain(wire);
    const key = stepKey(executionId, wire.step, wire.event ?? 'execute');
    await backend.save(key, plain);
    if (key !== this.#lastKey) await backend.save(latestKey(executionId), key);
    if (onlyLatest && this.#lastKey !== undefined && key !== this.#lastKey) await backend.delete(this.#lastKey);
    this.#lastKey = key;
    this.#last = wire;
    await results?.write(checkpointUri(executionId), plain);
    for (const id of this.#unsettled.splice(0)) await signals?.settle(id, executionId);
  }

  #plain(wire: WireSnapshot): Readonly<Record<string, unknown>> {
    const odd = new Set<string>();
    const text = jsonOf(wire, (field) => odd.add(field));
    if (odd.size === 0) return wire as unknown as Readonly<Record<string, unknown>>;
    this.#options.onWarning?.(`the checkpoint has as text what JSON cannot say: ${[...odd].slice(0, 10).join(', ')}`);
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  }

  async #keepConfig(): Promise<void> {
    const { machine, config } = this.#options;
    if (this.#configKept || this.#configHash === undefined) return;
    this.#configKept = true;
    await this.#place.backend.saveConfig?.(this.#configHash, {
      machine_name: machine.name,
      spec_version: machine.specVersion,
      config_raw: jsonOf(config),
    });
  }
}

/** The context as the hook leaves it, by the same rule as the interpreter; undefined: it is refused, and the state fails. */
function contextAfter({ context }: Snapshot, event: MachineEvent): ValueMap | undefined {
  try {
    return mapFrom(event, context);
  } catch (error) {
    if (error instanceof StateError) return undefined;
    throw error;
  }
}

const hashOf = (config: unknown): string => createHash('sha256').update(jsonOf(config)).digest('hex');
