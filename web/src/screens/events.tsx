/** The screen of events: the feed as a table, with filters and a pause. */

import { useEffect, useRef, useState } from 'react';
import { client, type FeedEvent } from '../api.ts';
import { listen, recentEvents } from '../live/feed.ts';
import { shortId } from '../model/text.ts';
import { go, Link, segment, setQuery, useLocation } from '../router.tsx';
import { Button } from '../ui/buttons.tsx';
import { Icon } from '../ui/icon.tsx';
import { Page } from '../ui/layout.tsx';
import { Empty, State } from '../ui/states.tsx';
import { Time } from '../ui/times.tsx';
import { type Column, VirtualTable } from '../ui/virtual-table.tsx';

const KINDS = [
  'created',
  'staged',
  'claimed',
  'completed',
  'failed',
  'cancelled',
  'budget_warned',
  'retried',
  'released',
  'expired',
  'timed_out',
  'cancel_requested',
  'parked',
  'woken',
  'revived',
  'registered',
  'beat',
];
const MAX_EVENTS = 5000;

const COLUMNS: readonly Column<FeedEvent>[] = [
  { head: 'No.', track: '76px', num: true, cell: ({ seq }) => <span className="quiet">{seq}</span> },
  { head: 'Time', track: '96px', cell: ({ at }) => <Time at={at} clock /> },
  {
    head: 'Event',
    track: 'minmax(110px, 150px)',
    cell: ({ kind }) => (
      <span className={kind === 'expired' || kind === 'failed' || kind === 'timed_out' ? 'bad strong' : 'strong'}>
        {kind.replaceAll('_', ' ')}
      </span>
    ),
  },
  { head: 'Task or worker', track: 'minmax(140px, 2fr)', cell: (event) => <Subject event={event} /> },
  { head: 'Queue', track: 'minmax(80px, 1fr)', cell: ({ queue }) => queue ?? <span className="quiet">–</span> },
  {
    head: 'State after',
    track: '116px',
    cell: ({ state }) => (state === undefined ? <span className="quiet">–</span> : <State state={state} />),
  },
  {
    head: 'Attempt',
    track: '58px',
    num: true,
    cell: ({ attempt }) => (attempt ? attempt : <span className="quiet">–</span>),
  },
  {
    head: 'Also known as',
    track: 'minmax(110px, 2fr)',
    cell: ({ words, kind }) => <span className="quiet">{words.filter((word) => word !== kind).join(', ')}</span>,
  },
];

function Subject({ event: { task, worker } }: { readonly event: FeedEvent }) {
  if (task !== undefined)
    return (
      <Link to={`/tasks/${segment(task)}`} className="link mono" title={task}>
        {shortId(task)}
      </Link>
    );
  return worker === undefined ? (
    <span className="quiet">–</span>
  ) : (
    <Link to={`/workers/${segment(worker)}`} className="link">
      {worker}
    </Link>
  );
}

export default function Events() {
  const { query } = useLocation();
  const search = new URLSearchParams(query);
  const kinds = search.getAll('kind').filter((kind) => KINDS.includes(kind));
  const text = search.get('text') ?? '';
  const all = useRef<readonly FeedEvent[]>([]);
  const [shown, setShown] = useState<readonly FeedEvent[]>([]);
  const [paused, setPaused] = useState(false);
  const [scrolledAway, setScrolledAway] = useState(false);
  const [missed, setMissed] = useState(0);
  const frozen = paused || scrolledAway;
  const frozenNow = useRef(frozen);
  frozenNow.current = frozen;
  const newestShown = useRef(0);
  newestShown.current = shown[0]?.seq ?? 0;

  useEffect(() => {
    const end = new AbortController();
    const addEvents = (events: readonly FeedEvent[]): void => {
      const known = new Set(all.current.slice(0, 1000).map(({ seq }) => seq));
      all.current = [...events.filter(({ seq }) => !known.has(seq)), ...all.current]
        .sort((a, b) => b.seq - a.seq)
        .slice(0, MAX_EVENTS);
      if (!frozenNow.current) setShown(all.current);
      else setMissed(all.current.filter(({ seq, kind }) => seq > newestShown.current && kind !== 'beat').length);
    };
    addEvents(recentEvents);
    // The last events before now, so that the page does not begin empty.
    client
      .call('readEvents', { signal: end.signal })
      .then(({ last }) =>
        client.call('readEvents', { query: { after: Math.max(0, last - 300), limit: 300 }, signal: end.signal }),
      )
      .then(
        ({ events }) => addEvents(events),
        () => {},
      );
    const unlisten = listen(addEvents);
    return () => {
      end.abort();
      unlisten();
    };
  }, []);
  useEffect(() => {
    if (!frozen) setShown(all.current);
    setMissed(0);
  }, [frozen]);

  const set = (nextKinds: readonly string[], nextText: string): void => {
    const next = new URLSearchParams();
    for (const kind of nextKinds) next.append('kind', kind);
    if (nextText !== '') next.set('text', nextText);
    setQuery(next.toString());
  };
  const word = text.toLowerCase();
  const rows = shown.filter(
    (event) =>
      (kinds.length === 0 ? event.kind !== 'beat' : kinds.includes(event.kind)) &&
      (word === '' ||
        `${event.task ?? ''} ${event.queue ?? ''} ${event.worker ?? ''} ${event.words.join(' ')} ${event.state ?? ''}`
          .toLowerCase()
          .includes(word)),
  );
  return (
    <Page
      title="Events"
      about="Everything that happens, in order. Beats of workers are shown only when you filter for them."
      actions={
        <Button icon={paused ? 'play' : 'pause'} aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? 'Resume' : 'Pause'}
        </Button>
      }
    >
      <div className="filterbar">
        <div className="combo">
          <Icon name="search" size={14} />
          <input
            data-filter
            className="input"
            type="search"
            aria-label="Filter by task, queue, worker or word"
            placeholder="Task, queue, worker or word"
            value={text}
            onChange={(event) => set(kinds, event.target.value)}
          />
          {text === '' && <kbd>/</kbd>}
        </div>
        <select
          className="input"
          style={{ width: 'auto' }}
          aria-label="Add a kind to the filter"
          value=""
          onChange={(event) => event.target.value !== '' && set([...new Set([...kinds, event.target.value])], text)}
        >
          <option value="">Kind …</option>
          {KINDS.filter((kind) => !kinds.includes(kind)).map((kind) => (
            <option key={kind} value={kind}>
              {kind.replaceAll('_', ' ')}
            </option>
          ))}
        </select>
        {kinds.map((kind) => (
          <span key={kind} className="pill">
            <span>kind</span>
            <b>{kind.replaceAll('_', ' ')}</b>
            <button
              type="button"
              aria-label={`Remove ${kind}`}
              onClick={() =>
                set(
                  kinds.filter((one) => one !== kind),
                  text,
                )
              }
            >
              <Icon name="close" size={12} />
            </button>
          </span>
        ))}
      </div>
      {missed > 0 && (
        <div className="newchip">
          <button
            type="button"
            onClick={() => {
              setPaused(false);
              setScrolledAway(false);
              scrollTo({ top: 0 });
            }}
          >
            Paused, {missed} new
          </button>
        </div>
      )}
      {rows.length === 0 ? (
        <div className="panel">
          <Empty icon="events" title={shown.length === 0 ? 'No events yet' : 'No recent event matches'}>
            <p>Events of tasks and workers appear here as they happen.</p>
          </Empty>
        </div>
      ) : (
        <VirtualTable
          label="Events"
          rows={rows}
          keyOf={({ seq }) => String(seq)}
          columns={COLUMNS}
          height={34}
          narrow={(event) => (
            <span className="narrow-row">
              <span className="row">
                <span className="strong">{event.kind.replaceAll('_', ' ')}</span>
                {event.state && <State state={event.state} />}
              </span>
              <span className="quiet">
                <Time at={event.at} clock />
              </span>
              <span className="cut">
                <Subject event={event} />
              </span>
              <span className="quiet cut">{event.queue}</span>
            </span>
          )}
          onOpen={({ task, worker }) =>
            go(task !== undefined ? `/tasks/${segment(task)}` : `/workers/${segment(worker ?? '')}`)
          }
          onScrolledAway={setScrolledAway}
        />
      )}
    </Page>
  );
}
