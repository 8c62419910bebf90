/** Desired and actual workers over time: areas of what workers do, and a line of how many there should be. */

import { type PointerEvent, useState } from 'react';
import type { Pool, PoolDecision, PoolTicket } from '../../api.ts';
import {
  HEIGHT,
  type Point,
  plotOf,
  pointAt,
  pointsOf,
  RANGES,
  type Range,
  rangeFor,
  totalOf,
  WIDTH,
} from '../../model/pool/history.ts';
import { STAFF, STAFF_WORDS, staffText } from '../../model/pool/words.ts';
import { Segmented } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';

const WORDS: Readonly<Record<Range, string>> = { '10m': '10 min', '1h': 'Hour', '1d': 'Day', all: 'All' };

export function HistoryChart({
  decisions,
  starts,
  of: { now, policy },
  readAt,
}: {
  readonly decisions: readonly PoolDecision[];
  readonly starts: readonly PoolTicket[];
  readonly of: Pool;
  readonly readAt: number;
}) {
  const points = pointsOf(decisions, starts, { ...now, at: readAt });
  const [chosen, setChosen] = useState<Range>();
  const range = chosen ?? rangeFor(points, readAt);
  const plot = plotOf(points, range);
  const [hover, setHover] = useState<{ readonly part: number; readonly point: Point }>();
  const move = ({ currentTarget, clientX }: PointerEvent<SVGSVGElement>): void => {
    const box = currentTarget.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (clientX - box.left) / box.width));
    const point = pointAt(plot, part);
    setHover(point && { part, point });
  };
  const shown = hover?.point;
  const most = policy.max <= plot.top ? HEIGHT - (policy.max / plot.top) * HEIGHT : undefined;
  return (
    <Panel
      title="Desired and actual"
      actions={
        <Segmented
          label="How far back"
          options={(Object.keys(RANGES) as Range[]).map((value) => ({ value, label: WORDS[value] }))}
          value={range}
          onChange={setChosen}
        />
      }
    >
      <div className="pool-chart">
        <div className="scale" aria-hidden="true">
          <span>{plot.top.toLocaleString('en')}</span>
          <span>{(plot.top / 2).toLocaleString('en')}</span>
          <span>0</span>
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Workers over time: ${now.want} desired now, and ${staffText(now)}. The decisions below say it in words.`}
          onPointerMove={move}
          onPointerLeave={() => setHover(undefined)}
        >
          <path className="grid" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
          {plot.areas.map(({ kind, path }) => (
            <path key={kind} className={`area p-${kind}`} d={path} />
          ))}
          {most !== undefined && <path className="most" d={`M0 ${most}H${WIDTH}`} />}
          <path className="want" d={plot.want} />
          {hover && <path className="cursor" d={`M${hover.part * WIDTH} 0V${HEIGHT}`} />}
        </svg>
        <div className="ends" aria-hidden="true">
          <span>{timeText(plot.from, plot)}</span>
          <span>{timeText((plot.from + plot.until) / 2, plot)}</span>
          <span>now</span>
        </div>
      </div>
      <p className="pool-legend">
        <span>
          <i className="swatch want" /> desired{shown && ` ${shown.want}`}
        </span>
        {STAFF.map((kind) => (
          <span key={kind}>
            <i className={`swatch p-${kind}`} /> {STAFF_WORDS[kind]}
            {shown && ` ${shown[kind]}`}
          </span>
        ))}
        {most !== undefined && (
          <span>
            <i className="swatch most" /> the most, {policy.max}
          </span>
        )}
        {shown && hover && (
          <span className="strong">
            {new Date(plot.from + hover.part * (plot.until - plot.from)).toTimeString().slice(0, 8)}: {shown.want}{' '}
            desired, {totalOf(shown)} there
          </span>
        )}
      </p>
    </Panel>
  );
}

/** A time of day with as much as the range needs; with its date if that is another day. */
function timeText(at: number, { from, until }: { readonly from: number; readonly until: number }): string {
  const date = new Date(at);
  const time = date.toTimeString().slice(0, until - from < 20 * 60_000 ? 8 : 5);
  if (until - from < 23 * 3_600_000) return time;
  return `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${time}`;
}
