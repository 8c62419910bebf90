import assert from 'node:assert/strict';
import type { Call, Granted } from './history.ts';
import type { SeenTask, Snapshot } from './look.ts';

/** How often the rare things happened: a run that met none of them proves nothing about them. */
export interface Sometimes {
  pushes: number;
  unknownPushes: number;
  repeatedPushes: number;
  conflicts: number;
  grants: number;
  completions: number;
  lateAnswers: number;
  exhausted: number;
  takeovers: number;
}

interface Request {
  readonly op: string;
  readonly unique?: string;
  readonly input: { readonly op?: string; readonly variant?: number };
}

/** Holds what the clients were told against what the file holds; the engine has no say in it. */
export function check(calls: readonly Call[], found: Snapshot): Sometimes {
  assert.equal(found.integrity, 'ok');
  assert.deepEqual(found.gaps, [], 'the event feed has no gap');
  assert.deepEqual(found.drift, [], 'the statistics are exact');
  assert.deepEqual(found.misfits, [], 'the event feed tells what the rows hold');
  const tasks = new Map(found.tasks.map((task) => [task.id, task]));
  const refusals = new Set(calls.filter(({ outcome }) => outcome === 'refused').map(({ code }) => code));
  for (const code of refusals) assert.match(code as string, /^(LEASE_LOST|UNIQUE_CONFLICT)$/);

  checkPushes(calls, tasks);
  checkKeys(calls);
  const grants = checkGrants(calls, tasks);
  const lateAnswers = checkResults(calls, tasks);
  for (const { id, tries, maxTries, state } of found.tasks) {
    assert.ok(tries <= maxTries, `task ${id} used ${tries} of ${maxTries} tries`);
    assert.ok(['completed', 'failed', 'cancelled'].includes(state), `task ${id} is ${state}`);
  }
  const count = (test: (call: Call) => boolean): number => calls.filter(test).length;
  const ops = pushesOf(calls).map(({ asked }) => (asked.request as Request).op);
  return {
    pushes: count(({ asked, outcome }) => asked.verb === 'push' && outcome === 'ok'),
    unknownPushes: count(({ asked, outcome }) => asked.verb === 'push' && outcome === 'unknown'),
    repeatedPushes: ops.length - new Set(ops).size,
    conflicts: count(({ code }) => code === 'UNIQUE_CONFLICT'),
    grants,
    completions: count(({ asked, outcome }) => asked.verb === 'complete' && outcome === 'ok'),
    lateAnswers,
    exhausted: found.tasks.filter(({ state, tries, maxTries }) => state === 'failed' && tries === maxTries).length,
    takeovers: found.takeovers,
  };
}

const pushesOf = (calls: readonly Call[]): readonly Call[] => calls.filter(({ asked }) => asked.verb === 'push');

/** What was acknowledged is there, once; what is there was asked for. */
function checkPushes(calls: readonly Call[], tasks: ReadonlyMap<number, SeenTask>): void {
  const taskOf = new Map<string, number>();
  const acknowledged = new Set<number>();
  const asked = new Set<string>();
  for (const call of pushesOf(calls)) {
    const { op, unique, input } = call.asked.request as Request;
    asked.add(inputKey(unique, JSON.stringify(input)));
    if (call.outcome !== 'ok') continue;
    const task = call.answer?.task as number;
    assert.ok(tasks.has(task), `push ${op} was acknowledged as task ${task}, which is not there`);
    assert.equal(taskOf.get(op) ?? task, task, `operation ${op} was answered with two tasks`);
    taskOf.set(op, task);
    acknowledged.add(task);
    if (unique === undefined)
      assert.equal(tasks.get(task)?.payload, JSON.stringify(input), `the input of task ${task}`);
  }
  const inputs = new Set<string>();
  for (const { id, payload } of tasks.values()) {
    const text = payload as string;
    if ('op' in (JSON.parse(text) as object)) {
      assert.ok(asked.has(text), `nobody asked for task ${id}`);
      assert.ok(!inputs.has(text), `two tasks stand for the push ${text}`);
      inputs.add(text);
    }
    // The healer repeated every push whose answer was not heard, so by now each task has been acknowledged to someone.
    assert.ok(acknowledged.has(id), `task ${id} was never acknowledged`);
  }
}

const inputKey = (unique: string | undefined, input: string): string => (unique === undefined ? input : unique);

/** All who pushed under one key were led to one task, or refused because their input was another. */
function checkKeys(calls: readonly Call[]): void {
  const held = new Map<string, { readonly task: number; readonly variant: number }>();
  const keyed = pushesOf(calls).filter(({ asked }) => (asked.request as Request).unique !== undefined);
  for (const { asked, answer, outcome } of keyed) {
    const { unique, input } = asked.request as Request;
    if (outcome !== 'ok') continue;
    const mine = { task: answer?.task as number, variant: input.variant as number };
    assert.deepEqual(held.get(unique as string) ?? mine, mine, `key ${unique} led to two tasks or inputs`);
    held.set(unique as string, mine);
  }
  for (const { asked, code } of keyed) {
    const { unique, input } = asked.request as Request;
    if (code !== 'UNIQUE_CONFLICT') continue;
    assert.notEqual(held.get(unique as string)?.variant, input.variant, `key ${unique} was refused to its own input`);
  }
}

/** Every attempt was granted to one client; only the repeat of the same operation may have heard of it again. */
function checkGrants(calls: readonly Call[], tasks: ReadonlyMap<number, SeenTask>): number {
  const holders = new Map<string, string>();
  for (const [i, { asked, answer }] of calls.entries()) {
    for (const grant of answer?.grants ?? []) {
      const { task, attempt, tries, maxTries } = grant satisfies Granted;
      const key = `${task}/${attempt}`;
      const holder = asked.op ?? `call ${i}`;
      assert.equal(holders.get(key) ?? holder, holder, `task and attempt ${key} were granted twice`);
      holders.set(key, holder);
      assert.ok(tries <= maxTries, `attempt ${key} was try ${tries} of ${maxTries}`);
      assert.ok(attempt <= (tasks.get(task)?.attempt ?? 0), `attempt ${key} is newer than its task`);
    }
  }
  return holders.size;
}

/** An acknowledged end is the recorded one; a refused one is not; a recorded result was somebody's. */
function checkResults(calls: readonly Call[], tasks: ReadonlyMap<number, SeenTask>): number {
  const ended = new Set<number>();
  const offered = new Map<string, Set<string>>();
  let late = 0;
  for (const { asked, answer, code } of calls) {
    if (asked.task === undefined) continue;
    const task = tasks.get(asked.task) as SeenTask;
    const key = `${asked.task}/${asked.attempt}`;
    if (asked.verb === 'complete') {
      offered.set(key, (offered.get(key) ?? new Set()).add(JSON.stringify(asked.result)));
    }
    const mine = task.state === 'completed' && task.attempt === asked.attempt;
    if (answer?.state === 'completed' || answer?.state === 'failed') {
      assert.ok(!ended.has(asked.task), `task ${asked.task} was ended twice`);
      ended.add(asked.task);
      assert.deepEqual([task.state, task.attempt], [answer.state, asked.attempt], `the end of task ${asked.task}`);
      if (mine) assert.equal(task.result, JSON.stringify(asked.result), `the result of task ${asked.task}`);
    } else if (code === 'LEASE_LOST') {
      late++;
      if (asked.verb === 'complete') assert.ok(!mine, `the refused completion of ${key} was recorded`);
    }
  }
  for (const { id, state, attempt, result } of tasks.values()) {
    if (state !== 'completed') continue;
    assert.ok(offered.get(`${id}/${attempt}`)?.has(result as string), `nobody gave task ${id} the result ${result}`);
  }
  return late;
}
