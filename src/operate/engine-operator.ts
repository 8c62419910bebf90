import type { CallArgs, CallInput } from '../client/client.ts';
import { fault } from '../core/errors.ts';
import type { Silence } from '../core/node.ts';
import type { Engine } from '../engine/engine.ts';
import type { AnswerOf } from '../protocol/routes.ts';
import { verified } from '../protocol/verified-bytes.ts';
import type { Actor, AuditRecorder } from './audit/recorder.ts';
import { madeBy, targetOf } from './audit/target.ts';
import type { CredentialSafe } from './credentials/safe.ts';
import { EngineSnapshot, numberOf } from './engine-snapshot.ts';
import { eventView } from './operations/events.ts';
import { OPERATIONS, type OperatedName } from './operations/operations.ts';
import type { EventsOptions, FeedView, Operator, WantedBytes } from './operator.ts';
import { findRun } from './runs/find-run.ts';
import { RunMembers } from './runs/run-members.ts';
import type { HookSecrets } from './triggers/hook-secrets.ts';
import type { LogLineView } from './views.ts';

/** Who asks an operator that is not behind a server. */
export interface OperatorAudit {
  readonly recorder: AuditRecorder;
  readonly actor: Actor;
  /** Actions that it does not write down. */
  readonly skips?: (action: string) => boolean;
}

/** The place of the bytes of artifacts. */
export interface BlobReader {
  read(blob: string, signal: AbortSignal | undefined): Promise<AsyncIterable<Uint8Array>>;
  /** With the operator, if it is the operator's own. */
  close?(): Promise<void>;
}

/** The operator of an engine: for the routes of a node, and for a command that has the store open. */
export class EngineOperator implements Operator {
  readonly engine: Engine;
  readonly #silence: Silence | undefined;
  readonly #hooks: HookSecrets | undefined;
  readonly #audit: OperatorAudit | undefined;
  readonly #safe: CredentialSafe | undefined;
  readonly #blobs: BlobReader | undefined;
  /** Open followers. While there are some, the engine polls for changes of other processes. */
  #followers = 0;
  #unwatch = (): void => {};

  /**
   * `silence`: how long a node may be silent before it counts as stale, and as dead. `hooks`: of a node that takes webhooks. `audit`: where
   * nobody else writes down who asks. `safe`: of whoever has the secret of the cluster. `blobs`: where it is asked for bytes.
   */
  constructor(
    engine: Engine,
    silence?: Silence,
    hooks?: HookSecrets,
    audit?: OperatorAudit,
    safe?: CredentialSafe,
    blobs?: BlobReader,
  ) {
    this.engine = engine;
    this.#silence = silence;
    this.#hooks = hooks;
    this.#audit = audit;
    this.#safe = safe;
    this.#blobs = blobs;
  }

  call<N extends OperatedName>(name: N, ...[ask]: CallArgs<CallInput<N>>): Promise<AnswerOf<N>> {
    return this.answer(name, (ask ?? {}) as CallInput<N>);
  }

  async answer<N extends OperatedName>(name: N, ask: CallInput<N>): Promise<AnswerOf<N>> {
    const work = async (): Promise<AnswerOf<N>> =>
      OPERATIONS[name](new EngineSnapshot(this.engine, this.#silence, this.#hooks, this.#safe), ask);
    if (this.#audit === undefined) return work();
    const { recorder, actor, skips } = this.#audit;
    if (skips?.(name)) return work();
    const asked: { readonly params?: unknown; readonly body?: unknown; readonly by?: string | undefined } = ask;
    const target = { target: targetOf(asked), targetBy: madeBy(asked) };
    return recorder.around({ action: name, actor: { ...actor, by: asked.by }, body: asked.body, ...target }, work);
  }

  async *events({ after, run, signal }: EventsOptions): AsyncGenerator<FeedView> {
    const found = run === undefined ? undefined : await findRun(new EngineSnapshot(this.engine), run);
    const members = found === undefined ? undefined : new RunMembers(this.engine, found.root ?? found.task);
    const ofRun = found === undefined ? {} : { runId: found.id };
    const options = { after, ...(signal === undefined ? {} : { signal }) };
    for await (const item of this.#watched(this.engine.events(options))) {
      if (item.kind === 'reset') yield item;
      else if (members === undefined || (await members.only([item.event])).length > 0) {
        yield { kind: 'event', event: { ...eventView(this.engine, item.event), ...ofRun } };
      }
    }
  }

  lines(id: string, { signal }: { readonly signal?: AbortSignal | undefined }): AsyncGenerator<LogLineView> {
    return this.#watched(this.engine.logs.follow(numberOf(this.engine, id), signal === undefined ? {} : { signal }));
  }

  async *bytes(
    { id }: WantedBytes,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<Uint8Array> {
    if (this.#blobs === undefined) throw fault('UNSUPPORTED', { part: 'place for the bytes of artifacts' });
    const { blob, ...content } = await this.engine.artifacts.get(id);
    yield* verified(await this.#blobs.read(blob, signal), content);
  }

  async close(): Promise<void> {
    await this.#blobs?.close?.();
    await this.engine.store.close();
    // Followers that wait for events read again, and get the error that the store is closed.
    this.engine.hint();
  }

  async *#watched<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    const { engine } = this;
    this.#followers += 1;
    if (this.#followers === 1) {
      this.#unwatch = engine.store.watch({ wanted: () => engine.waiting, onChange: () => engine.hint() });
    }
    try {
      yield* items;
    } finally {
      this.#followers -= 1;
      if (this.#followers === 0) this.#unwatch();
    }
  }
}
