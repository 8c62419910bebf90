import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { type Attempt, client, exactTask, type TaskDetail } from '../../api.ts';
import { listen } from '../../live/feed.ts';
import { useResource } from '../../live/resource.ts';
import { useSignal } from '../../live/signal.ts';
import type { TaskLog } from '../../live/task-log.ts';
import { messageOf } from '../../model/json.ts';
import { stopsOf } from '../../model/stop.ts';
import { go, Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import {
  Awaited,
  Button,
  CopyButton,
  Countdown,
  KeyValues,
  Lasting,
  Notice,
  Page,
  Panel,
  plural,
  State,
  Time,
  useTicking,
} from '../../ui/basic.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { StateGlyph } from '../../ui/icon.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { useKeys } from '../../ui/keys.ts';
import { LogView, useTaskLog } from '../../ui/log-view.tsx';
import { TaskGraph } from '../../ui/task-graph.tsx';
import { attempt } from '../../ui/toast.tsx';
import { againLike } from '../push/push-draft.ts';
import { DecideForm } from './decide.tsx';
import { ExplainDrawer } from './explain.tsx';

const FINAL = ['completed', 'failed', 'cancelled'];

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
  const final = data !== undefined && FINAL.includes(data.state);
  const log = useTaskLog(id, !final);
  const retry = (): void =>
    attempt(
      () => client.call('retryTask', { params: { id }, body: {} }).then(task.refresh),
      'It is ready to run again.',
    );
  useKeys([
    { keys: 'e', does: 'Explain it', group: 'Task', run: () => setExplain(true) },
    ...(may && final ? [{ keys: 'r', does: 'Run it again', group: 'Task', run: retry }] : []),
    ...(may && data !== undefined && !final
      ? [{ keys: 'c', does: 'Cancel it', group: 'Task', run: () => setCancelling(true) }]
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
              <Button icon="edit" onClick={() => go(againLike(data))}>
                {final ? 'Edit and run' : 'Push one like it'}
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
      <Awaited of={task}>
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
            {shown.wait?.kind === 'approval' && <ToDecide id={id} wait={shown.wait} onDone={task.refresh} />}
            {shown.wait?.kind === 'signal' && (
              <Notice tone="waiting">
                It waits for a signal on the channel <code>{shown.wait.channel}</code>.{' '}
                <span className="ink-2">
                  Send one: <code>leasehold signal {shown.wait.channel}</code>
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
                <Relations id={id} />
              </div>
              <aside className="stack">
                <Facts of={shown} />
              </aside>
            </div>
          </>
        )}
      </Awaited>
      {explain && <ExplainDrawer id={id} onClose={() => setExplain(false)} />}
      {cancelling && data && <CancelDialog of={data} onClose={() => setCancelling(false)} onDone={task.refresh} />}
    </Page>
  );
}

/** With what the task gives along and the form that it wants filled in, which only the inbox has. */
function ToDecide({
  id,
  wait,
  onDone,
}: {
  readonly id: string;
  readonly wait: { readonly title: string; readonly actions: readonly string[] };
  readonly onDone: () => void;
}) {
  const inbox = useResource('approvals', (signal) => client.call('listApprovals', { query: { limit: 200 }, signal }), {
    on: (event) => event.task === id,
  });
  const asked = inbox.data?.approvals.find((approval) => approval.id === id);
  return (
    <Panel title="To decide">
      <Awaited of={inbox} rows={2}>
        {() => (
          <div className="panel-body stack">
            <DecideForm
              key={asked?.key}
              id={id}
              title={asked?.title ?? wait.title}
              actions={asked?.actions ?? wait.actions}
              form={asked?.form}
              onDone={onDone}
            />
            {asked?.context !== undefined && <JsonView label="What to know" value={asked.context} />}
          </div>
        )}
      </Awaited>
    </Panel>
  );
}

function Facts({ of: task }: { readonly of: TaskDetail }) {
  const { placement, limits, fairness } = task;
  const list = (values: readonly string[]) => (
    <span className="tags">
      {values.map((value) => (
        <span key={value} className="tag">
          {value}
        </span>
      ))}
    </span>
  );
  return (
    <Panel title="Facts">
      <div className="panel-body">
        <KeyValues
          of={[
            [
              'Queue',
              <span key="q" className="row">
                <Link to={`/queues/${segment(task.queue)}`} className="link break">
                  {task.queue}
                </Link>
                {task.queuePaused && <State state="paused" />}
              </span>,
            ],
            task.worker !== undefined && [
              'Worker',
              <Link key="w" to={`/workers/${segment(task.worker)}`} className="link break">
                {task.worker}
              </Link>,
            ],
            task.state === 'running' &&
              task.leaseExpiresAt !== undefined && [
                'Lease',
                <span key="l">
                  ends in <Countdown to={task.leaseExpiresAt} over="0s, unless it is renewed" />
                </span>,
              ],
            ['Tries', `${task.tries} of ${task.maxAttempts}`],
            ['Attempt', task.attempt === 0 ? 'none yet' : `${task.attempt}`],
            ['Priority', task.priority],
            ['Created', <Time key="c" at={task.createdAt} />],
            task.runAt !== undefined && task.state === 'scheduled' && ['Due', <Time key="d" at={task.runAt} />],
            task.startedAt !== undefined && ['Started', <Time key="s" at={task.startedAt} />],
            task.finishedAt !== undefined && ['Ended', <Time key="e" at={task.finishedAt} />],
            task.finishedAt !== undefined && [
              'From push to end',
              <Lasting key="t" from={task.createdAt} until={task.finishedAt} />,
            ],
            placement?.requires !== undefined && ['Needs', list(placement.requires)],
            placement?.only !== undefined && ['Only on', list(placement.only)],
            placement?.never !== undefined && ['Never on', list(placement.never)],
            placement?.version !== undefined && ['Version', placement.version],
            limits !== undefined && [
              'Limits',
              <span key="li" className="tags">
                {limits.map(({ name, key, weight }) => (
                  <Link key={`${name} ${key}`} to={`/limits/${segment(name)}`} className="tag">
                    {name}
                    {key === undefined ? '' : ` / ${key}`}
                    {weight === undefined ? '' : ` × ${weight}`}
                  </Link>
                ))}
              </span>,
            ],
            fairness !== undefined && [
              'Fair share',
              `${fairness.key}${fairness.weight === 1 ? '' : ` × ${fairness.weight}`}`,
            ],
            task.unique !== undefined && ['Unique key', <code key="u">{task.unique}</code>],
            !FINAL.includes(task.state) && ['Workers for it', task.workersForIt],
          ]}
        />
      </div>
    </Panel>
  );
}

const OUTCOME: Readonly<Record<string, string>> = {
  completed: 'completed',
  running: 'running',
  failed: 'failed',
  retried: 'failed',
  cancelled: 'cancelled',
  expired: 'lost',
  timed_out: 'failed',
  released: 'cancelled',
  parked: 'waiting',
};

/** Each attempt as a bar on one scale of time, from the push to the end or to now. */
function Attempts({ of: task }: { readonly of: TaskDetail }) {
  const live = !FINAL.includes(task.state);
  const now = useTicking((at) => (live ? Math.floor(at / 1000) * 1000 : 0));
  const { attempts, createdAt } = task;
  const ends = [
    createdAt + 1,
    task.finishedAt ?? 0,
    ...attempts.flatMap(({ startedAt = 0, endedAt = 0 }) => [startedAt, endedAt]),
    live ? Math.max(now, createdAt + 1) : 0,
  ];
  const end = Math.max(...ends);
  const part = (at: number): number => ((Math.min(end, Math.max(createdAt, at)) - createdAt) / (end - createdAt)) * 100;
  return (
    <Panel title="Attempts" count={attempts.length}>
      {attempts.length === 0 ? (
        <div className="panel-body quiet">
          {live ? 'No worker has taken it yet.' : 'No worker has taken it.'} It was created <Time at={createdAt} />.
        </div>
      ) : (
        <div className="lanes">
          {attempts.map((one, i) => {
            const from = one.startedAt ?? createdAt;
            const until = one.endedAt ?? end;
            const tone = OUTCOME[one.outcome] ?? 'ready';
            const before = i === 0 ? createdAt : (attempts[i - 1]?.endedAt ?? from);
            return (
              <div key={one.attempt} style={{ display: 'contents' }}>
                <span className="row">
                  <span className="quiet">{one.attempt}</span>
                  <State state={tone} label={one.outcome.replaceAll('_', ' ')} />
                </span>
                <span className={`lane s-${tone}`}>
                  <i
                    className="idle"
                    style={{ left: `${part(before)}%`, width: `${Math.max(0, part(from) - part(before))}%` }}
                  />
                  <i
                    className={one.endedAt === undefined ? 'live' : ''}
                    style={{
                      left: `${Math.min(99, part(from))}%`,
                      width: `${Math.max(0.6, part(until) - part(from))}%`,
                    }}
                  />
                </span>
                <span className="num nowrap">
                  {one.startedAt === undefined ? '–' : <Lasting from={one.startedAt} until={one.endedAt} />}
                </span>
              </div>
            );
          })}
        </div>
      )}
      {attempts.length > 0 && <AttemptTable of={attempts} />}
    </Panel>
  );
}

function AttemptTable({ of: attempts }: { readonly of: readonly Attempt[] }) {
  return (
    <div className="table-wrap">
      <table className="table attempts">
        <thead>
          <tr>
            <th>Attempt</th>
            <th>Worker</th>
            <th>Began</th>
            <th>What happened</th>
          </tr>
        </thead>
        <tbody>
          {[...attempts].reverse().map((one) => (
            <tr key={one.attempt}>
              <td>{one.attempt}</td>
              <td>
                {one.worker === undefined ? (
                  '–'
                ) : (
                  <Link to={`/workers/${segment(one.worker)}`} className="link">
                    {one.worker}
                  </Link>
                )}
              </td>
              <td className="nowrap">{one.startedAt === undefined ? '–' : <Time at={one.startedAt} />}</td>
              <td className="break">{storyOf(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What became of an attempt, as people tell it. */
function storyOf({ outcome: told, error }: Attempt): string {
  // A newer node may have another word.
  const outcome: string = told;
  const why = messageOf(error);
  switch (outcome) {
    case 'expired':
      return `Its lease ran out: nothing was heard of the worker, so it was given to another${why === '' ? '' : ` (${why})`}`;
    case 'retried':
      return `Failed, and is tried again: ${why}`;
    case 'released':
      return `Given back untouched${why === '' ? '' : `: ${why}`}`;
    case 'parked':
      return 'Waits, and has given its slot back';
    case 'running':
      return 'Runs';
    default:
      return why === '' ? outcome.replaceAll('_', ' ') : `${outcome}: ${why}`;
  }
}

function ErrorPanel({ error }: { readonly error: unknown }) {
  const { stack } = (typeof error === 'object' && error !== null ? error : {}) as { stack?: unknown };
  return (
    <Panel title="Why it did not complete">
      <div className="panel-body stack tight">
        <pre className="code bad">{messageOf(error)}</pre>
        {typeof stack === 'string' && (
          <details>
            <summary className="quiet">Stack</summary>
            <pre className="code">{stack}</pre>
          </details>
        )}
      </div>
    </Panel>
  );
}

/** How a running task is brought to its end, and how far that has come, as its worker tells it. */
function CancelLadder({ of: task, log }: { readonly of: TaskDetail; readonly log: TaskLog }) {
  const over = FINAL.includes(task.state);
  const asked = task.cancelRequestedAt ?? 0;
  const { lines } = useSignal(log.state);
  const stops = useMemo(() => stopsOf(lines, task.attempt), [lines, task.attempt]);
  const steps: readonly { readonly text: string; readonly note: ReactNode; readonly at: number | undefined }[] = [
    { text: 'Asked to stop', note: '', at: asked },
    {
      text: 'Its worker hears of it, and the signal of the handler aborts',
      note: 'within a second or so',
      at: stops.get('abort'),
    },
    { text: 'What does not stop by itself gets SIGTERM', note: 'after 2s', at: stops.get('SIGTERM') },
    {
      text: 'Then SIGKILL, with everything that it has started',
      note: 'after 2s more',
      at: stops.get('SIGKILL'),
    },
    {
      text: 'If the worker stays silent, its lease ends and nothing that it says counts any more',
      note: task.leaseExpiresAt === undefined ? 'the last resort' : <Countdown to={task.leaseExpiresAt} over="now" />,
      at: undefined,
    },
  ];
  const here = steps.findLastIndex(({ at }) => at !== undefined);
  // What was not needed is left out once it is over.
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
            <span>It ended as {task.state}</span>
            <span className="quiet">
              {task.finishedAt !== undefined && <Lasting from={asked} until={task.finishedAt} />}
            </span>
          </li>
        )}
      </ol>
    </Panel>
  );
}

function CancelDialog({
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
          ? 'It runs: its worker is asked to stop, and has a few seconds to do so. Whatever it returns then is not recorded.'
          : 'It does not run: it ends at once.'}
      </p>
      {others > 0 && (
        <label className="row">
          <input type="checkbox" checked={tree} onChange={(event) => setTree(event.target.checked)} />
          With the {plural(others, 'task')} that hang on it
        </label>
      )}
    </FormDialog>
  );
}

/** What it waits for, what waits for it, and what it has started. */
function Relations({ id }: { readonly id: string }) {
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
  // Children that are started while somebody looks belong to a tree that is looked at again.
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
      title="Around it"
      count={tasks.length}
      actions={<span className="quiet">solid: waits for it · dashed: started by it</span>}
    >
      <TaskGraph tasks={tasks} here={id} />
    </Panel>
  );
}
