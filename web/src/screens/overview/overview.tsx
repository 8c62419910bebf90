import { lazy, Suspense } from 'react';
import { client, type Overview as OverviewData } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { duration } from '../../model/time.ts';
import { Link, segment } from '../../router.tsx';
import { Awaited, Empty, Page, Panel, plural, Time } from '../../ui/basic.tsx';
import { Icon, StateGlyph } from '../../ui/icon.tsx';
import { FirstRun, useFirstRun } from './first-run.tsx';

const Chart = lazy(() => import('../../ui/chart.tsx'));

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function Overview() {
  const overview = useResource('overview', (signal) => client.call('overview', { signal }), {
    everyMs: 5_000,
    on: ({ kind }) => kind !== 'beat',
    atMostMs: 1_000,
  });
  const guide = useFirstRun(overview.data);
  return (
    <Page title="Overview">
      <Awaited of={overview} rows={8}>
        {(data) => (
          <>
            <section className={`panel sentence s-${data.health}`} aria-label="Health">
              <StateGlyph state={data.health} />
              <p className="break">{data.sentence}</p>
            </section>
            {guide.shown && <FirstRun guide={guide} />}
            <Figures of={data} />
            {data.held.length > 0 && <Held of={data} />}
            <Charts of={data} />
            <div className="cols">
              <Incidents of={data} />
              <Fleet of={data} />
            </div>
          </>
        )}
      </Awaited>
    </Page>
  );
}

function Figures({ of: { tasks, slots, approvals, oldestAgeMs } }: { readonly of: OverviewData }) {
  const figures = [
    ['running', tasks.running, '/tasks?state=running'],
    ['ready', tasks.ready, '/tasks?state=ready'],
    ['scheduled', tasks.scheduled, '/tasks?state=scheduled'],
    ['waiting', tasks.waiting, '/tasks?state=waiting'],
    ['completed', tasks.completed, '/tasks?state=completed'],
    ['failed', tasks.failed, '/failed'],
  ] as const;
  return (
    <div className="figures">
      {figures.map(([state, n, to]) => (
        <Link key={state} to={to} className="figure">
          <b title={n.toLocaleString('en')}>{n >= 100_000 ? compact.format(n) : n.toLocaleString('en')}</b>
          <span className={`state s-${state}`}>
            <StateGlyph state={state} />
            {state}
          </span>
        </Link>
      ))}
      <Link to="/workers" className="figure">
        <b>
          {slots.busy}
          <span className="quiet"> / {slots.all}</span>
        </b>
        <span>slots in use</span>
      </Link>
      <Link to="/tasks?state=ready" className="figure">
        <b>{oldestAgeMs === 0 ? '–' : duration(oldestAgeMs).split(' ')[0]}</b>
        <span>longest wait</span>
      </Link>
      {approvals > 0 && (
        <Link to="/approvals" className="figure">
          <b>{approvals}</b>
          <span>to decide</span>
        </Link>
      )}
    </div>
  );
}

const WHY = { limit: 'limits', placement: 'workers', paused: 'pause', busy: 'clock', nobody: 'workers' } as const;

function Held({ of: { held } }: { readonly of: OverviewData }) {
  return (
    <Panel title="Why tasks wait">
      <ul className="held">
        {held.map((one) => {
          const to =
            one.why === 'limit' && one.name
              ? `/limits/${segment(one.name)}`
              : one.why === 'paused' && one.name
                ? `/queues/${segment(one.name)}`
                : '/workers';
          return (
            <li key={one.text}>
              <Icon name={WHY[one.why]} className="quiet" />
              <span className="grow break">{one.text}</span>
              <Link to={to} className="link nowrap">
                {one.why === 'limit' ? 'Limit' : one.why === 'paused' ? 'Queue' : 'Workers'}
              </Link>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

const rate = (value: number): string => (value >= 100 ? compact.format(value) : `${Math.round(value * 100) / 100}`);

function Charts({ of: { series } }: { readonly of: OverviewData }) {
  const { stepMs, until } = series;
  const last = (values: readonly (number | null)[]): number => values.findLast((value) => value !== null) ?? 0;
  const waiting = [
    { label: 'ready', colour: '--ready', values: series.waiting },
    { label: 'running', colour: '--running', values: series.running },
  ];
  const throughput = [
    { label: 'completed', colour: '--completed', values: series.completed },
    { label: 'failed', colour: '--failed', values: series.failed },
  ];
  const all = [
    {
      title: 'Ended a second',
      lines: throughput,
      format: rate,
      says: `${rate(last(series.completed))} tasks complete a second, ${rate(last(series.failed))} fail`,
    },
    {
      title: 'Ready and running',
      lines: waiting,
      format: (value: number) => compact.format(value),
      says: `${last(series.waiting)} ready, ${last(series.running)} running`,
    },
    {
      title: 'Age of the oldest',
      lines: [{ label: 'age', colour: '--waiting', values: series.ageMs }],
      format: (value: number) => duration(value).split(' ')[0] as string,
      least: 5_000,
      says: `The oldest ready task has waited ${duration(last(series.ageMs))}`,
    },
  ];
  return (
    <div className="cols three">
      {all.map(({ title, lines, format, says, least }) => (
        <Panel
          key={title}
          title={title}
          actions={
            <span className="legend">
              {lines.map(({ label, colour }) => (
                <span key={label}>
                  <i style={{ background: `var(${colour})` }} />
                  {label}
                </span>
              ))}
            </span>
          }
        >
          {lines.every(({ values }) => values.filter((value) => value !== null).length < 2) ? (
            <div className="chart empty">
              <p>Figures come with the first minutes.</p>
            </div>
          ) : (
            <Suspense fallback={<div className="chart" />}>
              <Chart
                lines={lines}
                until={until}
                stepMs={stepMs}
                format={format}
                {...(least === undefined ? {} : { least })}
                label={`${title}, the last hour. ${says}.`}
              />
            </Suspense>
          )}
        </Panel>
      ))}
    </div>
  );
}

const INCIDENT = {
  'lease expired': 'attention',
  failed: 'failed',
  'worker lost': 'lost',
  'leader changed': 'draining',
} as const;

function Incidents({ of: { incidents } }: { readonly of: OverviewData }) {
  return (
    <Panel title="What went wrong lately">
      {incidents.length === 0 ? (
        <Empty icon="check" title="Nothing did">
          <p>Leases that run out, workers that fall silent, tasks that fail and changes of the leader are told here.</p>
        </Empty>
      ) : (
        <ul className="incidents">
          {incidents.slice(0, 10).map(({ seq, at, kind, text, task, worker }) => {
            const to =
              task !== undefined
                ? `/tasks/${segment(task)}`
                : worker !== undefined
                  ? `/workers/${segment(worker)}`
                  : '/cluster';
            return (
              <li key={`${seq} ${text}`} className={`s-${INCIDENT[kind]}`}>
                <StateGlyph state={INCIDENT[kind]} />
                <Link to={to} className="cut" title={text}>
                  {text}
                </Link>
                <span className="quiet">
                  <Time at={at} />
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}

function Fleet({ of: { workers, leader } }: { readonly of: OverviewData }) {
  const rows = (['online', 'draining', 'disabled', 'offline'] as const).filter(
    (state) => state === 'online' || workers[state] > 0,
  );
  return (
    <Panel title="Fleet">
      <ul className="held">
        {rows.map((state) => (
          <li key={state}>
            <span className={`state s-${state}`}>
              <StateGlyph state={state} />
              {plural(workers[state], 'worker')} {state}
            </span>
          </li>
        ))}
        <li>
          <Icon name="leader" className="quiet" />
          <span className="grow cut">
            {leader === undefined ? (
              'No node leads at this moment'
            ) : (
              <>
                The node <code>{leader}</code> leads
              </>
            )}
          </span>
          <Link to="/cluster" className="link">
            Cluster
          </Link>
        </li>
      </ul>
    </Panel>
  );
}
