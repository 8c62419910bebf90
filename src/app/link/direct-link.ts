import { hostname } from 'node:os';
import { fault } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { WorkerGrant } from '../../core/placement/worker-grant.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { LogEntry } from '../../core/task/log.ts';
import { isFinal, type TaskState } from '../../core/task/task.ts';
import { checkNames } from '../../engine/check.ts';
import type { Engine } from '../../engine/engine.ts';
import type { EntryRequest, ThenRequest } from '../../engine/settle/turn-request.ts';
import type { WaitRequest } from '../../engine/settle/waits.ts';
import type {
  Assignment,
  ChildKey,
  ClaimRequest,
  Completion,
  Failing,
  Hello,
  JournalValue,
  Link,
  RenewalAddress,
  RenewalAnswer,
  Reusable,
  Session,
  TaskRef,
  TaskResult,
  TurnEntry,
  Turned,
  TurnRequest,
  TurnThen,
  Waited,
  WaitFor,
  WorkerReport,
  WorkerState,
} from '../../protocol/link.ts';
import type { CredentialDesk, DeskSession } from '../../server/credentials/desk.ts';
import type { Grant, TaskRecord } from '../../store/store.ts';
import { bounded, type ClaimFilter } from './claim-filter.ts';
import { type ArtifactPlace, DirectArtifacts } from './direct-artifacts.ts';
import { assignmentOf, type DirectAssignment, heldOf, type SpecTerms } from './direct-assignment.ts';
import type { Admit, DirectLinkOptions, GivenTo, NamePlace, WorkTerms } from './link-terms.ts';
import { type NamedTask, ReadableTasks } from './readable-tasks.ts';
import { SlotBound } from './slot-bound.ts';
import { type GivenToName, type HeldTask, WorkerPolicy } from './worker-policy.ts';

/** The shortest link: to the engine of this process. */
export class DirectLink implements Link {
  readonly #engine: Engine;
  readonly #renewal: RenewalAddress | undefined;
  readonly #terms: WorkTerms;
  readonly #admit: Admit;
  readonly #givenTo: GivenTo;
  readonly #place: NamePlace | undefined;
  readonly #desk: CredentialDesk | undefined;
  readonly #artifacts: ArtifactPlace | undefined;

  constructor(
    engine: Engine,
    renewal: RenewalAddress | undefined,
    { admit = () => undefined, givenTo = nothingGiven, place, desk, artifacts, ...terms }: DirectLinkOptions = {},
  ) {
    this.#engine = engine;
    this.#renewal = renewal;
    this.#terms = terms;
    this.#admit = admit;
    this.#givenTo = givenTo;
    this.#place = place;
    this.#desk = desk;
    this.#artifacts = artifacts;
  }

  async open(hello: Hello): Promise<Session> {
    const { name, incarnation, slots, tags, handlers, schemas, queues, version, address } = hello;
    // Of a joined worker only a lower one counts: its own would hold again when the one that was given is taken away.
    const priority = hello.token === undefined ? hello.priority : Math.min(hello.priority ?? 0, 0);
    // A worker with an address comes over a wire: the host and process id of this process are not its own.
    const own = address === undefined ? { host: hostname(), pid: process.pid } : NOT_HERE;
    const { host = own.host, pid = own.pid } = hello;
    checkNames('queues', 'queue', hello.queues);
    const worker = await this.#engine.workers.register({
      name,
      incarnation,
      slots,
      tags,
      handlers,
      schemas,
      queues,
      priority,
      version,
      host,
      pid,
      address,
      beatMs: this.#terms.heartbeatMs,
      told: true,
      ...(hello.ticket === undefined ? {} : { ticket: hello.ticket }),
      ...(this.#place === undefined || hello.holder === undefined
        ? {}
        : { takes: { ...this.#place, holder: hello.holder } }),
    });
    const admit = (queue: string): Promise<void> | undefined => this.#admit(name, queue);
    const { token, vault } = hello;
    const isOwn = token === undefined && vault != null;
    const credentials = isOwn ? await this.#desk?.open({ name, vault, exposed: false }) : undefined;
    return new DirectSession(this.#engine, this.#renewal, worker, hello, {
      ...this.#terms,
      admit,
      givenTo: this.#givenTo,
      credentials,
      artifacts: this.#artifacts,
    });
  }
}

/** An end is reported again within seconds, or by another process. */
const MOST_ENDED = 1000;

const nothingGiven = (): Promise<GivenToName> => Promise.resolve({ tags: [], grant: {} });

/** Keys of children that handlers spawn begin so, and no other keys do. */
const SPAWNED = 'spawn:';

const NOT_HERE = { host: undefined, pid: undefined };

type SessionTerms = WorkTerms & {
  readonly admit: (queue: string) => Promise<void> | undefined;
  readonly givenTo: GivenTo;
  readonly credentials: DeskSession | undefined;
  readonly artifacts: ArtifactPlace | undefined;
};

/** For a worker that signed in with a token. */
interface JoinedTerms {
  readonly policy: WorkerPolicy;
  readonly granted: () => Promise<WorkerGrant>;
  readonly bound: SlotBound;
}

class DirectSession implements Session {
  readonly leaseMs: number;
  readonly heartbeatMs: number | undefined;
  readonly runTimeoutMs: number | undefined;
  readonly renewal: RenewalAddress | undefined;
  readonly claimsApart: boolean;
  readonly credentials: DeskSession | undefined;
  readonly artifacts: DirectArtifacts | undefined;
  readonly artifactTransfers: DirectArtifacts | undefined;
  readonly #engine: Engine;
  readonly #worker: number;
  /** For a worker that signed in with a token; other workers work on the store itself. */
  readonly #readable: ReadableTasks | undefined;
  readonly #joined: JoinedTerms | undefined;
  readonly #admit: (queue: string) => Promise<void> | undefined;
  /** Task → its last ended attempt. */
  #ended = new Map<number, number>();
  /** By spec: there are few. */
  readonly #terms = new Map<number, SpecTerms>();
  readonly #filter: ClaimFilter;
  readonly #name: string;

  constructor(
    engine: Engine,
    renewal: RenewalAddress | undefined,
    worker: number,
    { name, handlers, anyHandler = false, queues, token }: Hello,
    { heartbeatMs, runTimeoutMs, admit, givenTo, credentials, artifacts }: SessionTerms,
  ) {
    this.credentials = credentials;
    this.#engine = engine;
    this.#admit = admit;
    this.#worker = worker;
    this.leaseMs = engine.leaseMs;
    this.heartbeatMs = heartbeatMs;
    this.runTimeoutMs = runTimeoutMs;
    this.renewal = renewal;
    this.claimsApart = !engine.store.capabilities.sharesCommits;
    this.#name = name;
    if (token !== undefined) {
      this.#readable = new ReadableTasks(engine.store);
      const policy = new WorkerPolicy({ engine, name, handlers, givenTo });
      const bound = new SlotBound(engine, worker);
      this.#joined = { policy, granted: async () => (await givenTo(name)).grant, bound };
    }
    if (artifacts !== undefined)
      this.artifacts = new DirectArtifacts({
        engine,
        place: artifacts,
        worker: name,
        mayRead: (lease, named) => this.#mayRead(lease, named),
      });
    this.artifactTransfers = this.artifacts;
    this.#filter = {
      ...(anyHandler ? {} : { handlers }),
      ...(queues === undefined ? {} : { queues }),
      ...(token === undefined ? {} : { token }),
    };
  }

  async claim(request: ClaimRequest): Promise<readonly Assignment[]> {
    if (this.#joined === undefined) return this.#claim(request, this.#filter);
    const grant = await this.#joined.granted();
    const filter = bounded(this.#filter, grant);
    if (filter === undefined) {
      const { waitMs, signal } = request;
      if (waitMs > 0) await pause(this.#engine.world.timers, waitMs, { signal, unref: true });
      return [];
    }
    if (grant.slots === undefined) return this.#claim(request, filter);
    return this.#joined.bound.claim(grant.slots, request, (some) => this.#claim(some, filter));
  }

  async #claim({ max, waitMs, signal }: ClaimRequest, filter: ClaimFilter): Promise<readonly Assignment[]> {
    const grants = await this.#engine.claim({ worker: this.#worker, max, waitMs, signal, ...filter });
    if (grants.length === 0) return [];
    try {
      const assignments: DirectAssignment[] = [];
      for (const grant of grants) {
        // Not awaited when it is known: this is the path of every task.
        const terms = this.#terms.get(grant.spec) ?? (await this.#readTerms(grant.spec));
        const asked = this.#engine.credentialsOf(grant.lane);
        const names = asked instanceof Promise ? await asked : asked;
        assignments.push(assignmentOf(grant, this.#engine.idOf(grant), terms, names));
        this.#readable?.meet(grant.task);
      }
      return assignments;
    } catch (error) {
      // They are granted, and their caller would not know: their leases would expire and cost them a try.
      await Promise.allSettled(grants.map((grant) => this.#engine.release(grant)));
      throw error;
    }
  }

  async #readTerms(spec: number): Promise<SpecTerms> {
    const terms = { timeoutMs: await this.#engine.timeoutOf(spec), reuses: await this.#engine.reuses(spec) };
    this.#terms.set(spec, terms);
    return terms;
  }

  async complete(lease: Assignment, result: unknown): Promise<void> {
    await this.#engine.complete(heldOf(lease), result);
    this.#count(lease);
  }

  async completeMany(ends: readonly Completion[]): Promise<readonly (Error | undefined)[]> {
    const answers = await this.#engine.completeMany(
      ends.map(({ lease, result }) => ({ lease: heldOf(lease), result })),
    );
    for (const [i, { lease }] of ends.entries()) if (answers[i] === undefined) this.#count(lease);
    return answers;
  }

  async fail(lease: Assignment, error: unknown, options: Failing = {}): Promise<TaskState> {
    return this.#counted(lease, await this.#engine.fail(heldOf(lease), error, { ...options, by: this.#name }));
  }

  async release(lease: Assignment, options: { bounced?: boolean; delayMs?: number } = {}): Promise<TaskState> {
    return this.#counted(lease, await this.#engine.release(heldOf(lease), options));
  }

  async cancelled(lease: Assignment, said?: unknown): Promise<void> {
    await this.#engine.cancelled(heldOf(lease), said);
    this.#count(lease);
  }

  /** The number of ended tasks goes with the next heartbeat. */
  #counted(lease: Lease, state: TaskState): TaskState {
    if (isFinal(state)) this.#count(lease);
    else if (state !== 'running') this.#joined?.bound.free();
    return state;
  }

  /** Counts an end once, although an end whose answer was lost is reported again. */
  #count({ task, attempt }: Lease): void {
    this.#joined?.bound.free();
    if (this.#ended.get(task) === attempt) return;
    if (this.#ended.size >= MOST_ENDED) this.#ended = new Map();
    this.#ended.set(task, attempt);
    this.#engine.workers.ended(this.#worker);
  }

  log(lease: Assignment, entries: readonly LogEntry[]): Promise<void> {
    return this.#engine.logs.append(lease, entries);
  }

  async journal(lease: Assignment): Promise<readonly JournalValue[]> {
    await this.#requireHeld(lease);
    const entries = await this.#engine.journal(lease.task);
    return entries.flatMap(({ key, value = 'null', ref }): readonly JournalValue[] => {
      // A worker has forged it: whoever goes on would take any task for a child of its own, and read it.
      if (ref === undefined) return key.startsWith(SPAWNED) ? [] : [{ key, value }];
      const id = this.#engine.idOf({ task: ref, createdAt: Number(value) });
      return [{ key, value: JSON.stringify({ id, task: ref }), child: true }];
    });
  }

  /** The proof of a lease never expires, and must not be used to read what another attempt has written since. */
  async #requireHeld({ task, attempt }: Lease): Promise<void> {
    if (this.#readable === undefined) return;
    const record = await this.#engine.get(task);
    if (record?.state !== 'running' || record.attempt !== attempt) throw fault('LEASE_LOST', { task, attempt });
  }

  async turn(lease: Assignment, { entries, draw, spend, then }: TurnRequest): Promise<Turned> {
    for (const entry of entries) if (entry.kind === 'child') await this.#admit(entry.child.queue);
    await this.#refuseUnreadable(lease, entries, then);
    const checked = await this.#permitted(lease, entries, then);
    const turned = await this.#engine.turn(heldOf(lease), {
      entries: checked.map((entry) => this.#entry(entry)),
      ...(draw === undefined ? {} : { draw }),
      ...(spend === undefined ? {} : { spend }),
      then: this.#then(then),
    });
    const { went, state, body, key, budget } = turned;
    if (state !== undefined) this.#counted(lease, state);
    else if (went === 'parked') this.#joined?.bound.free();
    for (const entered of turned.entries) if (entered?.child !== undefined) this.#readable?.meet(entered.child.task);
    const texts = turned.entries.map((entered) => entered?.text ?? null);
    const more = { ...(key === undefined ? {} : { key }), ...(budget === undefined ? {} : { budget }) };
    return { went, state, body, entries: texts, ...more };
  }

  #then(then: TurnThen): ThenRequest {
    if (then.go === 'park') return { go: 'park', ...this.#wait(then) };
    return then.go === 'fail' ? { ...then, by: this.#name } : then;
  }

  /** The entries, as far as the worker may write them. */
  async #permitted(lease: Assignment, entries: readonly TurnEntry[], then: TurnThen): Promise<readonly TurnEntry[]> {
    if (this.#joined === undefined || !WorkerPolicy.concerns(entries, then)) return entries;
    return this.#joined.policy.check(await this.#heldTask(lease), entries, then);
  }

  async #heldTask(lease: Assignment): Promise<HeldTask> {
    const { task, attempt } = lease;
    const known = (lease as Partial<DirectAssignment>).grant ?? (await this.#engine.get(task));
    if (known === undefined) throw fault('LEASE_LOST', { task, attempt });
    const { queue, handler, spec, lane } = known;
    return { task, id: this.#engine.idOf(known), queue, handler, spec, lane };
  }

  /** A child may read what it waits for, and so may a task. They may name only tasks that the worker could read itself. */
  async #refuseUnreadable(lease: Assignment, entries: readonly TurnEntry[], then: TurnThen): Promise<void> {
    const readable = this.#readable;
    if (readable === undefined) return;
    const needs = entries.flatMap((entry) => (entry.kind === 'child' ? (entry.after ?? []).map(({ on }) => on) : []));
    const awaited = then.go === 'park' ? (then.children ?? []) : [];
    const refs = [...needs, ...awaited].filter((ref) => typeof ref !== 'object');
    // A repeated turn that has ended its attempt has no lease left to check.
    if (refs.every((ref) => readable.knows(this.#numberOf(ref)))) return;
    await this.#requireHeld(lease);
    const known = await readable.among(
      lease.task,
      refs.map((ref) => this.#named(ref)),
    );
    const unreadable = refs.find((ref) => !known.has(this.#numberOf(ref)));
    if (unreadable !== undefined) throw fault('NOT_FOUND', { kind: 'task', id: unreadable });
  }

  /** What the results of are told: of its own run, of children, of what its input names, and of what it depends on. */
  async #mayRead({ task }: Lease, named: NamedTask): Promise<boolean> {
    if (this.#readable === undefined) return true;
    if ((await this.#readable.among(task, [named])).has(named.task)) return true;
    return (await this.#engine.dependencies(task)).some((one) => one.task === named.task);
  }

  #named(ref: TaskRef): NamedTask {
    return typeof ref === 'string' ? { task: this.#numberOf(ref), id: ref } : { task: ref };
  }

  #entry(entry: TurnEntry): EntryRequest {
    if (entry.kind !== 'child' || entry.after === undefined) return entry as EntryRequest;
    const after = entry.after.map(({ on, optional = false }) => ({ on: this.#childOf(on), optional }));
    return { ...entry, after };
  }

  #wait(then: WaitFor & { readonly go: 'park' }): WaitRequest {
    const { go: _, children, timeoutMs, until, ...wait } = then;
    const timeout = until === undefined ? timeoutMs : Math.max(0, until - Math.floor(this.#engine.world.clock.wall()));
    return {
      ...wait,
      ...(children === undefined ? {} : { children: children.map((child) => this.#childOf(child)) }),
      ...(timeout === undefined ? {} : { timeout }),
    };
  }

  /** A number, or the key of a child of the same turn. */
  #childOf(ref: TaskRef | ChildKey): number | string {
    return typeof ref === 'object' ? ref.child : this.#numberOf(ref);
  }

  async waited(lease: Assignment): Promise<Waited | undefined> {
    await this.#requireHeld(lease);
    const wait = await this.#engine.waits.of(lease.task);
    if (wait === undefined) return undefined;
    const { key, outcome, body, deadline } = wait;
    const now = Math.floor(this.#engine.world.clock.wall());
    return { key, outcome, body, leftMs: deadline === undefined ? undefined : Math.max(0, deadline - now) };
  }

  async results(lease: Assignment, tasks: readonly TaskRef[]): Promise<readonly TaskResult[]> {
    await this.#requireHeld(lease);
    const numbers = tasks.map((one) => this.#numberOf(one));
    const known = await this.#readable?.among(
      lease.task,
      tasks.map((one) => this.#named(one)),
    );
    const readable = numbers.filter((task) => known === undefined || known.has(task));
    const records = await this.#engine.store.taskGet({ tasks: [...new Set(readable)] });
    const found = new Map(records.flatMap((record) => (record === undefined ? [] : [[record.task, record] as const])));
    return numbers.map((task) => this.#resultOf(task, found.get(task)));
  }

  async dependencies(lease: Assignment): Promise<readonly (TaskResult & { readonly optional: boolean })[]> {
    await this.#requireHeld(lease);
    const all = await this.#engine.dependencies(lease.task);
    return all.map(({ task, createdAt, state, result, optional }) => {
      const record = state === undefined || createdAt === undefined ? undefined : { task, createdAt, state, result };
      return { ...this.#resultOf(task, record), optional };
    });
  }

  async cancelChildren(lease: Assignment, tasks: readonly TaskRef[]): Promise<void> {
    await this.#requireHeld(lease);
    await this.#engine.trees.cancelChildren(
      lease.task,
      tasks.map((one) => this.#numberOf(one)),
    );
  }

  /** Whoever knows the hash has seen a task of the run. */
  async definition(lease: Assignment, hash: string): Promise<string | undefined> {
    await this.#requireHeld(lease);
    return (await this.#engine.store.definitionGet({ hash }))?.body;
  }

  async reusable(lease: Assignment): Promise<Reusable | undefined> {
    const kept = await this.#engine.keptResult(await this.#whole(lease));
    return kept && { id: this.#engine.idOf(kept), result: kept.value };
  }

  async keep(lease: Assignment, result: unknown): Promise<void> {
    await this.#engine.keepResult(await this.#whole(lease), result);
  }

  async #whole(lease: Assignment): Promise<Lease & Pick<Grant, 'handler' | 'payload' | 'spec'>> {
    const { grant, reuses } = lease as Partial<DirectAssignment>;
    if (grant !== undefined && reuses === true) return grant;
    const { task, attempt } = lease;
    const record = await this.#engine.get(task);
    if (record === undefined) throw fault('LEASE_LOST', { task, attempt });
    const { handler, payload, spec } = record;
    return { task, attempt, handler, payload, spec };
  }

  #resultOf(task: number, record: Pick<TaskRecord, 'task' | 'createdAt' | 'state' | 'result'> | undefined): TaskResult {
    if (record === undefined) return { task, id: undefined, state: 'gone', result: undefined };
    return { task, id: this.#engine.idOf(record), state: record.state, result: record.result };
  }

  #numberOf(ref: TaskRef): number {
    return typeof ref === 'string' ? this.#engine.parseId(ref) : ref;
  }

  renew(leases: readonly Lease[]): Promise<readonly RenewalAnswer[]> {
    return Promise.all(
      leases.map(async (lease) => {
        const answer = await this.#engine.renew(lease);
        return answer.held ? (answer.cancelRequested ? 'cancel' : 'held') : 'lost';
      }),
    );
  }

  cancels(): Promise<readonly Lease[]> {
    return this.#engine.cancelRequests(this.#worker);
  }

  onCancel(listener: (task: number) => void): () => void {
    return this.#engine.listen({ cancelRequested: listener });
  }

  /** A joined worker hears only of queues that it may serve: names of others are not its business. */
  onPause(listener: (queue: string) => void): () => void {
    const joined = this.#joined;
    if (joined === undefined) return this.#engine.listen({ queuePaused: listener });
    const tell = async (queue: string): Promise<void> => {
      const filter = bounded(this.#filter, await joined.granted());
      if (filter !== undefined && (filter.queues?.includes(queue) ?? true)) listener(queue);
    };
    // A hint: what cannot be looked up is not told.
    return this.#engine.listen({ queuePaused: (queue) => void tell(queue).catch(() => {}) });
  }

  async beat(state: WorkerState, report?: WorkerReport): Promise<void> {
    await this.#engine.workers.alive(this.#worker, state, report);
  }

  async close(): Promise<void> {
    this.credentials?.leave();
  }
}
