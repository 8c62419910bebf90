/** The histogram of tasks by creation time. Dragging over it selects a range; the select box beside it does the same by keyboard. */

import { type PointerEvent, useRef, useState } from 'react';
import type { Histogram as Data } from '../api.ts';
import { barsOf, brushRange, ticksOf } from '../model/histogram.ts';
import { plural } from '../model/text.ts';
import { exactTime } from '../model/time.ts';

export function Histogram({
  data,
  onBrush,
}: {
  readonly data: Data;
  readonly onBrush: (range: { readonly from: number; readonly until: number }) => void;
}) {
  const svg = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<readonly [number, number]>();
  const [over, setOver] = useState<number>();
  const bars = barsOf(data);
  const positionOf = (event: PointerEvent): number => {
    const box = svg.current?.getBoundingClientRect();
    return box === undefined ? 0 : Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const width = 1000 / Math.max(1, bars.length);
  const span = data.until - data.from;
  const hovered = over === undefined || drag !== undefined ? undefined : bars[over];
  return (
    <div className="histogram">
      <svg
        ref={svg}
        viewBox="0 0 1000 76"
        preserveAspectRatio="none"
        role="img"
        aria-label={`Tasks by creation time: ${plural(data.counted, 'task')} between ${exactTime(data.from)} and ${exactTime(data.until)}`}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          svg.current?.setPointerCapture(event.pointerId);
          setDrag([positionOf(event), positionOf(event)]);
        }}
        onPointerMove={(event) => {
          const at = positionOf(event);
          setOver(Math.min(bars.length - 1, Math.floor(at * bars.length)));
          if (drag !== undefined) setDrag([drag[0], at]);
        }}
        onPointerLeave={() => setOver(undefined)}
        onPointerCancel={() => setDrag(undefined)}
        onPointerUp={() => {
          if (drag === undefined) return;
          onBrush(brushRange(drag[0], drag[1], data));
          setDrag(undefined);
        }}
      >
        {bars.map((bar, i) =>
          bar.segments.map(({ state, from, to }) => (
            <rect
              key={`${bar.at} ${state}`}
              className={`s-${state}`}
              x={i * width + width * 0.1}
              width={width * 0.8}
              y={76 - to * 74}
              height={Math.max(0.8, (to - from) * 74)}
            />
          )),
        )}
        {over !== undefined && (
          <rect
            className="hit"
            style={{ fill: 'color-mix(in srgb, var(--ink) 6%, transparent)' }}
            x={over * width}
            width={width}
            y={0}
            height={76}
          />
        )}
        {drag !== undefined && (
          <rect
            className="brush"
            x={Math.min(...drag) * 1000}
            width={Math.max(1, Math.abs(drag[1] - drag[0]) * 1000)}
            y={0}
            height={76}
          />
        )}
      </svg>
      <div className="axis" aria-hidden="true">
        {ticksOf(data.from, data.until, 7).map((at) => {
          const part = ((at - data.from) / span) * 100;
          return part < 3 || part > 97 ? null : (
            <span key={at} style={{ left: `${part}%` }}>
              {tickText(at, span)}
            </span>
          );
        })}
      </div>
      {hovered !== undefined && over !== undefined && (
        <div className="tip" style={{ left: `${Math.min(84, Math.max(16, ((over + 0.5) / bars.length) * 100))}%` }}>
          {tickText(hovered.at, span)} · {plural(hovered.total, 'task')}
          {hovered.segments.map(({ state, count }) => `, ${count} ${state}`).join('')}
        </div>
      )}
    </div>
  );
}

function tickText(at: number, span: number): string {
  const text = exactTime(at);
  if (span > 2 * 86_400_000) return text.slice(5, span > 14 * 86_400_000 ? 10 : 16);
  return text.slice(11, span < 600_000 ? 19 : 16);
}
