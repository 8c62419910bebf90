/** One row of the waterfall. */

import { memo } from 'react';
import { besideName, hasDetail, type StepRow, tookOf } from '../../model/run/rows.ts';
import type { TimeScale } from '../../model/run/time.ts';
import { duration, exactTime } from '../../model/time.ts';
import { Icon, StateGlyph } from '../../ui/icon.tsx';

/** The height of a row, as in the style sheet. */
export const BAR_ROW = 28;

export const domId = ({ id }: StepRow): string => `row-${id.replaceAll(/[^\w-]/g, (one) => `_${one.codePointAt(0)}`)}`;

export const WaterfallRow = memo(function WaterfallRow({
  row,
  index,
  all,
  scale,
  now,
  live,
  selected,
  lit,
  onHover,
  onSelect,
  onTurn,
  onOpen,
}: {
  readonly row: StepRow;
  readonly index: number;
  readonly all: number;
  readonly scale: TimeScale;
  readonly now: number;
  readonly live: boolean;
  readonly selected: boolean;
  readonly lit: boolean;
  readonly onHover: (row: StepRow) => void;
  readonly onSelect: (row: StepRow) => void;
  readonly onTurn: (id: string) => void;
  readonly onOpen: (row: StepRow) => void;
}) {
  const { name, kind, tone, from, until, level, open, via } = row;
  const left = scale.partOf(from);
  const width = scale.partOf(until ?? now) - left;
  const took = duration(tookOf(row, now));
  const goesOn = until === undefined;
  return (
    <div
      id={domId(row)}
      role="treeitem"
      aria-level={level + 1}
      aria-posinset={index + 1}
      aria-setsize={all}
      aria-selected={selected}
      aria-expanded={open}
      className={`wf-row s-${tone} k-${kind} ${selected ? 'selected' : ''} ${lit ? 'lit' : ''}`}
      style={{ top: index * BAR_ROW }}
      onMouseEnter={() => onHover(row)}
      onClick={() => onSelect(row)}
      onDoubleClick={() => hasDetail(row) && onOpen(row)}
    >
      <span className="wf-name" style={{ paddingInlineStart: Math.min(level, 8) * 14 }}>
        <span
          className={`wf-turn ${open === undefined ? 'none' : open ? 'open' : ''}`}
          onClick={(event) => {
            event.stopPropagation();
            if (open !== undefined) onTurn(row.id);
          }}
          onDoubleClick={(event) => event.stopPropagation()}
        >
          {open !== undefined && <Icon name="right" size={12} />}
        </span>
        <StateGlyph state={kind === 'signal' ? 'online' : tone} />
        <span className="cut" title={via.length === 0 ? name : `${name}, after ${via.join(', ')}`}>
          {name}
        </span>
        <span className="wf-kind">{besideName(row)}</span>
      </span>
      <span className="wf-track">
        <i
          className={`${goesOn && live ? 'live' : ''}`}
          style={{ left: `${Math.min(99.6, left * 100)}%`, width: `max(3px, ${Math.max(0, width) * 100}%)` }}
          title={`${exactTime(from)} – ${goesOn ? 'now' : exactTime(until)}`}
        />
      </span>
      <span className="wf-took">{took}</span>
    </div>
  );
});
