import assert from 'node:assert/strict';
import { EMPTY_STATS, type FeedEvent, isTaskEvent, type QueueStats, type TaskEvent } from '../../../core/task/event.ts';
import { isFinal, isLegal, STATES, type TaskState } from '../../../core/task/task.ts';
import type {
  AttemptRecord,
  DutyTerm,
  JournalEntry,
  LogLine,
  QueueRecord,
  Store,
  TaskRecord,
  TriggerRecord,
  WaitRecord,
  WorkerRecord,
} from '../../store.ts';

/** Everything that the port shows of a store. What is equal here is equal for every caller. */
export interface Snapshot {
  readonly tasks: readonly (TaskRecord & {
    readonly attempts: readonly AttemptRecord[];
    readonly log: readonly LogLine[];
    readonly wait: WaitRecord | undefined;
    readonly journal: readonly JournalEntry[];
  })[];
  readonly queues: readonly QueueRecord[];
  readonly events: readonly TaskEvent[];
  /** Events of workers included. */
  readonly feed: readonly FeedEvent[];
  readonly workers: readonly WorkerRecord[];
  readonly triggers: readonly TriggerRecord[];
}

const PAGE = 200;

export async function lookAt(store: Store): Promise<Snapshot> {
  const tasks: Snapshot['tasks'][number][] = [];
  for (const record of await allTasks(store)) {
    const { task } = record;
    const log = await store.logRead({ task, limit: PAGE });
    tasks.push({
      ...record,
      attempts: await store.attemptList({ task }),
      log,
      wait: await store.waitGet({ task }),
      journal: await store.journalList({ task }),
    });
  }
  const feed = await wholeFeed(store);
  return {
    tasks,
    queues: await store.queueList(),
    events: feed.filter(isTaskEvent),
    feed,
    workers: await store.workerList(),
    triggers: await store.triggerList(),
  };
}

/** Oldest first. */
export async function allTasks(store: Store): Promise<readonly TaskRecord[]> {
  const tasks: TaskRecord[] = [];
  for (let before: number | undefined; ; ) {
    const page = await store.taskList({ limit: PAGE, ...(before === undefined ? {} : { before }) });
    tasks.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return tasks.reverse();
    before = last.task;
  }
}

const feeds = new Map<string, DutyTerm>();
const FOR_EVER_MS = 1e12;

/** Numbers all events, where the store leaves that to a duty. */
export async function numberEvents(store: Store): Promise<void> {
  if (store.capabilities.numbersEvents) return;
  const { clusterKey } = store;
  const duty =
    feeds.get(clusterKey) ?? (await store.dutyTake({ name: 'feed', holder: 'the suite', ttlMs: FOR_EVER_MS }));
  assert.ok(duty, 'somebody else numbers the events');
  feeds.set(clusterKey, duty);
  while ((await store.eventNumber({ duty, limit: 500 })).more);
}

/** Of tasks. */
export async function allEvents(store: Store, after = 0): Promise<readonly TaskEvent[]> {
  return (await wholeFeed(store, after)).filter(isTaskEvent);
}

export async function wholeFeed(store: Store, after = 0): Promise<readonly FeedEvent[]> {
  await numberEvents(store);
  const events: FeedEvent[] = [];
  for (let last = after; ; ) {
    const page = await store.eventRead({ after: last, limit: PAGE });
    events.push(...page.events);
    if (page.events.length === 0) return events;
    last = page.last;
  }
}

/**
 * The invariants of every store: the feed has no gap and holds only legal transitions, replaying it rebuilds every
 * task, the counters are exact, and each record is consistent. `forgets` says that old tasks and events may have been
 * pruned.
 */
export function checkBooks(snapshot: Snapshot, { forgets = false }: { readonly forgets?: boolean } = {}): void {
  if (forgets) checkNumbers(snapshot.feed);
  else checkReplay(snapshot);
  for (const record of snapshot.tasks) {
    checkRecord(record);
    checkWait(record);
  }
  checkKinship(snapshot);
  checkStats(snapshot, forgets);
}

function checkNumbers(events: readonly FeedEvent[]): void {
  const first = events[0]?.seq ?? 0;
  for (const [i, event] of events.entries()) assert.equal(event.seq, first + i, 'the event numbers have a gap');
}

interface Replayed {
  readonly state: TaskState;
  readonly attempt: number;
  readonly queue: string;
  readonly createdAt: number;
}

function checkReplay({ tasks, events, feed }: Snapshot): void {
  assert.equal(feed[0]?.seq ?? 1, 1, 'the first event has the number 1');
  checkNumbers(feed);
  const replayed = new Map<number, Replayed>();
  for (const { task, change, state, attempt, queue, createdAt } of events) {
    const before = replayed.get(task);
    const story = `task ${task}: ${change} from ${before?.state} to ${state}, attempt ${attempt}`;
    assert.ok(isLegal(change, before?.state, state), `an illegal transition in the feed: ${story}`);
    const counts = change === 'claimed' ? 1 : 0;
    assert.equal(attempt, (before?.attempt ?? 0) + counts, `only a claim counts the attempt up: ${story}`);
    replayed.set(task, { state, attempt, queue, createdAt });
  }
  assert.deepEqual(
    tasks.map(({ task, state, attempt, queue, createdAt }) => [task, { state, attempt, queue, createdAt }]),
    [...replayed].sort(([a], [b]) => a - b),
    'replaying the feed rebuilds every task',
  );
}

function checkRecord(record: TaskRecord): void {
  const { state, attempt, tries, bounces } = record;
  const story = `task ${record.task} in ${state}`;
  assert.equal(
    record.leaseUntil !== undefined,
    state === 'running',
    `what runs has a lease, nothing else has: ${story}`,
  );
  if (state === 'running') assert.notEqual(record.holder, undefined, `what runs has a holder: ${story}`);
  // A waiting task may have a deadline.
  if (state !== 'waiting') {
    assert.equal(
      record.runAt !== undefined,
      state === 'scheduled',
      `what is scheduled has a time, nothing else: ${story}`,
    );
  }
  assert.equal(
    record.finishedAt !== undefined,
    isFinal(state),
    `what is finished has its time, nothing else: ${story}`,
  );
  assert.ok(tries >= 0 && tries <= attempt, `tries ${tries} lie between 0 and the attempts ${attempt}: ${story}`);
  assert.ok(bounces >= 0 && bounces <= attempt, `bounces ${bounces} lie between 0 and the attempts: ${story}`);
  if (!isFinal(state) && state !== 'running') {
    assert.equal(record.cancelRequestedAt, undefined, `a cancel request waits only for a worker: ${story}`);
  }
}

/** A task and its wait agree. */
function checkWait({ task, state, runAt, wait }: Snapshot['tasks'][number]): void {
  if (wait === undefined) return;
  const story = `task ${task} in ${state}, its wait is ${wait.outcome}`;
  assert.equal(wait.task, task, story);
  if (wait.outcome === 'open') assert.equal(state, 'waiting', `only what waits has an open wait: ${story}`);
  if (state === 'waiting' && wait.outcome === 'open') assert.equal(runAt, wait.deadline, story);
}

/**
 * A child has an entry in the journal of its parent, and an entry names a child that exists. The root of a child is the
 * root of its parent.
 */
function checkKinship({ tasks }: Snapshot): void {
  const byNumber = new Map(tasks.map((task) => [task.task, task]));
  for (const { task, parent, root } of tasks) {
    const story = `task ${task} of parent ${parent} and root ${root}`;
    assert.equal(parent === undefined, root === undefined, `both are known, or neither: ${story}`);
    const own = parent === undefined ? undefined : byNumber.get(parent);
    if (own === undefined) continue;
    assert.equal(root, own.root ?? own.task, `the root is that of its parent: ${story}`);
    const refs = own.journal.filter(({ ref }) => ref === task);
    assert.equal(refs.length, 1, `its parent bore it once: ${story}`);
  }
  for (const { task, journal } of tasks) {
    for (const { key, kind, ref } of journal) {
      assert.equal(ref !== undefined, kind === 'child', `only a child has a number: ${key} of task ${task}`);
    }
  }
}

function checkStats({ tasks, queues }: Snapshot, forgets: boolean): void {
  for (const { name, stats } of queues) {
    const counted = countStates(tasks.filter(({ queue }) => queue === name));
    for (const state of STATES) {
      const story = `${name}: ${stats[state]} ${state} are kept, ${counted[state]} are there`;
      if (forgets && isFinal(state)) assert.ok(stats[state] >= counted[state], story);
      else assert.equal(stats[state], counted[state], story);
    }
  }
}

export function countStates(tasks: readonly { readonly state: TaskState }[]): QueueStats {
  const counts: Record<TaskState, number> = { ...EMPTY_STATS };
  for (const { state } of tasks) counts[state]++;
  return counts;
}
