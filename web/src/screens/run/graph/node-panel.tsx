/** The node of a graph that is selected: how it stands, its tasks, what came in and what it gave. */

import { useEffect, useRef, useState } from 'react';
import { exactNode, exactStep, type RunDetail, type RunGraphNode } from '../../../api.ts';
import { useResource } from '../../../live/resource.ts';
import { messageOf } from '../../../model/json.ts';
import { type Standing, toneOfNode, wordOfNode } from '../../../model/run/graph/standing.ts';
import { isFinal } from '../../../model/task-states.ts';
import { plural, shortId } from '../../../model/text.ts';
import { Link, segment } from '../../../router.tsx';
import { Button } from '../../../ui/buttons.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import { KeyValues } from '../../../ui/layout.tsx';
import { State, WhenLoaded } from '../../../ui/states.tsx';
import { Duration } from '../../../ui/times.tsx';

export function NodePanel({
  run,
  node,
  standing,
  onClose,
}: {
  readonly run: RunDetail;
  readonly node: string;
  readonly standing: Standing;
  readonly onClose: () => void;
}) {
  const detail = useResource(`node ${node} of ${run.id}`, (signal) => exactNode(run.id, node, signal), {
    everyMs: standing.state === 'running' ? 3_000 : 60_000,
  });
  // It is read again when the drawing shows that something has changed.
  const { state, kept, tasks } = standing;
  const stands = `${state} ${kept} ${tasks?.ended} ${tasks?.running} ${tasks?.failed}`;
  const before = useRef(stands);
  const { refresh } = detail;
  useEffect(() => {
    if (before.current !== stands) refresh();
    before.current = stands;
  }, [stands, refresh]);
  return (
    <aside className="node-panel" aria-label={`Node ${node}`}>
      <div className="node-head">
        <h3 className="cut">{detail.data?.name ?? node}</h3>
        <Button kind="plain" small icon="close" aria-label="Close the node" onClick={onClose} />
      </div>
      <div className="node-body">
        <WhenLoaded of={detail} rows={4}>
          {(shown) => <Shown run={run} of={shown} />}
        </WhenLoaded>
      </div>
    </aside>
  );
}

function Shown({ run, of: node }: { readonly run: RunDetail; readonly of: RunGraphNode }) {
  const over = isFinal(run.state);
  const [task, setTask] = useState<string>();
  const { began, ended, tasks, members, settings } = node;
  return (
    <div className="stack">
      <KeyValues
        of={[
          ['State', <State key="s" state={toneOfNode(node.state)} label={wordOfNode(node.state, over)} />],
          [
            'Type',
            <code key="t" className="break">
              {node.type}
            </code>,
          ],
          node.name !== node.id && [
            'Id',
            <code key="i" className="break">
              {node.id}
            </code>,
          ],
          ['Runs', node.perItem ? 'for each item' : 'once for all items'],
          node.pinned !== undefined && ['Pinned', plural(node.pinned, 'item')],
          node.kept !== undefined && [
            'Gave',
            node.rejected === undefined
              ? plural(node.kept, 'item')
              : `${plural(node.kept, 'item')}, and ${node.rejected.toLocaleString('en')} the other way`,
          ],
          began !== undefined && [
            'Took',
            <Duration key="d" from={began} until={ended ?? (over ? began : undefined)} />,
          ],
          tasks !== undefined &&
            tasks.all > 1 && [
              'Tasks',
              `${tasks.ended.toLocaleString('en')} of ${tasks.all.toLocaleString('en')} ended${tasks.failed > 0 ? `, ${tasks.failed.toLocaleString('en')} failed` : ''}`,
            ],
        ]}
      />
      {node.error !== undefined && <pre className="code bad">{messageOf(node.error)}</pre>}
      {members.length > 0 && (
        <ul className="node-tasks" aria-label="Tasks of the node">
          {members.map(({ id, key, state, worker, startedAt, finishedAt }, i) => (
            <li key={id}>
              <State state={state} label={members.length === 1 ? state : `${i + 1}`} />
              <Link to={`/tasks/${segment(id)}`} className="link mono" title={id}>
                {shortId(id)}
              </Link>
              <span className="cut quiet">{worker ?? ''}</span>
              <span className="quiet num">
                {startedAt === undefined ? '' : <Duration from={startedAt} until={finishedAt} />}
              </span>
              <Button
                small
                kind="plain"
                aria-pressed={task === key}
                onClick={() => setTask(task === key ? undefined : key)}
              >
                Data
              </Button>
            </li>
          ))}
          {tasks !== undefined && tasks.all > members.length && (
            <li className="quiet">and {(tasks.all - members.length).toLocaleString('en')} more, in the steps below</li>
          )}
        </ul>
      )}
      {task !== undefined && <TaskData run={run} of={task} />}
      {node.withheld !== undefined && (
        <p className="quiet">Its items are not shown: {node.withheld}. Those of a task are beside it.</p>
      )}
      {node.input !== undefined && <JsonView label={itemsLabel('Came in', node.input)} value={node.input.items} />}
      {node.output !== undefined && <JsonView label={itemsLabel('Gave', node.output)} value={node.output.items} />}
      {node.rejects !== undefined && (
        <JsonView label={itemsLabel('The other way', node.rejects)} value={node.rejects.items} />
      )}
      {settings !== null && settings !== undefined && (
        <details>
          <summary className="quiet">Settings</summary>
          <JsonView label="Settings" value={settings} />
        </details>
      )}
    </div>
  );
}

/** What one of several tasks was given, and its result. */
function TaskData({ run, of: key }: { readonly run: RunDetail; readonly of: string }) {
  const step = useResource(`step ${run.id} ${key}`, (signal) => exactStep(run.id, run.id, key, signal), {
    everyMs: 5_000,
  });
  return (
    <WhenLoaded of={step} rows={2}>
      {({ given, out }) => (
        <>
          {given !== undefined && <JsonView label="Input of the task" value={given} />}
          {out !== undefined && <JsonView label="Result of the task" value={out} />}
        </>
      )}
    </WhenLoaded>
  );
}

const itemsLabel = (
  what: string,
  { all, items }: { readonly all: number; readonly items: readonly unknown[] },
): string =>
  items.length === all
    ? `${what}: ${plural(all, 'item')}`
    : `${what}: ${items.length} of ${all.toLocaleString('en')} items`;
