import type { ArtifactKind, Content } from '../../core/artifact/artifact.ts';
import { checkArtifactKind, checkContent, checkMediaType } from '../../core/artifact/artifact-content.ts';
import { checkArtifactName } from '../../core/artifact/artifact-name.ts';
import type { Full } from '../../core/artifact/artifact-room.ts';
import { checkArtifactId, isArtifactId, newArtifactId } from '../../core/artifact/blob-key.ts';
import { fault } from '../../core/errors.ts';
import { MAX_ID } from '../../core/ids.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { ArtifactRecord, ArtifactUsage, PendingArtifact, Store } from '../../store/store.ts';
import { checkFlag, checkLease, checkLimit, checkList, checkOptions, checkTask, whole } from '../check.ts';

/** What a task announces before its bytes travel. */
export interface ArtifactRequest extends Content {
  readonly name: string;
  /** The media type. */
  readonly type: string;
  /** Default `file`. */
  readonly kind?: ArtifactKind | undefined;
}

export interface BeginOptions {
  /** Its bytes are checked by nobody but their maker, as in a direct upload: no other artifact shares them. */
  readonly own?: boolean | undefined;
}

export interface BegunArtifact {
  readonly id: string;
  /** The key under which its bytes belong. */
  readonly blob: string;
}

/** All bounds that are given hold. */
export interface ArtifactListQuery {
  readonly task?: number | undefined;
  /** At most a thousand. */
  readonly tasks?: readonly number[] | undefined;
  /** All tasks of the tree of this root. */
  readonly root?: number | undefined;
  readonly name?: string | undefined;
  /** Only those with a smaller number: the `n` of the last one of the page before. */
  readonly before?: number | undefined;
  /** At most a thousand; default 100. */
  readonly limit?: number | undefined;
}

export interface ArtifactsDeps {
  readonly store: Pick<
    Store,
    | 'artifactBegin'
    | 'artifactEnd'
    | 'artifactGet'
    | 'artifactPending'
    | 'artifactList'
    | 'artifactRemove'
    | 'artifactUsage'
    | 'taskGet'
  >;
  readonly random: () => number;
  /** In bytes, of all artifacts; undefined: no bound. */
  readonly quota: number | undefined;
  /** In bytes, of the artifacts of one task. */
  readonly taskQuota: number | undefined;
}

const REQUEST: ReadonlySet<string> = new Set([
  'name',
  'type',
  'kind',
  'size',
  'sha256',
] satisfies (keyof ArtifactRequest)[]);
const BEGIN: ReadonlySet<string> = new Set(['own'] satisfies (keyof BeginOptions)[]);
const LIST: ReadonlySet<string> = new Set([
  'task',
  'tasks',
  'root',
  'name',
  'before',
  'limit',
] satisfies (keyof ArtifactListQuery)[]);
/** Artifacts that one call names. */
const MOST_IDS = 1000;
const DEFAULT_LIMIT = 100;

/** Files that tasks leave behind: what is announced, what is whole, and what a completion may refer to. Bytes do not come by here. */
export class Artifacts {
  readonly #deps: ArtifactsDeps;

  constructor(deps: ArtifactsDeps) {
    this.#deps = deps;
  }

  /** Announces bytes that are about to travel. Fenced: `LEASE_LOST`. `ARTIFACT_QUOTA`: there is no room, and nothing was written. */
  async begin(lease: Lease, request: ArtifactRequest, options: BeginOptions = {}): Promise<BegunArtifact> {
    checkLease(lease);
    checkOptions('artifact', request, REQUEST);
    checkOptions('options', options, BEGIN);
    checkFlag('own', options.own);
    const { store, random, quota, taskQuota } = this.#deps;
    const { task, attempt } = lease;
    const id = newArtifactId(random);
    const begun = await store.artifactBegin({
      task,
      attempt,
      id,
      name: checkArtifactName(request.name),
      type: checkMediaType(request.type),
      kind: checkArtifactKind(request.kind ?? 'file'),
      ...checkContent(request),
      own: options.own ?? false,
      taskQuota,
      quota,
    });
    if (begun.kind === 'lost') throw leaseLost(lease);
    if (begun.kind === 'full') throw noRoom(begun);
    return { id, blob: begun.blob };
  }

  /**
   * Its bytes have arrived and were checked: it is visible from here on, in the place of the one that had its name. Fenced. May be repeated.
   * `NOT_FOUND`: it was not begun under this lease, or was given up.
   */
  async end(lease: Lease, id: string): Promise<ArtifactRecord> {
    checkLease(lease);
    checkArtifactId(id);
    const answer = await this.#deps.store.artifactEnd({ task: lease.task, attempt: lease.attempt, id });
    if (answer === 'lost') throw leaseLost(lease);
    if (answer === 'unknown') throw noArtifact(id);
    return this.get(id);
  }

  /** One that was begun and is not whole; undefined: there is none of that id. Its task and attempt are the lease of its upload. */
  async pending(id: string): Promise<PendingArtifact | undefined> {
    return isArtifactId(id) ? this.#deps.store.artifactPending({ id }) : undefined;
  }

  /** A whole one. `NOT_FOUND`: there is none of that id that is whole. */
  async get(id: string): Promise<ArtifactRecord> {
    const [record] = isArtifactId(id) ? await this.#deps.store.artifactGet({ ids: [id] }) : [];
    if (record === undefined) throw noArtifact(id);
    return record;
  }

  /** The whole one of that name. */
  async find({ task, name }: { readonly task: number; readonly name: string }): Promise<ArtifactRecord | undefined> {
    const [record] = await this.list({ task, name, limit: 1 });
    return record;
  }

  /** Whole ones, the newest first. */
  async list(query: ArtifactListQuery = {}): Promise<readonly ArtifactRecord[]> {
    checkOptions('query', query, LIST);
    const { task, tasks: given, root, name, before, limit = DEFAULT_LIMIT } = query;
    const tasks = tasksOf(task, given);
    if (tasks?.length === 0) return [];
    if (root !== undefined) checkTask(root);
    return this.#deps.store.artifactList({
      tasks,
      root,
      name: name === undefined ? undefined : checkArtifactName(name),
      before: before === undefined ? undefined : whole('before', before, 0, MAX_ID),
      limit: checkLimit(limit),
    });
  }

  /** Answers how many there were. Their bytes are deleted later, by the duty. */
  async remove(ids: readonly string[]): Promise<number> {
    return this.#deps.store.artifactRemove({ ids: checkIds(ids) });
  }

  /** How much room all artifacts take, those that are under way included. */
  usage(): Promise<ArtifactUsage> {
    return this.#deps.store.artifactUsage();
  }

  /** `ARTIFACT_UNKNOWN`: one of these is not whole, or belongs to another tree than the task. */
  async checkRefs(task: number, ids: readonly string[]): Promise<void> {
    checkTask(task);
    checkList('artifacts', ids);
    if (ids.length === 0) return;
    if (ids.length > MOST_IDS) throw tooMany('artifacts');
    const strange = ids.find((id) => !isArtifactId(id));
    if (strange !== undefined) throw unknownRef(strange);
    const [found, [record]] = await Promise.all([
      this.#deps.store.artifactGet({ ids }),
      this.#deps.store.taskGet({ tasks: [task] }),
    ]);
    const root = record?.root ?? task;
    const good = new Set(found.filter((one) => one.root === root).map(({ id }) => id));
    const unknown = ids.find((id) => !good.has(id));
    if (unknown !== undefined) throw unknownRef(unknown);
  }
}

function tasksOf(task: number | undefined, tasks: readonly number[] | undefined): readonly number[] | undefined {
  if (task !== undefined) checkTask(task);
  if (tasks === undefined) return task === undefined ? undefined : [task];
  checkList('tasks', tasks);
  if (tasks.length > MOST_IDS) throw tooMany('tasks');
  for (const one of tasks) checkTask(one);
  return task === undefined ? tasks : tasks.filter((one) => one === task);
}

function checkIds(ids: readonly string[]): readonly string[] {
  checkList('ids', ids);
  if (ids.length > MOST_IDS) throw tooMany('ids');
  return ids.map(checkArtifactId);
}

function tooMany(field: string): Error {
  return fault('INVALID_INPUT', { field, problem: `it has more than ${MOST_IDS} entries` });
}

function noRoom({ of, used, quota }: Full): Error {
  return fault('ARTIFACT_QUOTA', { of, used, quota, problem: ROOM[of](used, quota) });
}

const ROOM: Readonly<Record<Full['of'], (used: number, quota: number) => string>> = {
  task: (used, quota) => `those of its task take ${used} of ${quota} bytes`,
  all: (used, quota) => `all artifacts take ${used} of ${quota} bytes`,
  entries: (used, quota) => `its task has ${used}, and may have ${quota}`,
};

function noArtifact(id: unknown): Error {
  return fault(
    'NOT_FOUND',
    { kind: 'artifact', id },
    { hint: 'It is not whole, was removed, or its retention is over.' },
  );
}

function unknownRef(id: unknown): Error {
  return fault('ARTIFACT_UNKNOWN', { id });
}

function leaseLost({ task, attempt }: Lease): Error {
  return fault('LEASE_LOST', { task, attempt });
}
