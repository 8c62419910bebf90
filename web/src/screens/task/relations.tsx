/** The panel of related tasks: what this task waits for, what waits for it, and what it has spawned. */

import { useEffect, useState } from 'react';
import { client } from '../../api.ts';
import { listen } from '../../live/feed.ts';
import { useResource } from '../../live/resource.ts';
import { Panel } from '../../ui/layout.tsx';
import { TaskGraph } from '../../ui/task-graph.tsx';

export function Relations({ id }: { readonly id: string }) {
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set([id]));
  const tree = useResource(`tree ${id}`, (signal) => client.call('showTree', { params: { id }, signal }), {
    on: (event) => event.task !== undefined && touched.has(event.task),
    atMostMs: 1_000,
  });
  const explained = useResource(`explain ${id}`, (signal) => client.call('explainTask', { params: { id }, signal }), {
    on: (event) => event.task === id,
    atMostMs: 1_000,
  });
  const needs = explained.data?.dependencies ?? [];
  const ids = needs.map(({ taskId }) => taskId).slice(0, 50);
  const upstream = useResource(
    `upstream ${id} ${ids.join()}`,
    (signal) =>
      ids.length === 0 ? Promise.resolve({ tasks: [] }) : client.call('listTasks', { query: { id: ids }, signal }),
    { on: (event) => event.task !== undefined && ids.includes(event.task), atMostMs: 1_000 },
  );
  const known = [...(tree.data?.tasks.map((one) => one.id) ?? []), ...ids].join();
  useEffect(() => setTouched(new Set(known.split(','))), [known]);
  const { refresh: refreshTree } = tree;
  // A task that parks may have spawned children: its tree is read again.
  useEffect(
    () => listen((events) => events.some(({ kind, task }) => kind === 'parked' && task === id) && refreshTree()),
    [id, refreshTree],
  );
  const below = tree.data?.tasks ?? [];
  if (below.length <= 1 && needs.length === 0) return null;
  const seen = new Set(below.map((one) => one.id));
  const above = needs
    .filter(({ taskId }) => !seen.has(taskId))
    .map(({ taskId, state }) => {
      const up = upstream.data?.tasks.find((one) => one.id === taskId);
      return { id: taskId, handler: up?.handler ?? 'task', state: up?.state ?? state, after: [], spawnedBy: [] };
    });
  const tasks = [
    ...above,
    ...below.map((one) =>
      one.id === id ? { ...one, after: [...new Set([...one.after, ...above.map((up) => up.id)])] } : one,
    ),
  ];
  return (
    <Panel
      title="Related tasks"
      count={tasks.length}
      actions={<span className="quiet">solid: waits for it · dashed: started by it</span>}
    >
      <TaskGraph tasks={tasks} here={id} />
    </Panel>
  );
}
