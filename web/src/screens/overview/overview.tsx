/** The first screen: the health of the cluster in one sentence, counts, charts, incidents and the fleet. */

import { client, type Overview as OverviewData } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { plural } from '../../model/text.ts';
import { duration } from '../../model/time.ts';
import { Link, segment } from '../../router.tsx';
import { Icon, StateGlyph } from '../../ui/icon.tsx';
import { Page, Panel } from '../../ui/layout.tsx';
import { Empty, WhenLoaded } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { Charts } from './charts.tsx';
import { compact } from './compact.ts';
import { FirstRun, useFirstRun } from './first-run.tsx';

export function Overview() {
  const overview = useResource('overview', (signal) => client.call('overview', { signal }), {
    everyMs: 5_000,
    on: ({ kind }) => kind !== 'beat',
    atMostMs: 1_000,
  });
  const guide = useFirstRun(overview.data);
  return (
    <Page title="Overview">
      <WhenLoaded of={overview} rows={8}>
        {(data) => (
          <>
            <section className={`panel sentence s-${data.health}`} aria-label="Health">
              <StateGlyph state={data.health} />
              <p className="break">{data.sentence}</p>
            </section>
            {guide.shown && <FirstRun guide={guide} />}
            <Figures of={data} />
            {data.held.length > 0 && <WaitReasons of={data} />}
            <Charts of={data} />
            <div className="cols">
              <Incidents of={data} />
              <Fleet of={data} />
            </div>
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

export function Figures({ of: { tasks, slots, approvals, oldestAgeMs } }: { readonly of: OverviewData }) {
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

const REASON_ICONS = {
  limit: 'limits',
  placement: 'workers',
  paused: 'pause',
  busy: 'clock',
  nobody: 'workers',
} as const;

function WaitReasons({ of: { held } }: { readonly of: OverviewData }) {
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
              <Icon name={REASON_ICONS[one.why]} className="quiet" />
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

const INCIDENT_STATES = {
  'lease expired': 'attention',
  failed: 'failed',
  'worker lost': 'lost',
  'leader changed': 'draining',
  'requirement unmet': 'draining',
} as const;

function Incidents({ of: { incidents } }: { readonly of: OverviewData }) {
  return (
    <Panel title="Recent incidents">
      {incidents.length === 0 ? (
        <Empty icon="check" title="No incidents">
          <p>Expired leases, lost workers, failed tasks and changes of the leader appear here.</p>
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
              <li key={`${seq} ${text}`} className={`s-${INCIDENT_STATES[kind]}`}>
                <StateGlyph state={INCIDENT_STATES[kind]} />
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
