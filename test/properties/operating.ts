import { QUEUES } from './corpus.ts';
import { must } from './model-parts.ts';
import { ANY, at, BY, operation } from './operation.ts';
import { outcome, refused } from './rig.ts';
import { held, pickTask } from './speaking.ts';

const cancel = operation(6, { by: BY, task: ANY, unknown: 12, running: 3 }, async (rig, n) => {
  const running = n.running === 0 ? held(rig) : [];
  const task = n.unknown === 11 ? 1_000_000 : running.length > 0 ? at(running, n.task).task : pickTask(rig, n.task);
  rig.gates.reach(`cancel of a task that is ${rig.model.tasks.get(task)?.state ?? 'unknown'}`);
  const due = rig.model.cancel(task);
  const answer = await outcome(rig.engine(n.by).cancel(task));
  if (due === undefined) must('error' in answer && answer.error === 'NOT_FOUND', 'an unknown task was cancelled');
  else must('value' in answer && answer.value === due, `a cancel was answered ${JSON.stringify(answer)}, not ${due}`);
});

const retry = operation(5, { by: BY, task: ANY, unknown: 12 }, async (rig, n) => {
  const task = n.unknown === 11 ? 1_000_000 : pickTask(rig, n.task);
  rig.gates.reach(`retry of a task that is ${rig.model.tasks.get(task)?.state ?? 'unknown'}`);
  const due = rig.model.retry(task);
  if (due === undefined) await refused(rig.engine(n.by).retry(task), 'NOT_FOUND');
  else if (due !== 'done') await refused(rig.engine(n.by).retry(task), 'ILLEGAL_TRANSITION');
  else {
    await rig.engine(n.by).retry(task);
    rig.gates.reach('finished task retried');
  }
});

const pause = operation(2, { by: BY, queue: 3 }, async (rig, n) => {
  const queue = at(QUEUES, n.queue);
  await rig.engine(n.by).pause(queue);
  rig.model.pause(queue, n.by);
});

const resume = operation(3, { by: BY, queue: 3 }, async (rig, n) => {
  const queue = at(QUEUES, n.queue);
  await rig.engine(n.by).resume(queue);
  rig.model.resume(queue);
});

const enableWorker = operation(2, { by: BY, worker: 2, enabled: 3 }, async (rig, n) => {
  const worker = at(rig.workers, n.worker);
  const enabled = n.enabled < 2;
  await rig.store(n.by).workerSet({ name: rig.nameOf(worker), enabled });
  rig.model.workers.set(worker, { enabled });
});

const look = operation(3, { by: BY, queue: 4, states: 4, limit: 3, task: ANY }, async (rig, n) => {
  const { model } = rig;
  const engine = rig.engine(n.by);
  const queue = QUEUES[n.queue];
  const states = at([undefined, ['ready'], ['completed', 'failed'], ['running', 'scheduled']] as const, n.states);
  const limit = at([100, 1, 7], n.limit);
  const before = pickTask(rig, n.task) + 1;
  const rows = await engine.list({
    limit,
    before,
    ...(queue === undefined ? {} : { queue }),
    ...(states && { states }),
  });
  const due = [...model.tasks.values()]
    .filter((task) => task.id < before && (queue === undefined || task.queue === queue))
    .filter((task) => states === undefined || (states as readonly string[]).includes(task.state))
    .map(({ id }) => id)
    .sort((a, b) => b - a)
    .slice(0, limit);
  must(rows.map(({ task }) => task).join() === due.join(), `the list is not ${due.join()}`);
  const stats = await engine.stats(queue ?? 'nowhere');
  const want = queue === undefined ? undefined : model.queues.get(queue)?.stats;
  for (const [state, count] of Object.entries(stats)) {
    must(count === (want?.[state as keyof typeof stats] ?? 0), `${queue} has ${count} ${state}`);
  }
});

export const OPERATING = { cancel, retry, pause, resume, enableWorker, look };
