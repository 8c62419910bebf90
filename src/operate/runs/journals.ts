/** Journals of tasks, read within bounds. */
import type { Engine } from '../../engine/engine.ts';
import type { JournalEntry, JournalHead } from '../../engine/records.ts';
import type { Value } from '../../flow/expression/values.ts';
import { BrokenHistory } from '../../flow/machine/history/checked.ts';
import { baseOf, isStepKey, type JournalText, RunHistory } from '../../flow/machine/history/run-history.ts';
import { type StepHead, stepHead } from '../../flow/machine/history/step-head.ts';
import type { MachinePayload } from '../../flow/machine/machine-run.ts';
import type { Snapshot } from '../../flow/machine/snapshot.ts';

const PAGE = 500;
/** Entries that are read of one journal, without their values. */
const MOST_HEADS = 20_000;
const KEYS_AT_ONCE = 100;
const TASKS_AT_ONCE = 50;
/** The values that are read to tell where a run stood. */
const MOST_BYTES = 16 * 1024 * 1024;

export interface Heads {
  readonly heads: readonly JournalHead[];
  /** False: there are more. */
  readonly whole: boolean;
}

/** The journals of these tasks, without values. */
export async function headsOf({ store }: Engine, tasks: readonly number[], most = MOST_HEADS): Promise<Heads> {
  const heads: JournalHead[] = [];
  for (let from = 0; from < tasks.length; from += TASKS_AT_ONCE) {
    let left = tasks.slice(from, from + TASKS_AT_ONCE);
    for (let after: string | undefined; left.length > 0; ) {
      if (heads.length >= most) return { heads, whole: false };
      const page = await store.journalHeads({ tasks: left, after, limit: PAGE });
      heads.push(...page);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) break;
      left = left.slice(left.indexOf(last.task));
      after = last.key;
    }
  }
  return { heads, whole: true };
}

export interface Step extends StepHead {
  readonly key: string;
}

/** The steps of a machine in their order. A step whose value is too large to know its beginning is read. */
export async function stepsOf(engine: Engine, task: number, heads: readonly JournalHead[]): Promise<readonly Step[]> {
  const own = heads.filter((one) => one.task === task && isStepKey(one.key));
  const large = await readValues(
    engine,
    task,
    own.filter(({ head }) => head === undefined),
  );
  const texts = new Map((large ?? []).map(({ key, value }) => [key, value]));
  const steps = own.flatMap(({ key, head }): readonly Step[] => {
    const found = stepHead(head ?? texts.get(key) ?? '');
    return found === undefined ? [] : [{ key, ...found }];
  });
  return steps.toSorted((a, b) => a.n - b.n);
}

/**
 * Where a machine stood after its entry `upTo`, or stands. Undefined: it has stored nothing by then, or so much that it is not read for a
 * look.
 */
export async function snapshotAt(
  engine: Engine,
  task: number,
  { input = {}, from }: MachinePayload,
  {
    heads,
    steps,
    upTo = Number.POSITIVE_INFINITY,
  }: { readonly heads: readonly JournalHead[]; readonly steps: readonly Step[]; readonly upTo?: number },
): Promise<Snapshot | undefined> {
  const bases = heads.filter((one) => one.task === task).map(({ key }) => baseOf(key) ?? 0);
  const base = Math.max(0, ...bases.filter((n) => n <= upTo));
  const keys = new Set([`b:${base}`, ...steps.filter(({ n }) => n > base && n <= upTo).map(({ key }) => key)]);
  const journal = await readValues(
    engine,
    task,
    heads.filter((one) => one.task === task && keys.has(one.key)),
  );
  if (journal === undefined) return undefined;
  try {
    const history = new RunHistory(input, from);
    await history.load(journal, (wanted) => resultsOf(engine, task, wanted));
    return history.snapshot;
  } catch (error) {
    // A worker of another host may have written anything. What it did is shown, and where it stands is not known.
    if (error instanceof BrokenHistory) return undefined;
    throw error;
  }
}

/** Undefined: they are too large together. */
export async function readValues(
  { store }: Engine,
  task: number,
  heads: readonly JournalHead[],
): Promise<readonly JournalText[] | undefined> {
  if (heads.reduce((sum, { size }) => sum + size, 0) > MOST_BYTES) return undefined;
  const found: JournalEntry[] = [];
  for (let from = 0; from < heads.length; from += KEYS_AT_ONCE) {
    const keys = heads.slice(from, from + KEYS_AT_ONCE).map(({ key }) => key);
    found.push(...(await store.journalEntries({ task, keys })));
  }
  return found.flatMap(({ key, value }) => (value === undefined ? [] : [{ key, value }]));
}

/** What children have given, by their keys in the journal of their parent. */
export async function resultsOf(
  { store }: Engine,
  task: number,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Value>> {
  const results = new Map<string, Value>();
  for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
    const entries = await store.journalEntries({ task, keys: keys.slice(from, from + KEYS_AT_ONCE) });
    const children = entries.flatMap(({ key, ref }) => (ref === undefined ? [] : [{ key, ref }]));
    const records = await store.taskGet({ tasks: children.map(({ ref }) => ref) });
    for (const [i, { key }] of children.entries()) {
      const record = records[i];
      if (record?.state !== 'completed') continue;
      results.set(key, record.result === undefined ? null : (JSON.parse(record.result) as Value));
    }
  }
  return results;
}
