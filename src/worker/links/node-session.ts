import { isEngineError } from '../../core/errors.ts';
import { describeFailure } from '../../core/task/failure.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { LogEntry } from '../../core/task/log.ts';
import { encodePayload } from '../../core/task/payload.ts';
import type { TaskState } from '../../core/task/task.ts';
import type { World } from '../../core/world.ts';
import { answerOf, grantsOf, type NodeAnswer } from '../../protocol/answers.ts';
import type { Granted, LeaseProof, NewRequest, UpgradeOrder } from '../../protocol/frames.ts';
import { HeldLeases } from '../../protocol/held-leases.ts';
import type {
  Assignment,
  ClaimRequest,
  Completion,
  Failing,
  Hello,
  JournalValue,
  RenewalAnswer,
  Reusable,
  Session,
  TaskRef,
  TaskResult,
  Turned,
  TurnRequest,
  Waited,
  WorkerState,
} from '../../protocol/link.ts';
import { messageOf } from '../../protocol/turn-message.ts';
import { type ArtifactReach, NodeArtifacts } from '../artifacts/node-artifacts.ts';
import type { WorkerLog } from '../logs/worker-log.ts';
import { type LogRequest, Outbox } from '../spool/outbox.ts';
import { replay } from '../spool/replay.ts';
import { type EndRequest, Spool } from '../spool/spool.ts';
import { LeftOut } from './left-out.ts';
import { batchesOf, type SentEnd, sentEnds } from './plain-ends.ts';
import { renewMs } from './reconnect.ts';
import { noAnswer, wireError } from './wire-error.ts';

/** A lease that was not renewed for so many times its length is forgotten. */
const FORGOTTEN_LEASES = 3;

/** Opens a session; the signal ends the wait for a node that was never reached. */
export async function openSession<S extends NodeSession>(session: S, signal: AbortSignal | undefined): Promise<S> {
  const giveUp = (): void => void session.close();
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    signal?.throwIfAborted();
    await session.open();
    signal?.throwIfAborted();
    return session;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

export interface NodeSessionOptions {
  /** Of the node. */
  readonly url: string;
  readonly world: World;
  readonly log?: WorkerLog | undefined;
  /** A folder for ends and logs that the node has not acknowledged; without one they are in memory only. */
  readonly spool?: string | undefined;
  /** How it exchanges the bytes of artifacts. */
  readonly artifacts?: ArtifactReach | undefined;
}

/** Log lines are sent together, because each shipment is a message. */
const LOG_PACE_MS = 500;
const REPLAY_PAUSE_MS = 5000;

/** A session through a node, over either transport: every call is a request with an answer, and each can be sent again. */
export abstract class NodeSession implements Session {
  leaseMs = 0;
  /** No thread: it would need a connection of its own, and handlers that block run in child processes. */
  readonly renewal = undefined;
  /** Leases that were granted and not settled. The node is sent them, and so learns which grants never arrived. */
  protected readonly holding: HeldLeases<LeaseProof>;
  readonly logPaceMs = LOG_PACE_MS;
  readonly claimsApart = true;
  readonly artifacts: NodeArtifacts;
  readonly #listeners = new Set<(task: number) => void>();
  readonly #upgrades = new Set<(order: UpgradeOrder) => void>();
  readonly #options: NodeSessionOptions;
  readonly #spool: Spool | undefined;
  readonly #outbox: Outbox | undefined;
  protected readonly leftOut: LeftOut;
  #cancelReplay = (): void => {};
  #closing: Promise<void> | undefined;

  constructor(options: NodeSessionOptions, { name, incarnation }: Hello) {
    const { world, url, log, spool: folder } = options;
    this.#options = options;
    this.holding = new HeldLeases(world.clock.monotonic);
    this.leftOut = new LeftOut(name, log);
    this.artifacts = new NodeArtifacts({
      ...options.artifacts,
      world,
      request: (request) => this.request(request),
      proofOf: (lease) => this.holding.get(lease),
      node: () => this.address,
      offered: () => this.canAsk('artifact_begin'),
    });
    if (folder === undefined) return;
    const spool = new Spool({ folder, owner: { url, name, incarnation }, log });
    this.#spool = spool;
    this.#outbox = new Outbox({
      spool,
      world,
      send: (request) => this.request(request),
      connected: () => this.connected,
    });
  }

  /** Shorter than over a direct link, so that a lease is young when the network breaks. */
  get renewMs(): number {
    return renewMs(this.leaseMs);
  }

  abstract get over(): Promise<Error>;
  abstract open(): Promise<void>;
  abstract claim(request: ClaimRequest): Promise<readonly Assignment[]>;
  /** The answer as it came. */
  protected abstract send(request: NewRequest): Promise<unknown>;
  /** Of the node in use. */
  protected abstract get address(): string;
  /** Whether the node can be asked for this. */
  protected abstract canAsk(type: NewRequest['type']): boolean;
  /** The connection is up, as far as is known. */
  protected abstract get connected(): boolean;
  protected abstract disconnect(): Promise<void>;

  /** Sends a request, and believes of its answer only what can be one. */
  protected async request<R extends NewRequest>(request: R): Promise<NodeAnswer<R['type']>> {
    const given = await this.send(request);
    try {
      return answerOf(request, given);
    } catch (error) {
      throw noAnswer(request.type, error);
    }
  }

  /** The tasks of an answered claim, held from now on. */
  protected granted(given: unknown, max: number): readonly Assignment[] {
    let grants: readonly Granted[];
    try {
      grants = grantsOf(given, max);
    } catch (error) {
      throw noAnswer('task_claim', error);
    }
    // A lease is granted once: a second grant of it would run the task twice here.
    const fresh = grants.filter((one) => this.holding.get(one) === undefined);
    for (const one of fresh) this.holding.put(proofOf(one));
    return fresh;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#cancelReplay();
    await this.disconnect();
    const owed = this.#spool?.unacknowledged ?? 0;
    this.#outbox?.close();
    if (owed === 0) return;
    this.#options.log?.warn('unacknowledged ends are kept for the next start', {
      ends: owed,
      folder: this.#spool?.path,
    });
  }

  /** Sends first what earlier processes of this worker could not send. If the node goes away meanwhile, the rest is sent when it is back. */
  protected async replayLeftovers(): Promise<void> {
    const { spool: folder, world, log } = this.#options;
    if (folder === undefined || this.#spool === undefined) return;
    try {
      await replay({
        folder,
        successor: this.#spool.owner,
        send: (request) => this.request(request),
        now: world.clock.wall,
        log,
      });
    } catch (error) {
      if (isEngineError(error) && error.retryable) {
        this.#cancelReplay = world.timers.after(REPLAY_PAUSE_MS, () => void this.replayLeftovers(), { unref: true });
      } else if (!isEngineError(error, 'STORE_CLOSED')) {
        log?.warn('what an earlier process left cannot be sent', { error: String(error) });
      }
    }
  }

  async complete(lease: Assignment, result: unknown): Promise<void> {
    const text = result === undefined ? {} : { result: encodePayload(result, { field: 'result' }) };
    await this.#end(lease, { type: 'task_complete', lease: proofOf(lease), ...text });
  }

  /** What `completeMany` does where the node can be asked for it. */
  protected async completeTogether(ends: readonly Completion[]): Promise<readonly (Error | undefined)[]> {
    const answers: (Error | undefined)[] = ends.map(() => undefined);
    const sent = sentEnds(ends, answers, proofOf);
    const found = await Promise.all(batchesOf(sent).map((batch) => this.#endTogether(batch)));
    for (const [i, error] of found.flat().entries()) {
      const { at, end } = sent[i] as SentEnd;
      answers[at] = error;
      if (error === undefined || isEngineError(error, 'LEASE_LOST')) this.holding.drop(end.lease);
    }
    return answers;
  }

  async #endTogether(batch: readonly SentEnd[]): Promise<readonly (Error | undefined)[]> {
    const send = async (): Promise<readonly (Error | undefined)[]> => {
      const answers = await this.request({ type: 'tasks_complete', ends: batch.map(({ end }) => end) });
      return answers.map((answer) => (answer === null ? undefined : wireError(answer)));
    };
    if (this.#outbox === undefined) return send();
    // On disk each stands by itself, as one that is sent alone.
    const lines = batch.map(({ end, id }) => ({ end: { type: 'task_complete', ...end } as const, id }));
    return this.#outbox.endMany(lines, send);
  }

  async fail(lease: Assignment, error: unknown, options: Failing = {}): Promise<TaskState> {
    const request = { type: 'task_failed', lease: proofOf(lease), error: describeFailure(error), ...options } as const;
    return (await this.#end(lease, request)) as TaskState;
  }

  async release(lease: Assignment, options: { bounced?: boolean; delayMs?: number } = {}): Promise<TaskState> {
    return (await this.#end(lease, { type: 'task_release', lease: proofOf(lease), ...options })) as TaskState;
  }

  async cancelled(lease: Assignment): Promise<void> {
    await this.#end(lease, { type: 'task_cancelled', lease: proofOf(lease) });
  }

  async log(lease: Assignment, entries: readonly LogEntry[]): Promise<void> {
    const request: LogRequest = { type: 'task_progress', lease: proofOf(lease), logs: [...entries] };
    await (this.#outbox === undefined ? this.request(request) : this.#outbox.log(request));
  }

  async journal(lease: Assignment): Promise<readonly JournalValue[]> {
    return (await this.request({ type: 'journal', lease: proofOf(lease) })) as readonly JournalValue[];
  }

  async turn(lease: Assignment, turn: TurnRequest): Promise<Turned> {
    const request = { type: 'task_turn', lease: proofOf(lease), ...messageOf(turn) } as const;
    const { go } = turn.then;
    if (go === 'complete' || go === 'fail') return wholeTurn((await this.#end(lease, request)) as Turned);
    // Lines from before belong to the attempt, which ends here.
    if (go === 'park') await this.#outbox?.drained(lease);
    const turned = wholeTurn((await this.request(request)) as Turned);
    if (turned.went !== 'on' && turned.went !== 'woken') this.holding.drop(lease);
    return turned;
  }

  async waited(lease: Assignment): Promise<Waited | undefined> {
    return (await this.request({ type: 'waited', lease: proofOf(lease) })) as Waited | undefined;
  }

  async results(lease: Assignment, tasks: readonly TaskRef[]): Promise<readonly TaskResult[]> {
    const found = await this.request({ type: 'results', lease: proofOf(lease), tasks: [...tasks] });
    return (found as readonly TaskResult[]).map(wholeResult);
  }

  async dependencies(lease: Assignment): Promise<readonly (TaskResult & { readonly optional: boolean })[]> {
    const found = await this.request({ type: 'dependencies', lease: proofOf(lease) });
    return (found as readonly (TaskResult & { readonly optional: boolean })[]).map(wholeResult);
  }

  async cancelChildren(lease: Assignment, tasks: readonly TaskRef[]): Promise<void> {
    await this.request({ type: 'cancel_children', lease: proofOf(lease), tasks: [...tasks] });
  }

  async definition(lease: Assignment, hash: string): Promise<string | undefined> {
    return (await this.request({ type: 'definition', lease: proofOf(lease), hash })) as string | undefined;
  }

  async reusable(lease: Assignment): Promise<Reusable | undefined> {
    const kept = (await this.request({ type: 'reusable', lease: proofOf(lease) })) as Reusable | undefined;
    return kept && { id: kept.id, result: kept.result };
  }

  async keep(lease: Assignment, result: unknown): Promise<void> {
    const text = result === undefined ? {} : { result: encodePayload(result, { field: 'result' }) };
    await this.#sendEnd(lease, { type: 'keep', lease: proofOf(lease), ...text });
  }

  async renew(leases: readonly Lease[]): Promise<readonly RenewalAnswer[]> {
    const held = leases.map((lease) => this.holding.get(lease));
    const known = held.filter((proof) => proof !== undefined);
    const answers = (await this.request({ type: 'lease_renew', leases: known })) as readonly RenewalAnswer[];
    for (const [i, proof] of known.entries()) {
      if (answers[i] === 'lost') this.holding.drop(proof);
      else this.holding.renewed(proof);
    }
    // Only after an answer: while the node is away, leases that wait to be settled must stay listed.
    this.holding.dropOlderThan(FORGOTTEN_LEASES * this.leaseMs);
    let at = 0;
    return held.map((proof) => (proof === undefined ? 'lost' : (answers[at++] as RenewalAnswer)));
  }

  async cancels(): Promise<readonly Lease[]> {
    return (await this.request({ type: 'cancels' })) as readonly Lease[];
  }

  onCancel(listener: (task: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onUpgrade(listener: (order: UpgradeOrder) => void): () => void {
    this.#upgrades.add(listener);
    return () => this.#upgrades.delete(listener);
  }

  async beat(state: WorkerState): Promise<void> {
    const order = (await this.request({ type: 'heartbeat', state }))?.upgrade_required;
    if (order !== undefined) this.notifyUpgrade(order);
  }

  protected notifyUpgrade(order: UpgradeOrder): void {
    for (const listener of this.#upgrades) listener(order);
  }

  /** Calls the listeners. */
  protected notifyCancel(task: number): void {
    for (const listener of this.#listeners) listener(task);
  }

  /** Sends an end; the lease is no longer held once it was answered or refused. */
  async #end(lease: Assignment, request: EndRequest): Promise<unknown> {
    try {
      const value = await this.#sendEnd(lease, request);
      this.holding.drop(lease);
      return value;
    } catch (error) {
      if (isEngineError(error, 'LEASE_LOST')) this.holding.drop(lease);
      throw error;
    }
  }

  #sendEnd({ id }: Assignment, request: EndRequest): Promise<unknown> {
    return this.#outbox === undefined ? this.request(request) : this.#outbox.end(request, id);
  }
}

export function proofOf(lease: Assignment): LeaseProof {
  const { task, attempt, token } = lease as Granted;
  return { task, attempt, token };
}

/** Fields that do not apply are not sent; here they are present and undefined. */
function wholeTurn({ went, state, body, key, entries, budget }: Turned): Turned {
  const more = { ...(key === undefined ? {} : { key }), ...(budget === undefined ? {} : { budget }) };
  return { went, state, body, entries, ...more };
}

function wholeResult<T extends TaskResult>(found: T): T {
  return { ...found, id: found.id, result: found.result };
}
