import { fault } from '../../core/errors.ts';
import { type DocumentNode, findFlaw, needsAcross, subtreeOf } from '../../core/graph/document.ts';
import { type DocumentStatus, planRun } from '../../core/graph/document-run.ts';
import type {
  DocumentCount,
  DocumentFilter,
  DocumentQuery,
  DocumentRecord,
  DocumentWrite,
  NewDocument,
  Store,
} from '../../store/store.ts';
import type { GraphRequest, Graphs } from '../push/graphs.ts';
import type { Pushed } from '../push/pushes.ts';
import { KeyedMutex } from '../settle/keyed-mutex.ts';
import { type DocumentBody, queueOf, requestOf } from './document-body.ts';
import { busy, flawed, refuse, refusedRun, refusedWrite } from './document-refusals.ts';
import type { EndReport, ReportBody } from './end-report.ts';

/** A document, decoded. */
export interface Document extends Omit<DocumentRecord, 'body'> {
  readonly body: DocumentBody;
  readonly status: DocumentStatus;
}

/** A document to write. One without a parent begins a tree. */
export interface DocumentDraft {
  readonly id: string;
  readonly parent: string | undefined;
  readonly user: string | undefined;
  readonly body: DocumentBody;
  readonly shows?: string | undefined;
  readonly task?: number | undefined;
}

export interface DocumentEdit {
  readonly parent?: string | undefined;
  readonly user?: string | undefined;
  readonly body?: Partial<DocumentBody> | undefined;
  /** Nothing is changed if the document has another version. */
  readonly version?: number | undefined;
}

/** May refuse tasks before they are pushed or written; gets their number by queue. */
export type Admit = (tasks: ReadonlyMap<string, number>) => void | Promise<void>;

/** The documents that an execution runs, and their tasks. */
export type Execution = readonly { readonly document: Document; readonly pushed: Pushed }[];

export interface ExecuteOptions {
  /** May refuse the tasks of the execution. */
  readonly admit?: Admit | undefined;
  /** A task that is pushed with the others, and runs when the document has ended. */
  readonly report?: EndReport | undefined;
  /** The same for each document that is run. */
  readonly each?: EndReport | undefined;
}

export interface DocumentsDeps {
  readonly store: Store;
  readonly graphs: Graphs;
}

/** Documents of one tree. */
export const MAX_DOCUMENTS = 1000;
/** Dependencies of all tasks of one execution together. */
const MAX_EDGES = 50_000;
/** How often a change is tried again after another process was faster. Changes of one process take turns. */
const TRIES = 100;

type Change<T> = { readonly write: Omit<DocumentWrite, 'root' | 'version'>; readonly answer: T };

/**
 * Trees of tasks that are written down first and executed later. Each change reads a tree, decides by the rules of core, and writes if the
 * tree is still as it was read. Otherwise it begins again.
 */
export class Documents {
  readonly #store: Store;
  readonly #graphs: Graphs;
  /** By the root of the tree. Without this mutex, 160 of 200 concurrent edits of a tree gave up, each overtaken 20 times in a row. */
  readonly #mutex = new KeyedMutex();

  constructor({ store, graphs }: DocumentsDeps) {
    this.#store = store;
    this.#graphs = graphs;
  }

  /** Undefined: there is none, or the task of its last execution is no longer kept. */
  async find(id: string): Promise<Document | undefined> {
    const [record] = await this.#store.documentGet({ ids: [id] });
    return record === undefined ? undefined : read(record);
  }

  async get(id: string): Promise<Document> {
    const found = await this.find(id);
    if (found === undefined) throw fault('NOT_FOUND', { kind: 'task', id });
    return found;
  }

  async getMany(ids: readonly string[]): Promise<readonly (Document | undefined)[]> {
    const records = await this.#store.documentGet({ ids });
    return records.map((record) => record && read(record));
  }

  /** The documents that these tasks execute. */
  async of(tasks: readonly number[]): Promise<readonly (Document | undefined)[]> {
    const records = await this.#store.documentOf({ tasks });
    return records.map((record) => record && read(record));
  }

  /** The whole tree of a document. */
  async tree(id: string): Promise<readonly Document[]> {
    const { root } = await this.get(id);
    return this.#read(root);
  }

  /** Newest first; `next` is where the next page begins. */
  async page(query: DocumentQuery): Promise<{ readonly documents: readonly Document[]; readonly next?: number }> {
    const records = await this.#store.documentList(query);
    const documents = records.flatMap((record) => read(record) ?? []);
    const last = records.at(-1)?.number;
    return last === undefined || records.length < query.limit ? { documents } : { documents, next: last };
  }

  count(filter: DocumentFilter): Promise<DocumentCount> {
    return this.#store.documentCount(filter);
  }

  /** Adds a tree, or a branch to a tree. The parent of a branch must not have been executed. */
  async create(drafts: readonly DocumentDraft[]): Promise<readonly Document[]> {
    const own = new Set(drafts.map(({ id }) => id));
    const foreign = [
      ...new Set(drafts.flatMap(({ parent }) => (parent === undefined || own.has(parent) ? [] : [parent]))),
    ];
    if (foreign.length === 0) return this.#createTree(drafts);
    const [above] = foreign as [string];
    const parents = await this.getMany(foreign);
    const missing = foreign.find((_, i) => parents[i] === undefined);
    if (missing !== undefined) throw refuse('parent', `there is no task ${missing} to be a parent`);
    if (new Set(parents.map((parent) => parent?.root)).size > 1 || drafts.some(({ parent }) => parent === undefined)) {
      throw refuse('tree', 'the tasks do not form one tree');
    }
    const { root } = await this.get(above);
    return this.#change(root, (tree) => {
      for (const id of foreign) {
        const parent = tree.find((one) => one.id === id);
        if (parent?.status !== 'new') throw refuse('parent', `the task ${id} was executed, and takes no more children`);
      }
      checkTree([...tree.map(nodeOf), ...drafts.map(nodeOf)]);
      return { write: { add: drafts.map(newDocument) }, answer: undefined };
    }).then(() => this.#readDrafts(drafts));
  }

  async #createTree(drafts: readonly DocumentDraft[]): Promise<readonly Document[]> {
    checkTree(drafts.map(nodeOf));
    const root = drafts.find(({ parent }) => parent === undefined)?.id as string;
    const answer = await this.#store.documentWrite({ root, version: 0, add: drafts.map(newDocument) });
    if (!answer.ok) throw refusedWrite(answer);
    return this.#readDrafts(drafts);
  }

  async #readDrafts(drafts: readonly DocumentDraft[]): Promise<readonly Document[]> {
    const found = await this.getMany(drafts.map(({ id }) => id));
    return found.map((one, i) => {
      if (one === undefined) throw fault('NOT_FOUND', { kind: 'task', id: drafts[i]?.id });
      return one;
    });
  }

  /** Only before it was executed. `decide` is called again with the newest document when another change was faster. */
  async edit(id: string, decide: (before: Document) => DocumentEdit): Promise<Document> {
    const { root } = await this.get(id);
    await this.#change(root, (tree) => {
      const before = documentIn(tree, id);
      if (before.status !== 'new') {
        throw refuse('transition', `the task ${id} is ${statusWord(before)}, and only a pending task can be changed`);
      }
      const edit = decide(before);
      if (edit.version !== undefined && edit.version !== before.version) {
        throw fault('CONFLICT', { problem: `the task ${id} has version ${before.version}, not ${edit.version}` });
      }
      const after = {
        ...before,
        parent: edit.parent ?? before.parent,
        user: edit.user ?? before.user,
        body: { ...before.body, ...edit.body },
      };
      const above = after.parent === before.parent ? undefined : tree.find((one) => one.id === after.parent);
      if (above !== undefined && above.status !== 'new') {
        throw refuse('parent', `the task ${above.id} was executed, and takes no more children`);
      }
      checkTree(tree.map((one) => nodeOf(one.id === id ? after : one)));
      return { write: { change: [changed(after, false)] }, answer: undefined };
    });
    return this.get(id);
  }

  /** Removes it and everything below it, if none of these was ever executed and nothing that stays needs them. Answers their ids. */
  async remove(id: string): Promise<readonly string[]> {
    const { root } = await this.get(id);
    return this.#change(root, (tree) => {
      const removed = subtreeOf(tree.map(nodeOf), id).map((one) => one.id);
      const set = new Set(removed);
      const executed = tree.find((one) => set.has(one.id) && one.run > 0);
      if (executed !== undefined) {
        throw refuse(
          'removal',
          `the task ${executed.id} is ${statusWord(executed)}, and only pending tasks can be deleted`,
        );
      }
      const across = needsAcross(tree.map(nodeOf), set);
      if (across !== undefined) throw refuse('removal', `the task ${across.id} depends on ${across.on}`);
      return { write: { remove: removed }, answer: removed };
    });
  }

  /** Cancels documents that were never executed. Answers their ids. */
  async drop(ids: readonly string[]): Promise<readonly string[]> {
    const [first] = ids;
    if (first === undefined) return [];
    const { root } = await this.get(first);
    return this.#change(root, (tree) => {
      const open = tree.filter((one) => ids.includes(one.id) && one.status === 'new');
      return { write: { change: open.map((one) => changed(one, true)) }, answer: open.map((one) => one.id) };
    });
  }

  /**
   * Starts everything that an execution of this document runs, all or nothing. `admit` gets the number of tasks by
   * queue before they are pushed.
   */
  async execute(id: string, options: ExecuteOptions = {}): Promise<Execution> {
    const { root } = await this.get(id);
    return this.#mutex.take(root, () => this.#execute(id, root, options));
  }

  async #execute(id: string, root: string, { admit = () => {}, report, each }: ExecuteOptions): Promise<Execution> {
    let seen: ReadonlyMap<string, number> | undefined;
    for (let i = 0; i < TRIES; i++) {
      const tree = await this.#read(root);
      const runs = new Map(tree.map((one) => [one.id, one.run]));
      const plan = planRun(tree.map(nodeOf), id);
      // Another execution was faster, and has started what has run by now.
      const started = seen !== undefined && [...runs].some(([one, run]) => run > (seen?.get(one) ?? 0));
      if (started) throw refusedRun({ ok: false, why: 'running', id });
      if (!plan.ok) throw refusedRun(plan);
      seen ??= runs;
      const byId = new Map(tree.map((one) => [one.id, one]));
      const gone = plan.runs.flatMap(({ after }) => after).find((need) => !byId.has(need.id));
      if (gone !== undefined) throw refuse('unmet', `the task ${gone.id} is no longer kept`);
      const requests = plan.runs.map((run) => request(run, byId, new Set(plan.runs.map((one) => one.id))));
      if (requests.reduce((sum, { after = [] }) => sum + after.length, 0) > MAX_EDGES) {
        throw refuse('tree', `its tasks have more than ${MAX_EDGES} dependencies`);
      }
      const own = [...requests];
      if (report !== undefined) requests.push(reportRequest(report, documentIn(tree, id), own));
      if (each !== undefined) {
        for (const run of plan.runs) requests.push(eachRequest(each, documentIn(tree, run.id), own));
      }
      await admit(countByQueue(requests));
      const items = await this.#graphs.items(requests);
      const documents = plan.runs.map((run) => run.id);
      const { version } = documentIn(tree, root);
      const answer = await this.#store.documentWrite({ root, version, push: { items, documents } });
      if (!answer.ok && answer.why === 'stale') continue;
      if (!answer.ok && answer.why === 'taken') throw refusedWrite(answer);
      const pushed = this.#graphs.pushed(items, answer.ok ? answer : answer.answer);
      return documents.map((one, at) => ({ document: documentIn(tree, one), pushed: pushed[at] as Pushed }));
    }
    throw busy(root);
  }

  #change<T>(root: string, decide: (tree: readonly Document[]) => Change<T>): Promise<T> {
    return this.#mutex.take(root, () => this.#write(root, decide));
  }

  async #write<T>(root: string, decide: (tree: readonly Document[]) => Change<T>): Promise<T> {
    for (let i = 0; i < TRIES; i++) {
      const tree = await this.#read(root);
      const { write, answer } = decide(tree);
      const { version } = documentIn(tree, root);
      const written = await this.#store.documentWrite({ ...write, root, version });
      if (written.ok) return answer;
      if (written.why !== 'stale') throw refusedWrite(written);
    }
    throw busy(root);
  }

  async #read(root: string): Promise<readonly Document[]> {
    return (await this.#store.documentTree({ root })).flatMap((record) => read(record) ?? []);
  }
}

/** Undefined: the task of its last execution is no longer kept, so the document is not either. */
function read(record: DocumentRecord): Document | undefined {
  const status = statusOf(record);
  return status === undefined ? undefined : { ...record, body: JSON.parse(record.body) as DocumentBody, status };
}

function statusOf({ shows, task, run, dropped, state }: DocumentRecord): DocumentStatus | undefined {
  if (shows !== undefined || (task !== undefined && run === 0)) return state === undefined ? undefined : 'fixed';
  if (task !== undefined) return state;
  return dropped ? 'dropped' : 'new';
}

function nodeOf<D extends Pick<Document, 'id' | 'parent' | 'body'> & { readonly status?: DocumentStatus }>({
  id,
  parent,
  body,
  status = 'new',
}: D): DocumentNode & { readonly status: DocumentStatus; readonly priority: number } {
  return { id, parent, dependencies: body.dependencies, priority: body.priority, status };
}

function newDocument({ body, ...draft }: DocumentDraft): NewDocument {
  return { ...draft, body: JSON.stringify(body) };
}

function changed({ id, parent, user, body }: Document, dropped: boolean) {
  return { id, parent, user, dropped, body: JSON.stringify(body) };
}

function documentIn(tree: readonly Document[], id: string): Document {
  const found = tree.find((one) => one.id === id);
  if (found === undefined) throw fault('NOT_FOUND', { kind: 'task', id });
  return found;
}

function request(
  {
    id,
    after,
  }: { readonly id: string; readonly after: readonly { readonly id: string; readonly optional: boolean }[] },
  byId: ReadonlyMap<string, Document>,
  running: ReadonlySet<string>,
): GraphRequest {
  const { body, createdAt, run } = byId.get(id) as Document;
  return {
    ...requestOf(body, { id, createdAt, run: run + 1 }),
    name: id,
    afterFailure: 'fail',
    after: after.map((need) => {
      const on = running.has(need.id) ? need.id : (byId.get(need.id)?.task as number);
      return { on, optional: need.optional };
    }),
  };
}

/** No document has this id, so none is mistaken for it. */
const REPORT = 'task_report';

/** It waits for the document. One that has completed before is not run again: then, for all that is run. */
function reportRequest(
  report: EndReport,
  { id, root, run, createdAt, body }: Document,
  requests: readonly GraphRequest[],
): GraphRequest {
  const isRun = requests.some(({ name }) => name === id);
  const execution = isRun ? run + 1 : run;
  const told: ReportBody = { root_task_id: root, task_id: id, execution };
  const [first] = requests;
  return {
    ...report,
    queue: queueOf(body),
    input: { ...report.input, body: { ...report.input.body, ...told } },
    op: `report:${createdAt}:${execution}:${first?.op ?? ''}`,
    gathers: 'end',
    name: REPORT,
    afterFailure: 'run',
    after: requests
      .filter(({ name }) => !isRun || name === id)
      .map(({ name }) => ({ on: name as string, optional: true })),
  };
}

/** Told of as soon as that document has ended. */
function eachRequest(report: EndReport, document: Document, requests: readonly GraphRequest[]): GraphRequest {
  const { op, name, ...request } = reportRequest(report, document, requests);
  return { ...request, name: `${name}:${document.id}`, op: `each:${op}:${document.id}` };
}

export function countByQueue(tasks: readonly { readonly queue: string }[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { queue } of tasks) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  return counts;
}

function checkTree(nodes: readonly DocumentNode[]): void {
  if (nodes.length > MAX_DOCUMENTS) throw refuse('tree', `a tree has at most ${MAX_DOCUMENTS} tasks`);
  const flaw = findFlaw(nodes);
  if (flaw !== undefined) throw flawed(flaw);
}

/** The word that apflow clients know. */
function statusWord({ status }: Pick<Document, 'status'>): string {
  if (status === 'fixed') return 'a clone';
  if (status === 'new') return 'pending';
  if (status === 'dropped') return 'cancelled';
  return status === 'completed' || status === 'failed' || status === 'cancelled' ? status : 'executing';
}
