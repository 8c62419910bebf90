import { useState } from 'react';
import type { AnswerOf } from '../../../../src/protocol/routes.ts';
import { client, type Limit, type LimitDetail } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { millisecondsOf } from '../../model/time.ts';
import { go, Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import {
  Awaited,
  Button,
  Command,
  Countdown,
  Empty,
  Field,
  KeyValues,
  Meter,
  Page,
  Panel,
  plural,
  State,
  Time,
  useTicking,
} from '../../ui/basic.tsx';
import { Drawer, FormDialog } from '../../ui/dialog.tsx';
import { attempt } from '../../ui/toast.tsx';

const isFull = ({ concurrent, active }: Limit): boolean => concurrent !== undefined && active >= concurrent;

export default function Limits({ name }: { readonly name: string | undefined }) {
  const may = useMay('operator');
  const limits = useResource('limits', (signal) => client.call('listLimits', { signal }), {
    everyMs: 2_000,
    on: ({ kind }) => kind === 'claimed' || kind === 'completed',
    atMostMs: 1_000,
  });
  const [creating, setCreating] = useState(false);
  return (
    <Page
      title="Limits"
      about="How many may run at once or in a time, all over the cluster. What is over a limit waits and slows nothing else."
      actions={
        may && (
          <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
            Create a limit
          </Button>
        )
      }
    >
      <Awaited of={limits}>
        {(data) =>
          data.limits.length === 0 ? (
            <div className="panel">
              <Empty icon="limits" title="No limits">
                <p>
                  A limit holds back tasks that name it: three at a time for an API, ten a minute, one for each
                  customer.
                </p>
                <Command text="npx leasehold limits set claude --concurrent 3" />
                <Command text={`npx leasehold push echo '{}' --limit claude`} />
              </Empty>
            </div>
          ) : (
            <div className="panel table-wrap">
              <table className="table">
                <thead>
                  <tr>
                    <th>Name</th>
                    <th className="num">Limit</th>
                    <th className="num">Active</th>
                    <th>In use</th>
                    <th className="num">Waiting</th>
                    <th className="wide-only">Rate</th>
                    <th className="wide-only">Changed</th>
                  </tr>
                </thead>
                <tbody>
                  {data.limits.map((limit) => (
                    <tr key={limit.name}>
                      <td>
                        <Link to={`/limits/${segment(limit.name)}`} className="strong break">
                          {limit.name}
                        </Link>
                      </td>
                      <td className="num">
                        {limit.concurrent ?? '–'}
                        {limit.perKey !== undefined && <span className="quiet nowrap"> · {limit.perKey} a key</span>}
                      </td>
                      <td className="num">{limit.active}</td>
                      <td>
                        {limit.concurrent === undefined ? (
                          <span className="quiet">–</span>
                        ) : (
                          <span className="row">
                            <span className="in-use">
                              <Meter
                                value={limit.active}
                                max={limit.concurrent}
                                label={`${limit.active} of ${limit.concurrent}`}
                                tone={isFull(limit) ? 's-attention' : 's-running'}
                              />
                            </span>
                            {isFull(limit) && <State state="paused" label="at limit" />}
                          </span>
                        )}
                      </td>
                      <td className="num">
                        {limit.waiting === 0 ? <span className="quiet">0</span> : limit.waiting.toLocaleString('en')}
                      </td>
                      <td className="wide-only nowrap">
                        {limit.rate === undefined ? (
                          <span className="quiet">–</span>
                        ) : (
                          `${limit.rate.max} in ${limit.rate.window}${limit.rate.perKey ? ', a key' : ''}`
                        )}
                      </td>
                      <td className="wide-only quiet nowrap">
                        <Time at={limit.changedAt} /> by {limit.changedBy}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Awaited>
      {creating && <EditDialog onClose={() => setCreating(false)} onDone={limits.refresh} />}
      {name !== undefined && <LimitDrawer key={name} name={name} onChanged={limits.refresh} />}
    </Page>
  );
}

function boundsText(limit: {
  readonly concurrent?: number | undefined;
  readonly perKey?: number | undefined;
  readonly rate?: { readonly max: number; readonly window: string } | undefined;
  readonly cost?: { readonly max: number; readonly window: string } | undefined;
  readonly strategy?: string;
  readonly backlog?: number | undefined;
}): string {
  return (
    [
      limit.concurrent === undefined ? '' : `${limit.concurrent} at once`,
      limit.perKey === undefined ? '' : `${limit.perKey} for each key`,
      limit.rate === undefined ? '' : `${limit.rate.max} in ${limit.rate.window}`,
      limit.cost === undefined ? '' : `cost ${limit.cost.max} in ${limit.cost.window}`,
      limit.backlog === undefined ? '' : `${limit.backlog} may wait`,
      limit.strategy === undefined || limit.strategy === 'queue' ? '' : limit.strategy.replace('_', ' '),
    ]
      .filter((part) => part !== '')
      .join(', ') || 'no bound'
  );
}

function LimitDrawer({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const may = useMay('operator');
  const detail = useResource(`limit ${name}`, (signal) => client.call('getLimit', { params: { name }, signal }), {
    everyMs: 2_000,
  });
  const holders = useHolders(name);
  const [asking, setAsking] = useState<'edit' | 'pause' | 'remove'>();
  const changed = (): void => {
    detail.refresh();
    onChanged();
  };
  return (
    <Drawer title={name} onClose={() => go('/limits')}>
      <Awaited of={detail}>
        {(data) => (
          <>
            {may && (
              <div className="buttons">
                <Button small icon="edit" onClick={() => setAsking('edit')}>
                  Edit
                </Button>
                {data.pausedUntil === undefined ? (
                  <Button small icon="pause" onClick={() => setAsking('pause')}>
                    Pause
                  </Button>
                ) : (
                  <Button
                    small
                    icon="play"
                    kind="primary"
                    onClick={() =>
                      attempt(
                        () => client.call('resumeLimit', { params: { name }, body: {} }).then(changed),
                        `${name} is open again.`,
                      )
                    }
                  >
                    Resume
                  </Button>
                )}
                <Button small icon="trash" kind="danger" onClick={() => setAsking('remove')}>
                  Remove
                </Button>
              </div>
            )}
            {data.pausedUntil !== undefined && <State state="paused" label="Paused" why={undefined} />}
            {data.pausedUntil !== undefined && (
              <p className="quiet">
                Nothing that takes from it starts for <Countdown to={data.pausedUntil} over="a moment" />.
              </p>
            )}
            <Panel title="Now">
              <div className="panel-body stack">
                {data.concurrent !== undefined && (
                  <Meter
                    value={data.active}
                    max={data.concurrent}
                    label={`${data.active} of ${data.concurrent}`}
                    tone={isFull(data) ? 's-attention' : 's-running'}
                  />
                )}
                <KeyValues
                  of={[
                    [
                      'At once',
                      data.concurrent === undefined
                        ? 'no bound'
                        : `${data.active} of ${data.concurrent}${isFull(data) ? ', at the limit' : ''}`,
                    ],
                    data.perKey !== undefined && ['For each key', data.perKey],
                    data.rate !== undefined && ['Rate', <RateMeter key="r" of={data} />],
                    data.cost !== undefined && ['Cost', `${data.cost.max} in ${data.cost.window}`],
                    ['Waiting', plural(data.waiting, 'ready task')],
                    ['When it is full', data.strategy.replace('_', ' ')],
                    data.freesAt !== undefined && [
                      'Has room in',
                      <Countdown key="f" to={data.freesAt} over="a moment" />,
                    ],
                  ]}
                />
              </div>
            </Panel>
            {data.keys.length > 0 && (
              <Panel title="Keys" count={data.keys.length}>
                <div className="table-wrap">
                  <table className="table">
                    <thead>
                      <tr>
                        <th>Key</th>
                        <th className="num">In use</th>
                        <th>State</th>
                      </tr>
                    </thead>
                    <tbody>
                      {data.keys.map((key) => (
                        <tr key={key.key}>
                          <td className="break">{key.key}</td>
                          <td className="num">
                            {key.used}
                            {key.cap === undefined ? '' : ` of ${key.cap}`}
                          </td>
                          <td>
                            {key.pausedUntil !== undefined ? (
                              <>
                                paused for <Countdown to={key.pausedUntil} />
                              </>
                            ) : key.freesAt !== undefined ? (
                              <>
                                frees in <Countdown to={key.freesAt} />
                              </>
                            ) : (
                              <span className="quiet">open</span>
                            )}
                          </td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
                {data.moreKeys && <div className="panel-body quiet">There are more.</div>}
              </Panel>
            )}
            <Panel title="Who holds it" count={holders.length}>
              {holders.length === 0 ? (
                <div className="panel-body quiet">Nobody at present.</div>
              ) : (
                <div className="table-wrap">
                  <table className="table">
                    <thead>
                      <tr>
                        <th>Task</th>
                        <th>Handler</th>
                        <th>Worker</th>
                        <th className="num">Started</th>
                      </tr>
                    </thead>
                    <tbody>
                      {holders.map((task) => (
                        <tr key={task.id}>
                          <td>
                            <Link to={`/tasks/${segment(task.id)}`} className="link mono">
                              …{task.id.slice(-8)}
                            </Link>
                          </td>
                          <td className="break">{task.handler}</td>
                          <td className="break">{task.worker ?? '–'}</td>
                          <td className="num">{task.startedAt === undefined ? '–' : <Time at={task.startedAt} />}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
              )}
            </Panel>
            <Panel title="History">
              <ul className="history panel-body">
                {data.history.map((entry) => (
                  <li key={`${entry.at} ${boundsText(entry.limit ?? {})}`}>
                    <span className="quiet nowrap">
                      <Time at={entry.at} />
                    </span>
                    <span className="break">
                      <b className="strong">{entry.limit === undefined ? 'removed' : boundsText(entry.limit)}</b>{' '}
                      <span className="quiet">by {entry.by}</span>
                    </span>
                  </li>
                ))}
              </ul>
            </Panel>
          </>
        )}
      </Awaited>
      {asking === 'edit' && detail.data && (
        <EditDialog of={detail.data} onClose={() => setAsking(undefined)} onDone={changed} />
      )}
      {asking === 'pause' && <PauseDialog name={name} onClose={() => setAsking(undefined)} onDone={changed} />}
      {asking === 'remove' && (
        <FormDialog
          title={`Remove ${name}`}
          submit="Remove the limit"
          danger
          onClose={() => setAsking(undefined)}
          act={() =>
            client.call('removeLimit', { params: { name } }).then(() => {
              onChanged();
              go('/limits');
            })
          }
        >
          <p>
            Nothing is held back by it any more:{' '}
            {detail.data === undefined ? 'what waits for it' : plural(detail.data.waiting, 'task')} may start at once.
          </p>
        </FormDialog>
      )}
    </Drawer>
  );
}

type Held = AnswerOf<'listTasks'>['tasks'][number];
const takesFrom =
  (name: string) =>
  ({ limits }: Held): boolean =>
    limits?.some((limit) => limit.name === name) ?? false;

/** Running tasks that take from it, found among the newest that run. */
function useHolders(name: string) {
  const { data } = useResource(
    'running',
    (signal) => client.call('listTasks', { query: { state: ['running'], limit: 200 }, signal }),
    { everyMs: 4_000 },
  );
  return data?.tasks.filter(takesFrom(name)).slice(0, 50) ?? [];
}

/** How much of its rate is used, as far as the newest tasks tell. */
function RateMeter({ of: { name, rate } }: { readonly of: LimitDetail }) {
  const windowMs = millisecondsOf(rate?.window ?? '');
  const { data } = useResource('newest', (signal) => client.call('listTasks', { query: { limit: 500 }, signal }), {
    everyMs: 4_000,
  });
  const now = useTicking((at) => Math.floor(at / 1000) * 1000);
  if (rate === undefined) return null;
  const started =
    data?.tasks.filter((task) => takesFrom(name)(task) && (task.startedAt ?? 0) > now - windowMs).length ?? 0;
  const text = `${started} of ${rate.max} in the last ${rate.window}`;
  return (
    <span className="stack tight">
      <span title="Counted among the newest tasks">
        {text}
        {rate.burst === rate.max ? '' : `, at most ${rate.burst} at once`}
        {rate.perKey ? ', for each key' : ''}
      </span>
      {!rate.perKey && (
        <Meter value={started} max={rate.max} label={text} tone={started >= rate.max ? 's-attention' : 's-running'} />
      )}
    </span>
  );
}

const STRATEGIES = {
  queue: 'they wait',
  refuse: 'the push is refused',
  cancel_oldest: 'the oldest is cancelled',
  replace_pending: 'only the newest waits',
} as const;

function EditDialog({
  of,
  onClose,
  onDone,
}: {
  readonly of?: LimitDetail;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [name, setName] = useState(of?.name ?? '');
  // What the fields were filled from: the limit itself is looked at again while they are open.
  const [ifRevision] = useState(of?.revision);
  const [concurrent, setConcurrent] = useState(of?.concurrent?.toString() ?? (of === undefined ? '1' : ''));
  const [perKey, setPerKey] = useState(of?.perKey?.toString() ?? '');
  const [max, setMax] = useState(of?.rate?.max.toString() ?? '');
  const [window, setWindow] = useState(of?.rate?.window ?? '1m');
  const [strategy, setStrategy] = useState<keyof typeof STRATEGIES>(
    (of?.strategy as keyof typeof STRATEGIES | undefined) ?? 'queue',
  );
  const number = (text: string): number | null => (text.trim() === '' ? null : Number(text));
  const wrong =
    [concurrent, perKey, max].some((text) => text.trim() !== '' && !(Number(text) >= 0)) ||
    (concurrent.trim() === '' && perKey.trim() === '' && max.trim() === '');
  return (
    <FormDialog
      title={of === undefined ? 'Create a limit' : `Edit ${of.name}`}
      submit={of === undefined ? 'Create it' : 'Change the limit'}
      disabled={name.trim() === '' || wrong}
      onClose={onClose}
      act={async () => {
        const rate =
          max.trim() === ''
            ? null
            : { max: Number(max), window: window.trim(), ...(of?.rate?.perKey ? { perKey: true } : {}) };
        const bounds = { concurrent: number(concurrent), perKey: number(perKey), rate, strategy };
        if (of === undefined) await client.call('createLimit', { body: { name: name.trim(), ...bounds } });
        else await client.call('editLimit', { params: { name: of.name }, body: { ...bounds, ifRevision } });
        onDone();
      }}
    >
      {of === undefined && (
        <Field label="Name" hint="Tasks name it when they are pushed">
          {(props) => (
            <input
              {...props}
              className="input"
              value={name}
              onChange={(event) => setName(event.target.value)}
              placeholder="claude"
              autoComplete="off"
            />
          )}
        </Field>
      )}
      <div className="fields two">
        <Field label="At once" hint="Empty: no bound">
          {(props) => (
            <input
              {...props}
              className="input"
              inputMode="numeric"
              value={concurrent}
              onChange={(event) => setConcurrent(event.target.value)}
            />
          )}
        </Field>
        <Field label="For each key" hint="For tasks that name one">
          {(props) => (
            <input
              {...props}
              className="input"
              inputMode="numeric"
              value={perKey}
              onChange={(event) => setPerKey(event.target.value)}
            />
          )}
        </Field>
        <Field label="So many" hint="that start">
          {(props) => (
            <input
              {...props}
              className="input"
              inputMode="decimal"
              value={max}
              onChange={(event) => setMax(event.target.value)}
              placeholder="no rate"
            />
          )}
        </Field>
        <Field label="in" hint="a time such as 1m">
          {(props) => (
            <input {...props} className="input" value={window} onChange={(event) => setWindow(event.target.value)} />
          )}
        </Field>
      </div>
      <Field label="When it is full">
        {(props) => (
          <select
            {...props}
            className="input"
            value={strategy}
            onChange={(event) => setStrategy(event.target.value as keyof typeof STRATEGIES)}
          >
            {Object.entries(STRATEGIES).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      {of !== undefined && (
        <p className="quiet">Lowering it drains: nothing more starts until there is room, and nothing is stopped.</p>
      )}
    </FormDialog>
  );
}

function PauseDialog({
  name,
  onClose,
  onDone,
}: {
  readonly name: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [time, setTime] = useState('10m');
  return (
    <FormDialog
      title={`Pause ${name}`}
      submit="Pause it"
      onClose={onClose}
      disabled={time.trim() === ''}
      act={() => client.call('pauseLimit', { params: { name }, body: { for: time.trim() } }).then(onDone)}
    >
      <p>Nothing that takes from it starts for so long; what runs goes on. For an API that says “too many requests”.</p>
      <Field label="For" hint="30s, 10m, 1h">
        {(props) => (
          <input {...props} className="input short" value={time} onChange={(event) => setTime(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
