import type { Store, TaskStore } from '../../store.ts';
import { getTask, listAttempts, listTasks, readyTasks } from '../verbs/admin/read.ts';
import { cancelTasks, reviveTasks } from '../verbs/queue/cancel.ts';
import type { StoreParts } from './store-parts.ts';

export function taskStore({ calls, writer }: StoreParts): TaskStore & Pick<Store, 'taskReady' | 'taskByKey'> {
  return {
    taskGet: ({ tasks }) => writer.read(({ sql }) => tasks.map((task) => getTask(sql, task))),
    taskList: (query) => writer.read((connection) => listTasks(connection, query)),
    taskReady: ({ lanes, limit }) => writer.read(({ sql }) => readyTasks(sql, lanes, limit)),
    taskByKey: ({ queue, key }) =>
      writer.read(({ sql }) => (sql.get('uniqGet').get(queue, key) as { task: number } | undefined)?.task),
    attemptList: ({ task }) => writer.read(({ sql }) => listAttempts(sql, task)),
    taskCancel: ({ tasks }) => calls.waking('rest', (tx) => cancelTasks(tx, tasks)),
    taskRevive: (params) => writer.write('rest', (tx) => reviveTasks(tx, params)),
  };
}
