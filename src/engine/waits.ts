import { type Duration, parseDuration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import type { Lease } from '../core/lease.ts';
import { checkKey } from '../core/names.ts';
import { encodePayload } from '../core/payload.ts';
import type {
  Checkpoint,
  CheckpointAnswer,
  NewCheckpoint,
  NewSignal,
  ParkAnswer,
  ParkItem,
  SignalAnswer,
  Store,
  WaitRecord,
} from '../store/store.ts';
import { checkFlag, checkLease, checkLimit, checkList, checkOptions, checkTask, whole } from './check.ts';
import type { Coalescer, Kind } from './coalescer.ts';

/** What a running task may wait for: children, a signal, somebody's decision, or its time alone. */
export interface WaitRequest {
  /** Names the wait among those of the task. */
  readonly key: string;
  /** Counts the waits of an attempt, so that one which is sent again and comes late changes nothing; default 0. */
  readonly turn?: number;
  readonly channel?: string;
  /** What people are shown who decide: any JSON value. */
  readonly form?: unknown;
  /** Numbers of tasks. */
  readonly children?: readonly number[];
  /** The first child that ends is enough. */
  readonly any?: boolean;
  /** Woken after so long whatever happens; needed where nothing else is waited for. */
  readonly timeout?: Duration;
}

export interface SignalOptions {
  /** Everybody who waits now, and nobody later. */
  readonly broadcast?: boolean;
  /** Operation id: a repeat gets the first answer. */
  readonly op?: string;
}

export interface WaitsDeps {
  readonly store: Pick<Store, 'taskPark' | 'waitGet' | 'waitList' | 'signalSend' | 'checkpointPut' | 'checkpointList'>;
  readonly coalescer: Coalescer;
  readonly onDue: (inMs: number) => void;
  /** Tasks became ready; in which lanes is not known. */
  readonly onWoken: () => void;
  readonly onParked: (lease: Lease) => void;
  readonly onCommit: (task: number) => void;
}

const WAIT: ReadonlySet<string> = new Set([
  'key',
  'turn',
  'channel',
  'form',
  'children',
  'any',
  'timeout',
] satisfies (keyof WaitRequest)[]);
const SIGNAL: ReadonlySet<string> = new Set(['broadcast', 'op'] satisfies (keyof SignalOptions)[]);
const MAX_CHILDREN = 10_000;
const MAX_TURN = 2 ** 31 - 1;
const VALUE = { field: 'value' } as const;

/** Running tasks that wait and remember. Everything that speaks for an attempt is fenced by it. */
export class Waits {
  readonly #deps: WaitsDeps;
  readonly #park: Kind<ParkItem, ParkAnswer>;
  readonly #signal: Kind<NewSignal, SignalAnswer>;
  readonly #checkpoint: Kind<NewCheckpoint, CheckpointAnswer>;

  constructor(deps: WaitsDeps) {
    const { store, coalescer } = deps;
    this.#deps = deps;
    this.#checkpoint = coalescer.kind({
      name: 'checkpoint',
      maxItems: 250,
      maxBytes: 1_048_576,
      sizeOf: ({ value }) => value.length,
      maxInFlight: 2,
      send: (items) => store.checkpointPut({ items }),
    });
    this.#park = coalescer.kind({
      name: 'park',
      maxItems: 250,
      maxInFlight: 1,
      send: (items) => store.taskPark({ items }),
    });
    this.#signal = coalescer.kind({
      name: 'signal',
      maxItems: 250,
      maxInFlight: 1,
      send: (items) => store.signalSend({ items }),
    });
  }

  /**
   * Gives the lease back until what is waited for has come. `woken` is said at once, with the lease kept, where it is there
   * already.
   */
  async park(
    lease: Lease,
    request: WaitRequest,
  ): Promise<ParkAnswer & { readonly kind: 'parked' | 'woken' | 'cancelled' }> {
    checkLease(lease);
    const item = this.#item(lease, request);
    const answer = await this.#park.submit(item);
    this.#deps.onCommit(lease.task);
    if (answer.kind === 'lost') throw fault('LEASE_LOST', { task: lease.task, attempt: lease.attempt });
    if (answer.kind === 'woken') return answer;
    this.#deps.onParked(lease);
    if (item.timeoutMs !== undefined) this.#deps.onDue(item.timeoutMs);
    return { kind: answer.kind };
  }

  #item({ task, attempt }: Lease, request: WaitRequest): ParkItem {
    checkOptions('wait', request, WAIT);
    const { channel, form, children, any, timeout } = request;
    checkFlag('any', any);
    if (children !== undefined) {
      checkList('children', children);
      if (children.length > MAX_CHILDREN) {
        throw fault('INVALID_INPUT', { field: 'children', problem: `there are more than ${MAX_CHILDREN}` });
      }
      for (const child of children) checkTask(child);
    }
    if (channel === undefined && children === undefined && timeout === undefined) {
      throw fault('INVALID_INPUT', {
        field: 'wait',
        problem: 'nothing would ever end it: give a channel, children or a timeout',
      });
    }
    return {
      task,
      attempt,
      key: checkKey('key', request.key),
      turn: whole('turn', request.turn ?? 0, 0, MAX_TURN),
      ...(channel === undefined ? {} : { channel: checkKey('channel', channel) }),
      ...(form === undefined ? {} : { form: encodePayload(form, { field: 'form' }) }),
      ...(children === undefined ? {} : { children: [...new Set(children)] }),
      ...(any === undefined ? {} : { any }),
      ...(timeout === undefined ? {} : { timeoutMs: parseDuration(timeout, 'timeout') }),
    };
  }

  async signal(channel: string, body: unknown, options: SignalOptions): Promise<SignalAnswer> {
    checkOptions('options', options, SIGNAL);
    checkFlag('broadcast', options.broadcast);
    const answer = await this.#signal.submit({
      channel: checkKey('channel', channel),
      body: encodePayload(body ?? null, { field: 'signal' }),
      ...(options.broadcast === undefined ? {} : { broadcast: options.broadcast }),
      ...(options.op === undefined ? {} : { op: checkKey('op', options.op) }),
    });
    if (answer.woken.length > 0) this.#deps.onWoken();
    for (const task of answer.woken) this.#deps.onCommit(task);
    return answer;
  }

  /** Remembers a value under the fence. Answers the one that counts: the first that was ever put there. */
  async checkpoint(lease: Lease, key: string, value: unknown): Promise<string> {
    checkLease(lease);
    const text = encodePayload(value ?? null, VALUE);
    const { task, attempt } = lease;
    const answer = await this.#checkpoint.submit({ task, attempt, key: checkKey('key', key), value: text });
    if (answer.kind === 'lost') throw fault('LEASE_LOST', { task, attempt });
    return answer.kind === 'kept' ? answer.value : text;
  }

  async checkpoints(task: number): Promise<readonly Checkpoint[]> {
    checkTask(task);
    return this.#deps.store.checkpointList({ task });
  }

  async wait(task: number): Promise<WaitRecord | undefined> {
    checkTask(task);
    return this.#deps.store.waitGet({ task });
  }

  /** Waits that somebody is asked to decide, oldest first. */
  async open(limit: number): Promise<readonly WaitRecord[]> {
    return this.#deps.store.waitList({ limit: checkLimit(limit) });
  }
}
