import { fault } from '../../core/errors.ts';
import type { JournalHead, RunRecord } from '../../engine/records.ts';
import type { Run } from '../../engine/trees/runs.ts';
import { GRAPH_HANDLER } from '../../flow/graph/graph-run.ts';
import { LOOP } from '../../flow/loop/demand.ts';
import { baseOf, isStepKey } from '../../flow/machine/history/run-history.ts';
import { stepHead } from '../../flow/machine/history/step-head.ts';
import { MACHINE_HANDLER } from '../../flow/machine/machine-run.ts';
import { isOutcomeKey } from '../../flow/workflow/workflow-journal.ts';
import type { RunStepView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { graphNodes } from './graph-nodes.ts';
import { nameOf } from './step-names.ts';

/** Members that one answer looks at. */
const MEMBERS = 200;
/** Journals in one read. */
const AT_ONCE = 50;

export interface StepPage {
  readonly steps: readonly RunStepView[];
  readonly cursor?: string;
}

/** Where a page ends: after this key of this task, or after all of the task. */
interface Place {
  readonly task: number;
  readonly key: string | undefined;
}

export interface StepQuery {
  readonly limit: number;
  readonly cursor: string | undefined;
  /** Of this task alone. */
  readonly task: number | undefined;
}

/**
 * What the tasks of a run have done: task by task, the root first and the others as they were started. For each task one bar for its last
 * attempt, and one for each entry of its journal, in the order of time as far as they are on one page.
 */
export async function stepPage(snapshot: EngineSnapshot, run: Run, query: StepQuery): Promise<StepPage> {
  const { engine } = snapshot;
  const from = placeOf(query.cursor);
  const { tasks, more } = await tasksFrom(snapshot, run, query.task, from);
  const heads: JournalHead[] = [];
  let read = 0;
  for (; read < tasks.length && heads.length <= query.limit; ) {
    const some = tasks.slice(read, read + AT_ONCE);
    const after = some[0] === from?.task ? from?.key : undefined;
    // One more than fits says that there is more.
    heads.push(...(await engine.store.journalHeads({ tasks: some, after, limit: query.limit + 1 - heads.length })));
    read += some.length;
  }
  const shown = heads.slice(0, query.limit);
  const last = shown.at(-1);
  const full = heads.length > query.limit && last !== undefined;
  const seen = full ? tasks.slice(0, tasks.indexOf(last.task) + 1) : tasks.slice(0, read);
  const end = seen.at(-1);
  const records = await runsBy(snapshot, seen);
  const children = await runsBy(snapshot, [...new Set(shown.flatMap(({ ref }) => ref ?? []))]);
  const nodes = await graphNodes(snapshot, run);
  const begun = seen.filter((task) => task !== from?.task);
  const steps = seen.flatMap((task) => {
    const record = records.get(task);
    if (record === undefined) return [];
    const own = shown.filter((head) => head.task === task && baseOf(head.key) === undefined);
    const attempt = begun.includes(task) ? attemptBar(snapshot, record) : [];
    return [...attempt, ...barsOf(snapshot, run, record, own, { children, nodes })];
  });
  const cursor = full
    ? `${last.task}/${last.key}`
    : (read < tasks.length || more) && end !== undefined
      ? `${end}+`
      : undefined;
  return { steps, ...(cursor === undefined ? {} : { cursor }) };
}

export async function runsBy(
  { engine }: EngineSnapshot,
  tasks: readonly number[],
): Promise<ReadonlyMap<number, RunRecord>> {
  const found = tasks.length === 0 ? [] : await engine.store.runGet({ tasks });
  return new Map(found.flatMap((record) => (record === undefined ? [] : [[record.task, record] as const])));
}

interface BarParts {
  readonly children: ReadonlyMap<number, RunRecord>;
  /** Of a graph. */
  readonly nodes: readonly string[];
}

/** One entry of the journal of a task as a bar. */
export function barsOf(
  { engine }: EngineSnapshot,
  run: Pick<Run, 'task' | 'kind' | 'state' | 'finishedAt'>,
  record: RunRecord,
  heads: readonly JournalHead[],
  { children, nodes }: BarParts,
): readonly RunStepView[] {
  const task = engine.idOf(record);
  const states = new Map(
    record.handler !== MACHINE_HANDLER
      ? []
      : heads.flatMap(({ key, head = '' }) => {
          const state = isStepKey(key) ? stepHead(head)?.state : undefined;
          return state === undefined ? [] : [[key.split('/', 1)[0] as string, state] as const];
        }),
  );
  return heads
    .toSorted((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1))
    .map((head) => {
      const { key, kind, attempt, at, began, ref, usage } = head;
      const child = ref === undefined ? undefined : children.get(ref);
      const named =
        record.handler === MACHINE_HANDLER
          ? nameOf(key, head.head, states)
          : nameOf(key, undefined, states, record.handler === GRAPH_HANDLER ? nodes : []);
      return {
        task,
        key,
        kind: kind === 'value' ? 'step' : kind,
        ...named,
        attempt,
        ...(began === undefined ? {} : { began }),
        at,
        ...(child === undefined ? {} : { child: engine.idOf(child), state: child.state }),
        ...(child?.finishedAt === undefined ? {} : { ended: child.finishedAt }),
        ...(usage === undefined ? {} : { usage: JSON.parse(usage) as unknown }),
        forkable: isForkable(run, record, head, heads),
      } satisfies RunStepView;
    });
}

/** After its last step a run that has completed is over. A short one may have others in the millisecond of its end: those that one of the page follows. */
function isForkable(
  { task, kind, state, finishedAt }: Pick<Run, 'task' | 'kind' | 'state' | 'finishedAt'>,
  record: RunRecord,
  { key, at }: JournalHead,
  page: readonly JournalHead[],
): boolean {
  if (record.task !== task || record.root !== undefined) return false;
  const isMachine = kind === 'machine' || kind === LOOP;
  const isStep = (one: string): boolean => (isMachine ? isStepKey(one) : kind === 'workflow' && isOutcomeKey(one));
  if (!isStep(key)) return false;
  if (state !== 'completed' || finishedAt === undefined || at < finishedAt) return true;
  return isMachine && page.some((other) => isStep(other.key) && other.key > key);
}

/** From the start of the last attempt to its end, or to now. */
function attemptBar({ engine }: EngineSnapshot, record: RunRecord): readonly RunStepView[] {
  const { attempt, startedAt, finishedAt, title, state } = record;
  if (attempt === 0 || startedAt === undefined) return [];
  return [
    {
      task: engine.idOf(record),
      key: `attempt:${attempt}`,
      kind: 'attempt',
      name: title,
      attempt,
      began: startedAt,
      at: finishedAt ?? startedAt,
      state,
      forkable: false,
    },
  ];
}

async function tasksFrom(
  { engine }: EngineSnapshot,
  run: Run,
  only: number | undefined,
  from: Place | undefined,
): Promise<{ readonly tasks: readonly number[]; readonly more: boolean }> {
  if (only !== undefined) return { tasks: from?.task === only && from.key === undefined ? [] : [only], more: false };
  const root = run.root ?? run.task;
  const first = from === undefined ? [run.task] : from.key === undefined ? [] : [from.task];
  const after = from === undefined || from.task === run.task ? (run.root === undefined ? 0 : run.task) : from.task;
  const members = await engine.store.treeList({ root, after, limit: MEMBERS });
  const own = run.root === undefined ? members : await below(engine.store, run, root, members);
  return { tasks: [...first, ...own.map(({ task }) => task)], more: members.length === MEMBERS };
}

/** Those below a member of the tree. Children have higher numbers than their parents. */
async function below(
  store: EngineSnapshot['engine']['store'],
  run: Run,
  root: number,
  page: readonly { readonly task: number; readonly parent: number }[],
): Promise<readonly { readonly task: number }[]> {
  const known = new Set([run.task]);
  const [first] = page;
  for (let after = run.task; first !== undefined; ) {
    const members = await store.treeList({ root, after, limit: 1000 });
    for (const { task, parent } of members) if (known.has(parent)) known.add(task);
    const last = members.at(-1);
    if (last === undefined || last.task >= (page.at(-1)?.task ?? 0)) break;
    after = last.task;
  }
  return page.filter(({ task }) => known.has(task));
}

const PLACE = /^([1-9]\d{0,14})(?:\+|\/(.+))$/s;

function placeOf(cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined;
  const [, task, key] = PLACE.exec(cursor) ?? [];
  if (task === undefined) throw fault('INVALID_INPUT', { field: 'cursor', problem: 'it is not the cursor of a page' });
  return { task: Number(task), key };
}
