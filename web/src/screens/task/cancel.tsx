/** The dialog that cancels a task, and the panel that shows how far the cancel has come. */

import { type ReactNode, useMemo, useState } from 'react';
import { client, type TaskDetail } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { useSignal } from '../../live/signal.ts';
import type { TaskLog } from '../../live/task-log.ts';
import { stopTimes } from '../../model/stop.ts';
import { isFinal } from '../../model/task-states.ts';
import { plural } from '../../model/text.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { StateGlyph } from '../../ui/icon.tsx';
import { Panel } from '../../ui/layout.tsx';
import { Countdown, Duration, Time } from '../../ui/times.tsx';

/** The steps that stop a running task, and which of them its worker has reported. */
export function CancelLadder({ of: task, log }: { readonly of: TaskDetail; readonly log: TaskLog }) {
  const over = isFinal(task.state);
  const asked = task.cancelRequestedAt ?? 0;
  const { lines } = useSignal(log.state);
  const stops = useMemo(() => stopTimes(lines, task.attempt), [lines, task.attempt]);
  const steps: readonly { readonly text: string; readonly note: ReactNode; readonly at: number | undefined }[] = [
    { text: 'Cancel requested', note: '', at: asked },
    {
      text: 'The worker sees the request and aborts the signal of the handler',
      note: 'within about a second',
      at: stops.get('abort'),
    },
    { text: 'A process that does not stop gets SIGTERM', note: 'after 2s', at: stops.get('SIGTERM') },
    {
      text: 'Then SIGKILL, with all processes that it started',
      note: 'after 2s more',
      at: stops.get('SIGKILL'),
    },
    {
      text: 'If the worker stays silent, its lease expires and its reports are ignored',
      note: task.leaseExpiresAt === undefined ? 'the last resort' : <Countdown to={task.leaseExpiresAt} over="now" />,
      at: undefined,
    },
  ];
  const here = steps.findLastIndex(({ at }) => at !== undefined);
  // Once the task has ended, steps that were not needed are left out.
  const shown = over ? steps.filter(({ at }) => at !== undefined) : steps;
  return (
    <Panel title={over ? 'How it was stopped' : 'Stopping'}>
      <ol className="ladder">
        {shown.map(({ text, note, at }, i) => {
          const now = i === here && !over;
          return (
            <li
              key={text}
              className={now ? 'now' : at === undefined ? '' : 'past'}
              aria-current={now ? 'step' : undefined}
            >
              <StateGlyph state={now ? 'running' : at === undefined ? 'ready' : 'completed'} />
              <span>{text}</span>
              <span className="quiet">{at === undefined ? note : <Time at={at} />}</span>
            </li>
          );
        })}
        {over && (
          <li className="past">
            <StateGlyph state={task.state} />
            <span>The task ended as {task.state}</span>
            <span className="quiet">
              {task.finishedAt !== undefined && <Duration from={asked} until={task.finishedAt} />}
            </span>
          </li>
        )}
      </ol>
    </Panel>
  );
}

export function CancelDialog({
  of: task,
  onClose,
  onDone,
}: {
  readonly of: TaskDetail;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const { id } = task;
  const [tree, setTree] = useState(false);
  const dry = useResource(`cancel ${id}`, () =>
    client.call('cancelTask', { params: { id }, body: { tree: true, dryRun: true } }),
  );
  const others = (dry.data?.tasks.length ?? 1) - 1;
  return (
    <FormDialog
      title="Cancel this task"
      submit={tree ? `Cancel ${plural(others + 1, 'task')}` : 'Cancel the task'}
      danger
      onClose={onClose}
      act={() => client.call('cancelTask', { params: { id }, body: { tree } }).then(onDone)}
    >
      <p>
        {task.state === 'running'
          ? 'The task is running. Its worker is asked to stop it, and has a few seconds for that. Its result is not recorded.'
          : 'The task is not running. It ends at once.'}
      </p>
      {others > 0 && (
        <label className="row">
          <input type="checkbox" checked={tree} onChange={(event) => setTree(event.target.checked)} />
          Also the {plural(others, 'task')} that depend on it
        </label>
      )}
    </FormDialog>
  );
}
