import assert from 'node:assert/strict';
import { type ErrorCode, isEngineError } from '../../core/errors.ts';
import type { HandlerSchema } from '../../core/placement/worker.ts';
import type { LogEntry } from '../../core/task/log.ts';
import type { Reason, TaskState } from '../../core/task/task.ts';
import type { World } from '../../core/world.ts';
import type { CredentialAck, CredentialOrder, VaultReport } from '../../protocol/credential-envelope.ts';
import type { Assignment, ClaimRequest, Hello, Link, Session } from '../../protocol/link.ts';

/** The operator's side of the cluster; an `Engine` fits. */
export interface LinkOperator {
  push(request: LinkPush): Promise<{ readonly task: number; readonly id: string }>;
  pushGraph(requests: readonly LinkGraphPush[]): Promise<readonly { readonly task: number; readonly id: string }[]>;
  journal(task: number): Promise<readonly LinkEntry[]>;
  get(task: number): Promise<LinkRecord | undefined>;
  cancel(task: number): Promise<unknown>;
  pause(queue: string): Promise<void>;
  attempts(task: number): Promise<readonly LinkAttempt[]>;
  readonly logs: { read(task: number): Promise<readonly (LogEntry & { readonly attempt: number })[]> };
  readonly budgets: { set(root: number, budgets: LinkBudgets): Promise<unknown> };
  readonly runs: {
    define(
      definitions: readonly { readonly hash: string; readonly kind: string; readonly body: string }[],
    ): Promise<void>;
  };
  readonly pools: {
    put(name: string, pool: LinkPool): Promise<unknown>;
    reserve(name: string, tickets: readonly { readonly id: string; readonly hash: string }[]): Promise<unknown>;
    plan(name: string): Promise<object>;
    carryOut(plan: object, tickets: readonly never[]): Promise<unknown>;
  };
  readonly waits: { signal(channel: string, body: unknown): Promise<unknown> };
  readonly workers: { list(): Promise<readonly LinkWorker[]>; schemas(): Promise<readonly HandlerSchema[]> };
}

export interface LinkPool {
  readonly queues?: readonly string[];
  readonly enabled?: boolean;
  readonly policy?: { readonly max?: number; readonly startMs?: number };
}

export interface LinkBudgets {
  readonly tokens?: { readonly soft?: number; readonly hard?: number };
}

export interface LinkPush {
  readonly queue: string;
  readonly handler: string;
  readonly input?: unknown;
  readonly maxAttempts?: number;
  readonly timeout?: number;
  readonly retry?: { readonly baseMs: number };
  readonly reuse?: true | number | { readonly key: string };
  readonly unique?: string;
}

export interface LinkGraphPush extends LinkPush {
  readonly name?: string;
  readonly after?: readonly string[];
}

export interface LinkRecord {
  readonly state: TaskState;
  readonly reason: Reason;
  readonly attempt: number;
  readonly tries: number;
  readonly result?: string | undefined;
}

export interface LinkEntry {
  readonly key: string;
  readonly kind: string;
  readonly attempt: number;
  /** The number of a child. */
  readonly ref?: number | undefined;
}

export interface LinkAttempt {
  readonly attempt: number;
  readonly outcome: string;
  readonly error?: string | undefined;
}

export interface LinkWorker {
  readonly name: string;
  readonly incarnation: string;
  readonly slots: number;
  readonly tags: readonly string[];
  readonly handlers: readonly string[];
  readonly state: string;
  readonly seenAt: number;
  readonly pool?: string | undefined;
}

/** Time that the cases advance; a `VirtualWorld` fits. */
export interface LinkWorld extends World {
  advance(ms: number): Promise<void>;
  settle(): Promise<void>;
}

/** The node's side of credentials. */
export interface LinkCredentials {
  /** By which the cluster signs. */
  readonly signer: string;
  /** Gives an order to the worker of this name. */
  order(worker: string, order: CredentialOrder): void;
  /** What this worker has said of its vault. */
  vaultOf(worker: string): Promise<VaultReport | undefined>;
  acksOf(worker: string): Promise<readonly CredentialAck[]>;
}

/** The place of the bytes of artifacts, which can be made to fail. */
export interface LinkArtifacts {
  /** So many transfers fail in a way that may pass. */
  failNext(transfers: number): void;
  /** The next upload stays on its way: it has arrived there, and goes on only when it is told. */
  holdNext(): { readonly arrived: Promise<void>; go(): void };
}

/** A new, empty cluster in a world of its own, seen from both sides of a link. */
export interface LinkSetting {
  readonly link: Link;
  readonly operator: LinkOperator;
  /** One pass of a duty, as the cluster would make it by itself. */
  readonly tick: (duty: 'reaper' | 'stager') => Promise<unknown>;
  readonly world: LinkWorld;
  /** Undefined: the link brings no credentials, and the topic of that name is left out. */
  readonly credentials?: LinkCredentials;
  /** Undefined: the link stores no artifacts, and the topic of that name is left out. */
  readonly artifacts?: LinkArtifacts;
  readonly close: () => Promise<void>;
}

export const QUEUE = 'mail';
export const HANDLER = 'send';

/** One setting, with helpers for what most cases do. */
export class LinkScene {
  readonly operator: LinkOperator;
  readonly world: LinkWorld;
  readonly tick: LinkSetting['tick'];
  readonly #credentials: LinkCredentials | undefined;
  readonly #artifacts: LinkArtifacts | undefined;
  readonly #link: Link;
  readonly #sessions: Session[] = [];

  constructor({ link, operator, tick, world, credentials, artifacts }: LinkSetting) {
    this.#artifacts = artifacts;
    this.#credentials = credentials;
    this.#link = link;
    this.operator = operator;
    this.tick = tick;
    this.world = world;
  }

  get credentials(): LinkCredentials {
    assert.ok(this.#credentials, 'the setting says nothing of credentials');
    return this.#credentials;
  }

  get artifacts(): LinkArtifacts {
    assert.ok(this.#artifacts, 'the setting says nothing of artifacts');
    return this.#artifacts;
  }

  /** Lets time pass until the promise is settled: for what waits between its tries, and has work outside of this world in between. */
  async passing<T>(promise: Promise<T>): Promise<T> {
    let pending = true;
    const over = (): void => {
      pending = false;
    };
    promise.then(over, over);
    for (;;) {
      for (let turn = 0; turn < 20 && pending; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
      if (!pending) return promise;
      await this.world.advance(10);
    }
  }

  /** A session for the handler `send` and all queues, unless the case says otherwise. */
  async open(hello: Partial<Hello> = {}): Promise<Session> {
    const n = this.#sessions.length + 1;
    const session = await this.#link.open({
      name: `worker-${n}`,
      incarnation: `incarnation-${n}`,
      slots: 8,
      tags: [],
      handlers: [HANDLER],
      queues: undefined,
      ...hello,
    });
    this.#sessions.push(session);
    return session;
  }

  push(request: Partial<LinkPush> = {}): Promise<{ readonly task: number; readonly id: string }> {
    return this.operator.push({ queue: QUEUE, handler: HANDLER, ...request });
  }

  /** Claims what is ready, without waiting. */
  claim(session: Session, want: Partial<ClaimRequest> = {}): Promise<readonly Assignment[]> {
    return session.claim({ max: 10, waitMs: 0, signal: new AbortController().signal, ...want });
  }

  async claimOne(session: Session): Promise<Assignment> {
    const [assignment, ...others] = await this.claim(session, { max: 1 });
    assert.ok(assignment, 'there was nothing to claim');
    assert.deepEqual(others, []);
    return assignment;
  }

  /** Pushes a task and claims it for the session. */
  async running(session: Session, request: Partial<LinkPush> = {}): Promise<Assignment> {
    const { task } = await this.push(request);
    const assignment = await this.claimOne(session);
    assert.equal(assignment.task, task, 'another task was claimed');
    return assignment;
  }

  /** Two attempts of one task: the lease of the first ran out and was reaped, and the session claimed the task again. */
  async overtaken(
    session: Session,
    request: Partial<LinkPush> = {},
  ): Promise<{ readonly stale: Assignment; readonly fresh: Assignment }> {
    const stale = await this.running(session, { maxAttempts: 10, ...request });
    await this.expire(session);
    const fresh = await this.claimOne(session);
    assert.deepEqual([fresh.task, fresh.attempt], [stale.task, stale.attempt + 1]);
    return { stale, fresh };
  }

  /** Lets all leases run out, and reaps them. */
  async expire({ leaseMs }: Session): Promise<void> {
    await this.world.advance(leaseMs + 1);
    await this.tick('reaper');
  }

  async get(task: number): Promise<LinkRecord> {
    const record = await this.operator.get(task);
    assert.ok(record, `task ${task} is not there`);
    return record;
  }

  /** State, reason, tries and attempt in short. */
  async brief(task: number): Promise<string> {
    const { state, reason, tries, attempt } = await this.get(task);
    return `${state} ${reason} ${tries}/${attempt}`;
  }

  async errorOf(task: number): Promise<unknown> {
    const { result } = await this.get(task);
    return result === undefined ? undefined : (JSON.parse(result) as unknown);
  }

  async worker(incarnation: string): Promise<LinkWorker> {
    const found = (await this.operator.workers.list()).find((worker) => worker.incarnation === incarnation);
    assert.ok(found, `no worker registered as ${incarnation}`);
    return found;
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) await session.close();
  }
}

/** The code of the error that a promise is rejected with. */
export async function refusal(promise: Promise<unknown>): Promise<ErrorCode> {
  try {
    await promise;
  } catch (error) {
    assert.ok(isEngineError(error), `not an error of ours: ${String(error)}`);
    return error.code;
  }
  return assert.fail('it was not refused');
}

export type LinkCase = (scene: LinkScene) => Promise<void>;

/** Cases of one subject. The key of a case is the guarantee that it proves. */
export interface LinkTopic {
  readonly name: string;
  readonly cases: Readonly<Record<string, LinkCase>>;
}
