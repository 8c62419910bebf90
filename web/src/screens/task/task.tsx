/** The screen of one task: its attempts, error, log, input, result and relations, and the actions on it. */

import { useState } from 'react';
import { client, exactTask } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { isFinal } from '../../model/task-states.ts';
import { go, Link } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, CopyButton } from '../../ui/buttons.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { useKeys } from '../../ui/keys.ts';
import { Page } from '../../ui/layout.tsx';
import { LogView, useTaskLog } from '../../ui/log/log-view.tsx';
import { Notice, State, WhenLoaded } from '../../ui/states.tsx';
import { runAction } from '../../ui/toast.tsx';
import { FilesPanel } from '../files/files-panel.tsx';
import { draftLike } from '../push/push-draft.ts';
import { ApprovalPanel } from './approval-panel.tsx';
import { Attempts } from './attempts.tsx';
import { CancelDialog, CancelLadder } from './cancel.tsx';
import { ErrorPanel } from './error-panel.tsx';
import { ExplainDrawer } from './explain.tsx';
import { Facts } from './facts.tsx';
import { Relations } from './relations.tsx';

export default function Task({ id }: { readonly id: string }) {
  const task = useResource(`task ${id}`, (signal) => exactTask(id, signal), {
    on: (event) => event.task === id,
    atMostMs: 300,
    everyMs: 10_000,
  });
  const [explain, setExplain] = useState(false);
  const [cancelling, setCancelling] = useState(false);
  const may = useMay('operator');
  const data = task.data;
  const final = data !== undefined && isFinal(data.state);
  const log = useTaskLog(id, !final);
  const retry = (): void =>
    runAction(
      () => client.call('retryTask', { params: { id }, body: {} }).then(task.refresh),
      'The task is ready again.',
    );
  useKeys([
    { keys: 'e', does: 'Explain the task', group: 'Task', run: () => setExplain(true) },
    ...(may && final ? [{ keys: 'r', does: 'Run the task again', group: 'Task', run: retry }] : []),
    ...(may && data !== undefined && !final
      ? [{ keys: 'c', does: 'Cancel the task', group: 'Task', run: () => setCancelling(true) }]
      : []),
    { keys: 'u', does: 'Back to the list', group: 'Task', run: () => go('/tasks') },
  ]);
  return (
    <Page
      crumb={
        <Link to="/tasks" className="crumb">
          Tasks
        </Link>
      }
      title={
        <span className="title-line">
          <span className="break">{data?.handler ?? 'Task'}</span>
          {data && <State state={data.state} why={data.reason} />}
        </span>
      }
      about={
        <span className="row">
          <code className="cut">{id}</code>
          <CopyButton text={id} label="Copy the id" />
        </span>
      }
      actions={
        data && (
          <>
            <Button icon="help" onClick={() => setExplain(true)}>
              Explain
            </Button>
            {may && (
              <Button icon="edit" onClick={() => go(draftLike(data))}>
                {final ? 'Edit and run' : 'Push a similar task'}
              </Button>
            )}
            {may && final && (
              <Button icon="retry" kind="primary" onClick={retry}>
                Run again
              </Button>
            )}
            {may && !final && (
              <Button
                icon="stop"
                kind="danger"
                disabled={data.cancelRequestedAt !== undefined}
                onClick={() => setCancelling(true)}
              >
                Cancel
              </Button>
            )}
          </>
        )
      }
    >
      <WhenLoaded of={task}>
        {(shown) => (
          <>
            {shown.summary !== undefined && !final && shown.state !== 'running' && (
              <Notice
                tone={shown.state}
                action={
                  <Button small onClick={() => setExplain(true)}>
                    Explain
                  </Button>
                }
              >
                {shown.summary}
              </Notice>
            )}
            {shown.wait?.kind === 'approval' && <ApprovalPanel id={id} wait={shown.wait} onDone={task.refresh} />}
            {shown.wait?.kind === 'signal' && (
              <Notice tone="waiting">
                The task waits for a signal on the channel <code>{shown.wait.channel}</code>.{' '}
                <span className="ink-2">
                  Send it: <code>leasehold signal {shown.wait.channel}</code>
                </span>
              </Notice>
            )}
            {shown.cancelRequestedAt !== undefined && log && <CancelLadder of={shown} log={log} />}
            <div className="two-panes facts">
              <div className="stack">
                <Attempts of={shown} />
                {shown.error !== undefined && <ErrorPanel error={shown.error} />}
                {shown.progress !== undefined && !final && <JsonView label="Progress" value={shown.progress} />}
                {log && <LogView log={log} live={!final} />}
                <JsonView label="Input" value={shown.input} />
                {shown.result !== undefined && <JsonView label="Result" value={shown.result} />}
                <FilesPanel of="task" id={id} live={!final} />
                <Relations id={id} />
              </div>
              <aside className="stack">
                <Facts of={shown} />
              </aside>
            </div>
          </>
        )}
      </WhenLoaded>
      {explain && <ExplainDrawer id={id} onClose={() => setExplain(false)} />}
      {cancelling && data && <CancelDialog of={data} onClose={() => setCancelling(false)} onDone={task.refresh} />}
    </Page>
  );
}
