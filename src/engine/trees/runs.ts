import { createHash } from 'node:crypto';
import { fault, isEngineError } from '../../core/errors.ts';
import {
  checkCancelNote,
  checkDefinition,
  checkDefinitionHash,
  checkRunName,
  checkRunTitle,
  type Definition,
  type RunTitle,
} from '../../core/graph/run.ts';
import { checkKey } from '../../core/names.ts';
import { canonicalJson } from '../../core/task/payload.ts';
import { type CancelAct, isFinal, type RetryAct, STATES, type TaskState } from '../../core/task/task.ts';
import type { World } from '../../core/world.ts';
import type {
  DefinitionRecord,
  NewRun,
  NewTask,
  RunPush,
  RunPushAnswer,
  RunQuery,
  RunRecord,
  Store,
} from '../../store/store.ts';
import { checkFlag, checkLimit, checkList, checkOptions, checkTask, whole } from '../check.ts';
import type { Batcher, Coalescer } from '../coalescer.ts';
import type { PushRequest } from '../push/push.ts';
import { otherContent, type TaskInterner } from '../push/pushes.ts';
import { type BudgetsRequest, checkBudgets } from './budgets.ts';
import type { TreeAnswer, TreeOptions, Trees } from './trees.ts';

/** What is to be started, and what it is called. */
export interface RunRequest {
  /** The root task. */
  readonly request: PushRequest;
  readonly run: RunTitle & {
    /** The task that it was forked from. */
    readonly forkedFrom?: number | undefined;
  };
  /** With its text, or by its hash alone if the store has it. */
  readonly definition?: Definition | KnownDefinition | undefined;
  /** What its tree may use; those of a run that is there already stay as they are. */
  readonly budgets?: BudgetsRequest | undefined;
  /** False: a run that has failed or was cancelled is answered as it is. Default true. */
  readonly revive?: boolean | undefined;
}

/** A definition that the store has. */
export interface KnownDefinition {
  readonly hash: string;
  readonly kind?: undefined;
  readonly body?: undefined;
}

export interface Run extends RunRecord {
  /** The public id of its task. */
  readonly id: string;
}

export interface StartedRun {
  readonly run: Run;
  /** False: it was there already. */
  readonly fresh: boolean;
  /** It had failed or was cancelled, and runs again. */
  readonly revived: boolean;
}

export interface RunFilter extends Omit<RunQuery, 'limit'> {
  /** Default 50. */
  readonly limit?: number | undefined;
}

export interface RunList {
  readonly runs: readonly Run[];
  /** The `before` of the next page. Undefined: there are no more runs. */
  readonly next: number | undefined;
}

export interface RunCancel extends TreeOptions {
  readonly why?: string | undefined;
  readonly by?: string | undefined;
}

/** A task by its number or its public id, or a run by its name. */
export type RunRef = number | string;

export interface RunsDeps {
  readonly store: Pick<
    Store,
    'definitionGet' | 'definitionPut' | 'runFind' | 'runGet' | 'runList' | 'runNoteCancel' | 'runPush' | 'treeCount'
  >;
  readonly coalescer: Coalescer;
  readonly tasks: TaskInterner;
  readonly trees: Pick<Trees, 'cancel' | 'retry'>;
  readonly idOf: (task: Pick<RunRecord, 'task' | 'createdAt'>) => string;
  /** The number of a public id; undefined for any other text. */
  readonly parseId: (text: string) => number | undefined;
  readonly world: Pick<World, 'tracing'>;
}

const REQUEST: ReadonlySet<string> = new Set([
  'request',
  'run',
  'definition',
  'budgets',
  'revive',
] satisfies (keyof RunRequest)[]);
const RUN: ReadonlySet<string> = new Set([
  'name',
  'kind',
  'title',
  'labels',
  'forkedFrom',
] satisfies (keyof RunRequest['run'])[]);
const DEFINITION: ReadonlySet<string> = new Set(['hash', 'kind', 'body'] satisfies (keyof Definition)[]);
const FILTER: ReadonlySet<string> = new Set([
  'before',
  'limit',
  'kind',
  'states',
  'name',
  'title',
] satisfies (keyof RunFilter)[]);
const DEFAULT_LIMIT = 50;
/** Pages of the store for one list. With a filter that fits little a caller asks again from `next`. */
const PAGES = 10;
/** Of one flush. On SQLite it is one job, which should not hold the loop for longer than a turn. */
const MOST_STARTED = 64;
const MOST_BYTES = 1_048_576;
/** A run may be pruned between two steps of a start. More often than this means that something is wrong. */
const LOOKS = 5;

/** Runs: root tasks that have a name, a kind and a definition, and trees as one thing to look at, cancel and run again. */
export class Runs {
  readonly #deps: RunsDeps;
  readonly #batcher: Batcher<RunPush, RunPushAnswer>;

  constructor(deps: RunsDeps) {
    this.#deps = deps;
    this.#batcher = deps.coalescer.batcher({
      name: 'run',
      maxItems: MOST_STARTED,
      maxBytes: MOST_BYTES,
      sizeOf: ({ task, definition }) => task.payload.length + (definition?.body.length ?? 0),
      maxInFlight: 2,
      send: (runs) => deps.store.runPush({ runs }),
    });
  }

  /**
   * Starts a run. Under a name that is taken by the same work it answers that run: as it is while it is unfinished or
   * completed, and revived with its tree if it has failed or was cancelled. Other work under the name is refused with
   * `UNIQUE_CONFLICT`.
   */
  async start(start: RunRequest): Promise<StartedRun> {
    checkOptions('start', start, REQUEST);
    checkOptions('run', start.run, RUN);
    checkFlag('revive', start.revive);
    const { request } = start;
    const title = checkRunTitle(start.run);
    const { forkedFrom } = start.run;
    if (forkedFrom !== undefined) checkTask(forkedFrom);
    const definition = start.definition === undefined ? undefined : readDefinition(start.definition);
    const budgets = start.budgets === undefined ? undefined : checkBudgets(start.budgets);
    const task = await this.#deps.tasks.place(request);
    const fingerprint = fingerprintOf(request.handler, definition?.hash, task.payload);
    const run: NewRun = { ...title, forkedFrom, fingerprint, definition: definition?.hash };
    for (let look = 0; look < LOOKS; look++) {
      const onPushed = this.#deps.world.tracing?.pushing();
      const answer = await this.#batcher.submit({ task, run, definition: definition?.text, budgets });
      if (answer.kind === 'made') {
        this.#made(task, request, answer, onPushed);
        return { run: this.#view(madeRun(request, run, answer)), fresh: true, revived: false };
      }
      const attached = await this.#attach(start, run, answer);
      if (attached !== undefined) return attached;
    }
    throw fault('CONFLICT', { problem: `the run ${title.name} is removed each time that it is started` });
  }

  /** Undefined: there is no such run. A task that was never started as a run is one of kind `task`. */
  async get(ref: RunRef): Promise<Run | undefined> {
    const { store, parseId } = this.#deps;
    const task = typeof ref === 'string' ? parseId(ref) : ref;
    if (task === undefined) {
      const named = await store.runFind({ name: checkRunName(ref) });
      return named && this.#view(named);
    }
    checkTask(task);
    const [run] = await store.runGet({ tasks: [task] });
    return run && this.#view(run);
  }

  /** Newest first. A page may be short, or empty, where `next` says that there are more. */
  async list(filter: RunFilter = {}): Promise<RunList> {
    checkFilter(filter);
    const { limit = DEFAULT_LIMIT, ...query } = filter;
    const runs: Run[] = [];
    let next = query.before;
    for (let page = 0; page < PAGES; page++) {
      const found = await this.#deps.store.runList({ ...query, before: next, limit: limit - runs.length });
      runs.push(...found.runs.map((run) => this.#view(run)));
      next = found.next;
      if (next === undefined || runs.length === limit) break;
    }
    return { runs, next };
  }

  /** Keeps who asked and why, and then cancels the tree. */
  async cancel(ref: RunRef, options: RunCancel = {}): Promise<TreeAnswer<CancelAct>> {
    const { why, by, ...rest } = options;
    const note = { why: checkCancelNote('why', why), by: checkCancelNote('by', by) };
    const { task, root } = await this.#require(ref);
    const { store, trees } = this.#deps;
    // First: whoever sees the cancel finds its reason. A member has no place for one.
    if (rest.dryRun !== true && root === undefined) await store.runNoteCancel({ task, ...note });
    return trees.cancel(task, rest);
  }

  /** Runs what has failed or was cancelled in the tree again, its root last. */
  async retry(ref: RunRef, options: TreeOptions = {}): Promise<TreeAnswer<RetryAct>> {
    return this.#deps.trees.retry((await this.#require(ref)).task, options);
  }

  /** How many tasks of the tree are in each state, its root included. */
  async count(ref: RunRef): Promise<Readonly<Record<TaskState, number>>> {
    const { task, root } = await this.#require(ref);
    return this.#deps.store.treeCount({ root: root ?? task });
  }

  /** Stores texts that runs will name. */
  async define(definitions: readonly Definition[]): Promise<void> {
    checkList('definitions', definitions);
    await this.#deps.store.definitionPut({ items: definitions.map(readText) });
  }

  async definition(hash: string): Promise<DefinitionRecord | undefined> {
    return this.#deps.store.definitionGet({ hash: checkDefinitionHash(hash) });
  }

  #made(
    task: NewTask,
    { queue, handler }: PushRequest,
    answer: RunPushAnswer & { readonly kind: 'made' },
    onPushed: ReturnType<NonNullable<World['tracing']>['pushing']> | undefined,
  ): void {
    const { task: number, createdAt, state } = answer;
    this.#deps.tasks.pushed([task], [{ ok: true, task: number, createdAt, state, fresh: true }]);
    onPushed?.([{ id: this.#deps.idOf(answer), queue, handler }]);
  }

  /** What there is already. Undefined: it was removed meanwhile. */
  async #attach(
    { request, revive = true }: RunRequest,
    asked: NewRun,
    answer: Exclude<RunPushAnswer, { readonly kind: 'made' }>,
  ): Promise<StartedRun | undefined> {
    if (answer.kind !== 'exists') throw refusal(request, answer);
    const run = this.#view(answer.run);
    // An operation id or a unique key led to it, and the store has compared what they stand for: a repeat changes nothing.
    if (asked.name === undefined || run.name !== asked.name) return { run, fresh: false, revived: false };
    if (run.fingerprint !== asked.fingerprint) throw otherWork(run);
    if (!revive || !isFinal(run.state) || run.state === 'completed') return { run, fresh: false, revived: false };
    try {
      const { counts } = await this.#deps.trees.retry(run.task);
      return { run: await this.#require(run.task), fresh: false, revived: counts.again > 0 };
    } catch (error) {
      if (isEngineError(error, 'NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async #require(ref: RunRef): Promise<Run> {
    const run = await this.get(ref);
    if (run === undefined) throw fault('NOT_FOUND', { kind: 'run', id: ref });
    return run;
  }

  #view(run: RunRecord): Run {
    return { ...run, id: this.#deps.idOf(run) };
  }
}

/** As it is when it was made. */
function madeRun(
  { queue, handler }: PushRequest,
  { name, kind, title, fingerprint, definition, forkedFrom, labels = {} }: NewRun,
  { task, createdAt, state }: RunPushAnswer & { readonly kind: 'made' },
): RunRecord {
  return {
    task,
    name,
    kind,
    title,
    fingerprint,
    definition,
    forkedFrom,
    labels,
    queue,
    handler,
    createdAt,
    state,
    reason: 'none',
    attempt: 0,
    cancelNote: undefined,
    startedAt: undefined,
    finishedAt: undefined,
    cancelRequestedAt: undefined,
    parent: undefined,
    root: undefined,
  };
}

/** A definition by its hash, and its text if it was given. */
export function readDefinition(definition: Definition | KnownDefinition): {
  readonly hash: string;
  readonly text?: Definition;
} {
  checkOptions('definition', definition, DEFINITION);
  if (definition.body === undefined) return { hash: checkDefinitionHash(definition.hash) };
  return { hash: definition.hash, text: readText(definition) };
}

/** The hash is computed here too: a text under the hash of another one would be run in its place. */
function readText(definition: Definition): Definition {
  checkOptions('definition', definition, DEFINITION);
  const checked = checkDefinition(definition);
  if (createHash('sha256').update(checked.body).digest('hex') === checked.hash) return checked;
  throw fault('INVALID_INPUT', { field: 'definition.hash', problem: 'it is not the SHA-256 of the body' });
}

/** What makes two starts the same work: handler, definition and input. Where and how often it may run do not count. */
export function fingerprintOf(handler: string, definition: string | undefined, payload: string): string {
  const parts = [handler, definition ?? '', canonicalJson(payload)];
  return createHash('sha256').update(parts.join('\u0000')).digest('hex');
}

function checkFilter(filter: RunFilter): void {
  checkOptions('filter', filter, FILTER);
  const { before, limit, kind, states, name, title } = filter;
  if (limit !== undefined) checkLimit(limit);
  if (before !== undefined) whole('before', before, 0, Number.MAX_SAFE_INTEGER);
  // An empty text is the beginning of every name, and no kind or title.
  if (name !== undefined && name !== '') checkRunName(name);
  for (const [field, text] of Object.entries({ kind, title })) {
    if (text !== undefined && text !== '') checkKey(field, text);
  }
  if (states === undefined) return;
  checkList('states', states);
  const unknown = states.find((state) => !STATES.includes(state));
  if (unknown !== undefined) {
    throw fault('INVALID_INPUT', { field: 'states', problem: `a state is one of ${STATES.join(', ')}` });
  }
}

function otherWork({ name, task, id, state }: Run): Error {
  const hint = `The run ${id} (${state}) was started under this name with another definition or input. Use another name, or start it with the same.`;
  return fault('UNIQUE_CONFLICT', { key: name, task, run: id }, { hint });
}

function refusal(
  { queue, unique }: PushRequest,
  answer: Exclude<RunPushAnswer, { readonly kind: 'made' | 'exists' }>,
): Error {
  if (answer.kind === 'unknown') {
    const hint = 'Start the run with the text of its definition; the store keeps it as long as a run names it.';
    return fault('NOT_FOUND', { kind: 'definition', id: answer.definition }, { hint });
  }
  const refused = answer.answer;
  if ('limit' in refused) return fault('LIMIT_REACHED', { limit: refused.limit, key: refused.key });
  if (refused.byOp === true) return otherContent(refused.conflict);
  const key = typeof unique === 'string' ? unique : unique?.key;
  return fault('UNIQUE_CONFLICT', { key, queue, task: refused.conflict });
}
