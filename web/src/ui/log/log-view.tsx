/** The panel of a task's log: its lines, the search in them, and whether it follows the end. */

import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useSignal } from '../../live/signal.ts';
import { TaskLog } from '../../live/task-log.ts';
import { clockTime, exactTime } from '../../model/time.ts';
import { Button, CopyButton } from '../buttons.tsx';
import { Icon } from '../icon.tsx';
import { Empty, ErrorNote } from '../states.tsx';
import { Text, textOf } from './log-text.tsx';

/** The log of a task, from its beginning and as long as it is written. */
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

/** It follows the end until somebody scrolls up. */
export function LogView({ log, live }: { readonly log: TaskLog; readonly live: boolean }) {
  const { lines, dropped, error, state } = useSignal(log.state);
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  const [follow, setFollow] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const plain = useMemo(() => (search === '' ? [] : lines.map((line) => textOf(line))), [lines, search]);
  const hits = useMemo(() => {
    const word = search.toLowerCase();
    return word === '' ? [] : plain.flatMap((text, i) => (text.toLowerCase().includes(word) ? [i] : []));
  }, [plain, search]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => 20,
    overscan: 20,
    getItemKey: (i) => dropped + i,
  });
  useEffect(() => {
    if (follow && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: 'end' });
  }, [lines, follow, virtual]);
  const jump = (by: number): void => {
    if (hits.length === 0) return;
    const next = (at + by + hits.length) % hits.length;
    setAt(next);
    setFollow(false);
    virtual.scrollToIndex(hits[next] as number, { align: 'center' });
  };
  if (error !== undefined && lines.length === 0) return <ErrorNote error={error} retry={() => log.again()} />;
  return (
    <section className="panel log" aria-label="Log">
      <div className="panel-head">
        <h2>Log</h2>
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
          <CopyButton text={lines.slice(-5000).map(textOf).join('\n')} label="Copy the log" />
        </div>
      </div>
      {lines.length === 0 ? (
        <Empty icon="events" title={live ? 'Nothing was written yet' : 'Nothing was written'}>
          <p>What the task prints appears here, line by line, as it comes.</p>
        </Empty>
      ) : (
        <div
          className="log-lines"
          style={{ height: `min(${Math.max(64, virtual.getTotalSize() + 8)}px, 480px, 60vh)` }}
          ref={box}
          tabIndex={0}
          role="log"
          aria-label="Lines"
          onScroll={() => {
            const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = box.current ?? {};
            setFollow(scrollHeight - scrollTop - clientHeight < 40);
          }}
        >
          <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
            {virtual.getVirtualItems().map((item) => {
              const line = lines[item.index];
              if (line === undefined) return null;
              return (
                <div
                  key={item.key}
                  ref={virtual.measureElement}
                  data-index={item.index}
                  className={`log-line ${line.stream === 'stderr' ? 'err' : line.stream === 'system' ? 'sys' : ''} ${hits[at] === item.index ? 'hit' : ''}`}
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  <time title={`${exactTime(line.at)}, attempt ${line.attempt}, ${line.stream}`}>
                    {clockTime(line.at)}
                  </time>
                  <Text line={line} search={search} />
                </div>
              );
            })}
          </div>
        </div>
      )}
      {!follow && lines.length > 0 && live && (
        <div className="follow">
          <Button small icon="down" onClick={() => setFollow(true)}>
            Follow
          </Button>
        </div>
      )}
      {dropped > 0 && (
        <p className="quiet" style={{ padding: '6px 16px' }}>
          <Icon name="info" size={12} /> {dropped.toLocaleString('en')} older lines are not shown here.
        </p>
      )}
    </section>
  );
}
