import type { CancelAnswer, ReviveAnswer, ReviveParams, Store, TaskStore } from '../../store.ts';
import { getTasks, listAttempts, listTasks, readyTasks } from '../verbs/admin/read.ts';
import { cancelTasks, reviveTask, reviveTogether, someDepend } from '../verbs/queue/cancel.ts';
import type { StoreParts } from './store-parts.ts';

export function taskStore(parts: StoreParts): TaskStore & Pick<Store, 'taskReady' | 'taskByKey'> {
  const { calls, schema } = parts;
  return {
    taskGet: ({ tasks }) => calls.run((session) => getTasks(session, tasks)),
    taskList: (query) => calls.run((session) => listTasks(session, schema, query)),
    taskReady: ({ lanes, limit }) => calls.run((session) => readyTasks(session, lanes, limit)),
    taskByKey: ({ queue, key }) =>
      calls.run(async (session) => (await session.all<{ task: number }>('uniqGet', [queue, key]))[0]?.task),
    attemptList: ({ task }) => calls.run((session) => listAttempts(session, task)),
    taskCancel: ({ tasks }) => cancel(parts, tasks),
    taskRevive: (params) => revive(parts, params),
  };
}

async function cancel({ calls }: StoreParts, tasks: readonly number[]): Promise<readonly CancelAnswer[]> {
  return calls.whole(
    tasks,
    await calls.run((session, tried) => cancelTasks(session, tasks, tried)),
    (session, some, woken, tried) => cancelTasks(session, some, tried, woken),
  );
}

async function revive({ calls, hints }: StoreParts, params: ReviveParams): Promise<readonly ReviveAnswer[]> {
  const { tasks, forget = [] } = params;
  const answers: ReviveAnswer[] = [];
  if (forget.length > 0 || (await calls.run((session) => someDepend(session, tasks)))) {
    answers.push(...(await calls.transaction((session, tried) => reviveTogether(session, params, tried))));
  } else {
    for (const task of tasks) answers.push(await calls.run((session, tried) => reviveTask(session, task, tried)));
  }
  hints.ready(answers.flatMap((answer) => (answer.ok ? [answer.lane] : [])));
  return answers;
}
