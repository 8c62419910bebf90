/** The panel of a task's log: its lines, the search in them, and whether it follows the end. */

import { useEffect, useMemo, useRef, useState } from 'react';
import { useSignal } from '../../live/signal.ts';
import { TaskLog } from '../../live/task-log.ts';
import { shortId } from '../../model/text.ts';
import { Link, segment } from '../../router.tsx';
import { Button, CopyButton } from '../buttons.tsx';
import { Icon } from '../icon.tsx';
import { Empty, ErrorNote } from '../states.tsx';
import { LogLines, type Pin } from './log-lines.tsx';
import { textOf } from './log-text.tsx';

/** The log of a task, from its beginning, followed while it is written. */
export function useTaskLog(id: string, live: boolean): TaskLog | undefined {
  const [log, setLog] = useState<TaskLog>();
  useEffect(() => {
    const made = new TaskLog(id);
    setLog(made);
    return () => made.close();
  }, [id]);
  useEffect(() => {
    if (live) log?.again();
  }, [live, log]);
  return log;
}

/** A time within the log, until now if it goes on. */
export interface LogSpan {
  readonly from: number;
  readonly until: number | undefined;
}

/** The panel follows the end until somebody scrolls up, or chooses a time. */
export function LogView({
  log,
  live,
  of,
  span,
  pinned,
  onLine,
}: {
  readonly log: TaskLog;
  readonly live: boolean;
  /** Whose log it is, where that is not plain. */
  readonly of?: string | undefined;
  /** Lines of this time are marked. */
  readonly span?: LogSpan | undefined;
  /** Lines of this time come into view. */
  readonly pinned?: LogSpan | undefined;
  /** Called with the time of the line under the pointer. */
  readonly onLine?: ((at: number | undefined) => void) | undefined;
}) {
  const { lines, dropped, lost, error, state } = useSignal(log.state);
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  const [pin, setPin] = useState<Pin>('end');
  const from = pinned?.from;
  const newest = useRef({ lines, dropped });
  newest.current = { lines, dropped };
  const isRead = state !== 'reading' || lines.length > 0;
  useEffect(() => {
    if (from === undefined || !isRead) return;
    const at = newest.current.lines.findIndex((line) => line.at >= from);
    if (at !== -1) setPin({ line: newest.current.dropped + at });
  }, [from, isRead]);
  const plain = useMemo(() => (search === '' ? [] : lines.map((line) => textOf(line))), [lines, search]);
  const hits = useMemo(() => {
    const word = search.toLowerCase();
    return word === '' ? [] : plain.flatMap((text, i) => (text.toLowerCase().includes(word) ? [i] : []));
  }, [plain, search]);
  const jump = (by: number): void => {
    if (hits.length === 0) return;
    const next = (at + by + hits.length) % hits.length;
    setAt(next);
    setPin({ line: dropped + (hits[next] as number) });
  };
  if (error !== undefined && lines.length === 0) return <ErrorNote error={error} retry={() => log.again()} />;
  return (
    <section className="panel log" aria-label="Log">
      <div className="panel-head">
        <h2>Log</h2>
        {of !== undefined && (
          <Link to={`/tasks/${segment(of)}`} className="link mono" title={of}>
            {shortId(of)}
          </Link>
        )}
        <span className="count">{(dropped + lines.length).toLocaleString('en')}</span>
        {live && state === 'reading' && (
          <span className="state s-running">
            <span className="dot" />
            live
          </span>
        )}
        <div className="grow" />
        <div className="row">
          <input
            className="input short"
            style={{ minHeight: 26 }}
            type="search"
            aria-label="Search the log"
            placeholder="Search"
            data-filter
            value={search}
            onChange={(event) => {
              setSearch(event.target.value);
              setAt(0);
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter') jump(event.shiftKey ? -1 : 1);
              if (event.key === 'Escape') setSearch('');
            }}
          />
          {search !== '' && (
            <span className="quiet nowrap" role="status">
              {hits.length === 0 ? 'none' : `${at + 1} of ${hits.length}`}
            </span>
          )}
          <CopyButton text={() => lines.slice(-5000).map(textOf).join('\n')} label="Copy the log" />
        </div>
      </div>
      {lines.length === 0 ? (
        <Empty icon="events" title={live ? 'No lines yet' : 'No lines'}>
          <p>What the task prints appears here, line by line.</p>
        </Empty>
      ) : (
        <LogLines
          lines={lines}
          dropped={dropped}
          search={search}
          hit={hits[at]}
          span={span}
          pin={pin}
          onLine={onLine}
          onScrolled={(atEnd) => setPin(atEnd ? 'end' : undefined)}
        />
      )}
      {pin !== 'end' && lines.length > 0 && live && (
        <div className="follow">
          <Button small icon="down" onClick={() => setPin('end')}>
            Follow
          </Button>
        </div>
      )}
      {lost > 0 && (
        <p className="quiet" style={{ padding: '6px 16px' }}>
          <Icon name="info" size={12} /> {lost.toLocaleString('en')} lines were beyond the bound of a log and are not
          kept.
        </p>
      )}
      {dropped > 0 && (
        <p className="quiet" style={{ padding: '6px 16px' }}>
          <Icon name="info" size={12} /> {dropped.toLocaleString('en')} older lines are not shown here.
        </p>
      )}
    </section>
  );
}
