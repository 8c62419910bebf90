import { isEngineError } from '../../src/core/errors.ts';
import type { Roster } from '../../src/engine/duties/roster.ts';
import { outcome, patiently, sleep } from './calls.ts';
import { SHORT_MS } from './plan.ts';
import { pushGraph, pushOne } from './pusher.ts';
import type { Run } from './run.ts';
import type { Owner } from './scheduler.ts';
import { CHANNELS, drawGraph, drawTask, drawTimes, QUEUES } from './wishes.ts';

const DOINGS = [
  ...Array<'push'>(6).fill('push'),
  'graph',
  'graph',
  'signal',
  'signal',
  'decide',
  'cancel',
  'cancel',
  'cancel',
  'cancelTree',
  'cancelTree',
  'revive',
  'redo',
  'pause',
  'housekeep',
] as const;

/** Outlives the processes it talks to; keeps its operation ids, so that it can ask again. */
export async function useIt(run: Run, name: string): Promise<void> {
  const me: Owner = { name, alive: true, frozenUntil: 0 };
  const { rng } = run;
  const pushed: number[] = [];
  for (let n = 0; !run.healed; n++) {
    const op = `${name}/${n}`;
    const engine = run.anyProcess().engine;
    // Mostly a young one, which is likely to be running.
    const task = pushed.length > 0 ? rng.pick(rng.chance(0.7) ? pushed.slice(-5) : pushed) : undefined;
    if (run.plan.retentionMs === SHORT_MS && rng.chance(0.3)) await housekeep(run, me, 'pruner');
    const remains = run.model.trees.remains();
    if (remains.length > 0 && rng.chance(0.7)) await revive(run, me, rng.pick(remains));
    switch (rng.pick(DOINGS)) {
      case 'push': {
        const made = await pushOne(run, me, { ...drawTask(run, op, 0.25), ...drawTimes(rng) });
        if (made !== undefined) pushed.push(made);
        break;
      }
      case 'graph':
        pushed.push(...(await pushGraph(run, me, drawGraph(run, op, pushed))));
        break;
      case 'signal': {
        const channel = rng.pick(CHANNELS);
        // Who hears one may find the next one waiting.
        for (let i = rng.int(1, 2); i > 0; i--) await signal(run, me, `${op}.${i}`, channel, rng.chance(0.25));
        break;
      }
      case 'decide': {
        const { value: open = [] } = await outcome(run, me, engine.waits.open(rng.int(1, 10)));
        if (open.length > 0) await decide(run, me, op, rng.pick(open).channel as string);
        break;
      }
      case 'cancel':
        if (task !== undefined) await cancel(run, me, rng.chance(0.5) ? (running(run) ?? task) : task);
        break;
      case 'cancelTree': {
        const root = rng.chance(0.8) ? (bearing(run) ?? task) : task;
        if (root !== undefined) await cancelTree(run, me, root);
        break;
      }
      case 'revive':
        if (task !== undefined) await revive(run, me, rng.chance(0.3) ? (member(run) ?? task) : task);
        break;
      case 'redo':
        if (task !== undefined) await redo(run, me, rng.chance(0.5) ? (busyDependent(run) ?? task) : task);
        break;
      case 'pause': {
        const queue = rng.pick(QUEUES);
        await outcome(run, me, engine.pause(queue));
        if ((await outcome(run, me, engine.stats(queue))).value?.ready)
          run.gates.reach('queue paused with work waiting');
        await sleep(run, me, rng.int(50, 800));
        await outcome(run, me, run.anyProcess().engine.resume(queue));
        break;
      }
      case 'housekeep':
        await housekeep(run, me, rng.pick(['pruner', 'auditor', 'cron', 'stager', 'reaper'] as const));
        break;
    }
    await sleep(run, me, rng.int(5, 250));
  }
}

async function housekeep(run: Run, me: Owner, duty: Parameters<Roster['tick']>[0]): Promise<void> {
  const ticked = run
    .anyProcess()
    .roster.tick(duty)
    .catch((error: unknown) => {
      if (!isEngineError(error, 'DUTY_LOST')) throw error;
    });
  await outcome(run, me, ticked);
}

async function cancel(run: Run, me: Owner, task: number): Promise<void> {
  const { status, value } = await outcome(run, me, run.anyProcess().engine.cancel(task));
  run.history.add({ kind: 'cancel', task, answer: value, status });
}

/** With all that it has borne, while they bear more. */
async function cancelTree(run: Run, me: Owner, task: number): Promise<void> {
  const since = run.scheduler.now;
  const { status, value } = await outcome(run, me, run.anyProcess().engine.trees.cancel(task));
  for (const one of value?.tasks ?? []) run.history.add({ kind: 'cancel', task: one.task, answer: one.act, status });
  if (status === 'ok') run.guard(() => run.model.trees.cancelled(task, since));
}

/** One that may bear children now, or has. */
function bearing({ model, rng }: Run): number | undefined {
  const some = model.unfinished().filter((task) => /"(children|launch)"/.test(model.board.task(task).payload));
  return some.length > 0 ? rng.pick(some) : undefined;
}

/** One of a tree. */
function member({ model, rng }: Run): number | undefined {
  const some = [...model.tasks].filter(([task, { root }]) => root !== undefined && !model.board.isPruned(task));
  return some.length > 0 ? rng.pick(some)[0] : undefined;
}

async function revive(run: Run, me: Owner, task: number): Promise<void> {
  run.history.add({ kind: 'revive', task, status: 'unknown' });
  await outcome(run, me, run.anyProcess().engine.retry(task));
}

function running({ model, rng }: Run): number | undefined {
  const some = model.unfinished().filter((task) => model.board.task(task).state === 'running');
  return some.length > 0 ? rng.pick(some) : undefined;
}

/** One that waited for others, was started, and has not ended: it runs, or waits for children of its own. */
function busyDependent({ model, rng }: Run): number | undefined {
  const busy = model.unfinished().filter((task) => {
    const known = model.board.task(task);
    return known.attempt > 0 && known.state !== 'ready' && model.graph.parents(task).length > 0;
  });
  return busy.length > 0 ? rng.pick(busy) : undefined;
}

/** Has a task run again with what it waited for, whatever it is doing. */
async function redo(run: Run, me: Owner, task: number): Promise<void> {
  if (run.rng.chance(0.5)) await cancel(run, me, task);
  for (const parent of run.model.graph.parents(task)) await revive(run, me, parent);
  await revive(run, me, task);
}

/** A decision has no operation id: a repeat finds nobody who waits. */
async function decide(run: Run, me: Owner, op: string, channel: string): Promise<void> {
  const { status, value } = await outcome(run, me, run.anyProcess().engine.waits.decide({ channel }, { op }));
  run.history.add({ kind: 'signal', op, status, woken: value?.woken });
}

/** Says who it is from, so that who hears it can be told apart from who should. */
export async function signal(run: Run, me: Owner, op: string, channel: string, broadcast: boolean): Promise<void> {
  const { status, value } = await patiently(run, me, () =>
    run.anyProcess().engine.waits.signal(channel, { op, broadcast }, { op, ...(broadcast ? { broadcast } : {}) }),
  );
  run.history.add({ kind: 'signal', op, status, woken: value?.woken });
}
