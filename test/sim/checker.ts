import type { TaskRecord } from '../../src/store/store.ts';
import type { Entry, History } from './history.ts';
import { must } from './trace.ts';

type Of<K extends Entry['kind']> = Extract<Entry, { kind: K }>;

/** What a client reads at the end, through the same doors as always; undefined when the task was pruned. */
export type FinalLook = ReadonlyMap<number, TaskRecord | undefined>;

/**
 * Judges a run by the clients' histories alone, as Jepsen would: acknowledged work is there, nothing was invented, no grant
 * was given twice, what was acknowledged as recorded is what is recorded.
 */
export function checkHistory(history: History, final: FinalLook): void {
  const of = <K extends Entry['kind']>(kind: K): Of<K>[] => history.entries.filter((e): e is Of<K> => e.kind === kind);
  const revived = new Set(of('revive').map(({ task }) => task));
  const births = checkBirths(of('birth'), final);
  checkPushes(of('push'), history, births, final);
  checkGrants(of('grant'));
  checkSettles(of('settle'), revived, final);
  for (const { task, answer, status } of of('cancel')) {
    const record = final.get(task);
    if (status !== 'ok' || answer !== 'cancelled' || revived.has(task) || record === undefined) continue;
    must(record.state === 'cancelled', 'I14', () => `task ${task}, acknowledged as cancelled, ended ${record.state}`);
  }
  checkGraphs(of('graph'), revived, final);
  checkSignals(of('signal'), of('heard'));
  checkMemory(of('remember'));
  let last: number | undefined;
  for (const { seq } of of('event')) {
    must(last === undefined || seq === last + 1, 'I18', () => `a reader saw event ${seq} after event ${last}`);
    last = seq;
  }
}

/** Under one key a task has one child, whoever asks. Returns the children by parent and key. */
function checkBirths(births: readonly Of<'birth'>[], final: FinalLook): ReadonlyMap<string, number> {
  const children = new Map<string, number>();
  for (const { task, key, child } of births) {
    const before = children.get(`${task} ${key}`) ?? child;
    must(before === child, 'tree', () => `${key} of task ${task} was child ${before} and became ${child}`);
    children.set(`${task} ${key}`, child);
    must(final.has(child), 'I5', () => `child ${child} of ${task}, which was acknowledged, is lost`);
  }
  for (const [task, record] of final) {
    if (record?.parent === undefined) continue;
    const parent = final.get(record.parent);
    const root = parent === undefined ? record.root : (parent.root ?? parent.task);
    must(record.root === root, 'tree', () => `the root of ${task} is ${record.root}, that of its parent ${root}`);
  }
  return children;
}

function checkPushes(
  pushes: readonly Of<'push'>[],
  { openPushes, births }: History,
  children: ReadonlyMap<string, number>,
  final: FinalLook,
): void {
  const byOp = new Map<string, number>();
  const known = new Set(children.values());
  for (const push of pushes) {
    if (push.status !== 'ok' || push.task === undefined) continue;
    const { task, op } = push;
    known.add(task);
    must(final.has(task), 'I5', () => `acknowledged task ${task} is lost`);
    const record = final.get(task);
    must(record === undefined || record.finishedAt !== undefined, 'I5', () => `task ${task} is still ${record?.state}`);
    const before = byOp.get(op);
    must(before === undefined || before === task, 'I12', () => `operation ${op} made tasks ${before} and ${task}`);
    byOp.set(op, task);
    must(record === undefined || record.payload === push.input, 'I12', () => `task ${task} has another input`);
  }
  const unborn = [...births].filter((birth) => !children.has(birth)).length;
  const unknown = openPushes + unborn + pushes.filter(({ status }) => status === 'unknown').length;
  const invented = [...final].filter(
    ([task, record]) => record !== undefined && record.queue !== 'cron' && !known.has(task),
  ).length;
  must(invented <= unknown, 'I6', () => `${invented} tasks that no push can account for (${unknown} pushes unknown)`);
}

function checkGrants(grants: readonly Of<'grant'>[]): void {
  const seen = new Map<string, string>();
  for (const { task, attempt, claim } of grants) {
    const key = `${task}#${attempt}`;
    const before = seen.get(key);
    must(before === undefined || before === claim, 'I1', () => `${key} was granted to ${before} and to ${claim}`);
    seen.set(key, claim);
  }
}

function checkSettles(settles: readonly Of<'settle'>[], revived: ReadonlySet<number>, final: FinalLook): void {
  const ended = new Map<number, Of<'settle'>>();
  for (const settle of settles) {
    if (settle.status !== 'ok' || settle.to === 'again' || revived.has(settle.task)) continue;
    const before = ended.get(settle.task);
    must(
      before === undefined || (before.attempt === settle.attempt && before.to === settle.to),
      'I3',
      () => `task ${settle.task} was acknowledged as ${before?.to} and as ${settle.to}`,
    );
    ended.set(settle.task, settle);
  }
  for (const [task, { to, result }] of ended) {
    const record = final.get(task);
    if (record === undefined) continue;
    must(record.state === to, 'I3', () => `task ${task}, acknowledged as ${to}, ended ${record.state}`);
    must(
      to !== 'completed' || record.result === result,
      'I2',
      () => `task ${task} has result ${record.result}, not ${result}`,
    );
  }
}

/** A task that needs what did not complete ended as it was asked to. */
function checkGraphs(graphs: readonly Of<'graph'>[], revived: ReadonlySet<number>, final: FinalLook): void {
  for (const { task, needs, afterFailure } of graphs.flatMap(({ nodes }) => nodes)) {
    const record = final.get(task);
    if (record === undefined || [task, ...needs].some((one) => revived.has(one))) continue;
    const failed = needs.find((one) => final.get(one) !== undefined && final.get(one)?.state !== 'completed');
    if (failed === undefined || afterFailure === 'run') continue;
    // Somebody may have cancelled it before.
    const right = record.state === 'cancelled' || (afterFailure === 'fail' && record.state === 'failed');
    must(right, 'deps', () => `task ${task} ended ${record.state}, though ${failed}, which it needs, failed`);
  }
}

/** Each signal was heard by one wait at most, and by nobody whom its sender was not told of. */
function checkSignals(signals: readonly Of<'signal'>[], heard: readonly Of<'heard'>[]): void {
  const sent = new Map(signals.map((signal) => [signal.op, signal]));
  const hearers = new Map<string, string>();
  for (const { task, key, body } of heard) {
    if (body === undefined) continue;
    const { op, broadcast } = JSON.parse(body) as { op: string; broadcast: boolean };
    const told = sent.get(op)?.woken;
    must(
      told === undefined || told.includes(task) || (told.length === 0 && !broadcast),
      'signal',
      () => `task ${task} heard ${op}, which woke ${told}`,
    );
    if (broadcast) continue;
    const hearer = `${task} ${key}`;
    const before = hearers.get(op) ?? hearer;
    must(before === hearer, 'signal', () => `signal ${op} was heard by ${before} and by ${hearer}`);
    hearers.set(op, hearer);
  }
}

/** What was remembered once is what everybody is told. */
function checkMemory(remembered: readonly Of<'remember'>[]): void {
  const first = new Map<string, string>();
  for (const { task, key, value } of remembered) {
    const before = first.get(`${task} ${key}`) ?? value;
    must(before === value, 'memory', () => `${key} of task ${task} was ${before} and became ${value}`);
    first.set(`${task} ${key}`, before);
  }
}
