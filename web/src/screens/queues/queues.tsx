import { useEffect, useRef, useState } from 'react';
import { client, type Queue } from '../../api.ts';
import { listen } from '../../live/feed.ts';
import { useResource } from '../../live/resource.ts';
import { roughly } from '../../model/time.ts';
import { go, Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import {
  Awaited,
  Button,
  Command,
  Empty,
  Field,
  KeyValues,
  Page,
  Panel,
  plural,
  Sparkline,
  State,
} from '../../ui/basic.tsx';
import { Drawer, FormDialog } from '../../ui/dialog.tsx';
import { attempt, tellDone } from '../../ui/toast.tsx';

/** Rows change one by one: of a queue of which something was told, only that queue is looked at again. */
function useQueues() {
  const queues = useResource('queues', (signal) => client.call('listQueues', { signal }), { everyMs: 30_000 });
  const { set, refresh } = queues;
  const known = useRef<ReadonlySet<string>>(new Set());
  known.current = new Set(queues.data?.queues.map(({ name }) => name));
  useEffect(() => {
    const stale = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      timer = undefined;
      const names = [...stale].slice(0, 8);
      for (const name of names) stale.delete(name);
      const fresh = await Promise.all(
        names.map((queue) => client.call('getQueue', { params: { queue } }).catch(() => undefined)),
      );
      set((data) => ({
        ...data,
        queues: data.queues.map((one) => fresh.find((queue) => queue?.name === one.name) ?? one),
      }));
      if (stale.size > 0) timer ??= setTimeout(() => void look(), 500);
    };
    const unlisten = listen((events) => {
      for (const { queue } of events) {
        if (queue === undefined) continue;
        if (known.current.has(queue)) stale.add(queue);
        else refresh();
      }
      if (stale.size > 0) timer ??= setTimeout(() => void look(), 500);
    });
    return () => {
      unlisten();
      clearTimeout(timer);
    };
  }, [set, refresh]);
  return queues;
}

/** What ended a second, by the totals of a queue: figures since this page was opened. */
function useRate(queue: Queue): { readonly rate: number; readonly history: readonly number[] } {
  const samples = useRef<{ readonly at: number; readonly total: number }[]>([]);
  const [state, setState] = useState<{ rate: number; history: readonly number[] }>({ rate: 0, history: [] });
  const total = queue.completed + queue.failed;
  const latest = useRef(total);
  latest.current = total;
  useEffect(() => {
    const timer = setInterval(() => {
      const all = samples.current;
      all.push({ at: Date.now(), total: latest.current });
      if (all.length > 60) all.shift();
      const history = all
        .slice(1)
        .map((one, i) =>
          Math.max(0, ((one.total - (all[i]?.total ?? 0)) * 1000) / Math.max(1, one.at - (all[i]?.at ?? 0))),
        );
      const recent = history.slice(-5);
      setState({ rate: recent.reduce((sum, one) => sum + one, 0) / Math.max(1, recent.length), history });
    }, 2000);
    return () => clearInterval(timer);
  }, []);
  return state;
}

export default function Queues({ name }: { readonly name: string | undefined }) {
  const queues = useQueues();
  return (
    <Page title="Queues" about="Where tasks wait. One begins to be with its first task.">
      <Awaited of={queues}>
        {(data) =>
          data.queues.length === 0 ? (
            <div className="panel">
              <Empty icon="queues" title="No queues yet">
                <p>A queue is there as soon as something is pushed to it.</p>
                <Command text={`npx leasehold push echo '{"hello":"world"}'`} />
              </Empty>
            </div>
          ) : (
            <div className="panel table-wrap">
              <table className="table">
                <thead>
                  <tr>
                    <th>Queue</th>
                    <th className="num">Ready</th>
                    <th className="num">Running</th>
                    <th className="num wide-only">Scheduled</th>
                    <th className="num wide-only">Waiting</th>
                    <th className="num wide-only">Oldest</th>
                    <th className="wide-only">Ended a second</th>
                    <th className="num wide-only">Completed</th>
                    <th className="num">Failed</th>
                    <th className="num wide-only">Wants slots</th>
                    <th>
                      <span className="sr">What to do</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {data.queues.map((queue) => (
                    <Row
                      key={queue.name}
                      queue={queue}
                      onChanged={(next) =>
                        queues.set((all) => ({
                          ...all,
                          queues: all.queues.map((one) => (one.name === next.name ? next : one)),
                        }))
                      }
                    />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Awaited>
      {name !== undefined && <QueueDrawer name={name} onChanged={queues.refresh} />}
    </Page>
  );
}

const figure = (n: number, to: string) =>
  n === 0 ? (
    <span className="quiet">0</span>
  ) : (
    <Link to={to} className="strong">
      {n.toLocaleString('en')}
    </Link>
  );

function Row({ queue, onChanged }: { readonly queue: Queue; readonly onChanged: (queue: Queue) => void }) {
  const { name } = queue;
  const scale = useResource(
    `scale ${name}`,
    (signal) => client.call('scaleQueue', { params: { queue: name }, signal }),
    { everyMs: 5_000, on: (event) => event.queue === name, atMostMs: 2_000 },
  );
  const { rate, history } = useRate(queue);
  const may = useMay('operator');
  const of = (state: string): string => `/tasks?queue=${encodeURIComponent(name)}&state=${state}`;
  return (
    <tr>
      <td>
        <span className="row wrap">
          <Link to={`/queues/${segment(name)}`} className="strong break">
            {name}
          </Link>
          {queue.paused && <State state="paused" />}
        </span>
      </td>
      <td className="num">{figure(queue.ready, of('ready'))}</td>
      <td className="num">{figure(queue.running, of('running'))}</td>
      <td className="num wide-only">{figure(queue.scheduled, of('scheduled'))}</td>
      <td className="num wide-only">{figure(queue.waiting, of('waiting'))}</td>
      <td className="num wide-only">
        {scale.data === undefined || scale.data.oldest_age_s === 0 ? (
          <span className="quiet">–</span>
        ) : (
          roughly(scale.data.oldest_age_s * 1000)
        )}
      </td>
      <td className="wide-only">
        <span className="row">
          <Sparkline values={history} state="completed" label={`${rate.toFixed(1)} tasks of ${name} end a second`} />
          <span className="quiet nowrap">{rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s</span>
        </span>
      </td>
      <td className="num wide-only">{figure(queue.completed, of('completed'))}</td>
      <td className="num">{figure(queue.failed, of('failed'))}</td>
      <td
        className="num wide-only"
        title="Slots that it could use now: what runs, and what neither a limit nor a pause holds back"
      >
        {scale.data?.desired ?? '–'}
      </td>
      <td className="num">{may && <PauseButton queue={queue} onChanged={onChanged} />}</td>
    </tr>
  );
}

function PauseButton({ queue, onChanged }: { readonly queue: Queue; readonly onChanged: (queue: Queue) => void }) {
  const { name, paused } = queue;
  return (
    <Button
      small
      icon={paused ? 'play' : 'pause'}
      aria-label={paused ? `Resume ${name}` : `Pause ${name}`}
      onClick={() =>
        attempt(
          () => client.call(paused ? 'resumeQueue' : 'pauseQueue', { params: { queue: name } }).then(onChanged),
          paused ? `${name} goes on.` : `Nothing more of ${name} is started; what runs goes on.`,
        )
      }
    >
      <span className="wide-only">{paused ? 'Resume' : 'Pause'}</span>
    </Button>
  );
}

function QueueDrawer({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const may = useMay('operator');
  const queue = useResource(`queue ${name}`, (signal) => client.call('getQueue', { params: { queue: name }, signal }), {
    on: (event) => event.queue === name,
  });
  const scale = useResource(
    `scale ${name}`,
    (signal) => client.call('scaleQueue', { params: { queue: name }, signal }),
    { everyMs: 3_000 },
  );
  const counts = useResource(
    `created ${name}`,
    (signal) => client.call('countTasks', { query: { queue: [name], buckets: 60 }, signal }),
    { everyMs: 15_000 },
  );
  const [purging, setPurging] = useState(false);
  const created = counts.data?.buckets.map((bucket) => Object.values(bucket).reduce((sum, n) => sum + n, 0)) ?? [];
  return (
    <Drawer title={name} onClose={() => go('/queues')}>
      <Awaited of={queue}>
        {(data) => (
          <>
            {may && (
              <div className="buttons">
                <PauseButton
                  queue={data}
                  onChanged={(next) => {
                    queue.set(() => next);
                    onChanged();
                  }}
                />
                <Button small icon="push" onClick={() => go(`/push?queue=${encodeURIComponent(name)}`)}>
                  Push to it
                </Button>
                <Button small icon="trash" kind="danger" onClick={() => setPurging(true)}>
                  Cancel all that waits
                </Button>
              </div>
            )}
            <Panel title="Now">
              <div className="panel-body">
                <ul className="stack tight">
                  {(['ready', 'running', 'scheduled', 'waiting', 'completed', 'failed', 'cancelled'] as const).map(
                    (state) => (
                      <li key={state}>
                        <Link className="row apart" to={`/tasks?queue=${encodeURIComponent(name)}&state=${state}`}>
                          <State state={state} />
                          <span className="num strong">{data[state].toLocaleString('en')}</span>
                        </Link>
                      </li>
                    ),
                  )}
                </ul>
              </div>
            </Panel>
            <Panel title="Created, the last hour" count={created.reduce((sum, n) => sum + n, 0)}>
              <div className="panel-body">
                <Sparkline wide values={created} label={`Tasks created in ${name} in the last hour`} />
              </div>
            </Panel>
            {scale.data && (
              <Panel title="For autoscalers">
                <div className="panel-body stack">
                  <KeyValues
                    of={[
                      ['Slots it could use', <b key="d">{scale.data.desired}</b>],
                      ['Could start now', scale.data.runnable],
                      ['Running', scale.data.running],
                      ['Held by limits', `${scale.data.blocked_by_limit}; more workers would not help`],
                      [
                        'Oldest that could start',
                        scale.data.oldest_age_s === 0 ? '–' : roughly(scale.data.oldest_age_s * 1000),
                      ],
                    ]}
                  />
                  <Command
                    text={`curl -H "Authorization: Bearer $TOKEN" ${location.origin}/api/v1/queues/${segment(name)}/scale`}
                  />
                </div>
              </Panel>
            )}
          </>
        )}
      </Awaited>
      {purging && (
        <PurgeDialog
          name={name}
          onClose={() => setPurging(false)}
          onDone={() => {
            queue.refresh();
            onChanged();
          }}
        />
      )}
    </Drawer>
  );
}

function PurgeDialog({
  name,
  onClose,
  onDone,
}: {
  readonly name: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const dry = useResource(`purge ${name}`, () =>
    client.call('purgeQueue', { params: { queue: name }, body: { dryRun: true } }),
  );
  const [typed, setTyped] = useState('');
  const found = dry.data?.found ?? 0;
  return (
    <FormDialog
      title={`Cancel all that waits in ${name}`}
      submit={`Cancel ${plural(found, 'task')}`}
      danger
      disabled={found === 0 || typed !== name}
      onClose={onClose}
      act={async () => {
        let cursor: string | undefined;
        let cancelled = 0;
        do {
          const body = cursor === undefined ? { expected: found } : { cursor };
          const answer = await client.call('purgeQueue', { params: { queue: name }, body });
          cancelled += answer.cancelled;
          cursor = answer.cursor;
        } while (cursor !== undefined);
        tellDone(`${plural(cancelled, 'task')} of ${name} cancelled.`);
        onDone();
      }}
    >
      <p>
        <b>{plural(found, 'task')}</b> in <code>{name}</code> {found === 1 ? 'waits' : 'wait'}: ready, scheduled or
        waiting for something. All of them end as cancelled; what runs goes on.
      </p>
      <Field label={`Type ${name} to be sure`}>
        {(props) => (
          <input
            {...props}
            className="input"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            autoComplete="off"
          />
        )}
      </Field>
    </FormDialog>
  );
}
