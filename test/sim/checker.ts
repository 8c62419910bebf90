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
  checkPushes(of('push'), history.openPushes, final);
  checkGrants(of('grant'));
  checkSettles(of('settle'), revived, final);
  for (const { task, answer, status } of of('cancel')) {
    const record = final.get(task);
    if (status !== 'ok' || answer !== 'cancelled' || revived.has(task) || record === undefined) continue;
    must(record.state === 'cancelled', 'I14', () => `task ${task}, acknowledged as cancelled, ended ${record.state}`);
  }
  let last: number | undefined;
  for (const { seq } of of('event')) {
    must(last === undefined || seq === last + 1, 'I18', () => `a reader saw event ${seq} after event ${last}`);
    last = seq;
  }
}

function checkPushes(pushes: readonly Of<'push'>[], open: number, final: FinalLook): void {
  const byOp = new Map<string, number>();
  const known = new Set<number>();
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
  const unknown = open + pushes.filter(({ status }) => status === 'unknown').length;
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
