/** Lines over time on a canvas, in the colours of the theme. In a chunk of its own, because it brings uPlot. */

import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export interface Line {
  readonly label: string;
  /** A custom property of the theme: `--completed`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  readonly fill?: boolean;
}

export default function Chart({
  lines,
  until,
  stepMs,
  format,
  label,
  least = 1,
}: {
  readonly lines: readonly Line[];
  readonly until: number;
  readonly stepMs: number;
  readonly format: (value: number) => string;
  readonly label: string;
  /** The scale reaches at least this value, so that small values look small. */
  readonly least?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const formatter = useRef(format);
  formatter.current = format;
  const data = useRef<uPlot.AlignedData>([[]]);
  const shape = lines.map((line) => `${line.label}:${line.colour}`).join();

  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const build = (): void => {
      plot.current?.destroy();
      const style = getComputedStyle(document.documentElement);
      const colour = (name: string): string => style.getPropertyValue(name).trim();
      const grid = { stroke: colour('--line'), width: 1 };
      const axis = { stroke: colour('--ink-3'), font: `11px ${colour('--sans')}`, grid, ticks: { show: false } };
      plot.current = new uPlot(
        {
          width: host.clientWidth,
          height: 160,
          padding: [8, 8, 0, 0],
          cursor: { points: { size: 6 }, drag: { x: false, y: false } },
          legend: { show: false },
          scales: { y: { range: (_, _min, max) => [0, Math.max(least, (max ?? 1) * 1.15)] } },
          axes: [
            {
              ...axis,
              grid: { show: false },
              space: 70,
              size: 30,
              values: (_, ticks) =>
                ticks.map((at) =>
                  new Date(at * 1000).toTimeString().slice(0, ticks.some((tick) => tick % 60 !== 0) ? 8 : 5),
                ),
            },
            { ...axis, size: 52, space: 32, values: (_, ticks) => ticks.map((tick) => formatter.current(tick)) },
          ],
          series: [
            {},
            ...shape.split(',').map((one) => {
              const [name = '', property = ''] = one.split(':');
              const stroke = colour(property);
              return { label: name, stroke, width: 1.5, fill: `${stroke}1c`, points: { show: false } };
            }),
          ],
          hooks: { setCursor: [(self) => showTip(host, self, formatter.current)] },
        },
        [[], ...shape.split(',').map(() => [])],
        host,
      );
      draw();
    };
    const draw = (): void => plot.current?.setData(data.current);
    build();
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: host.clientWidth, height: 160 }));
    resize.observe(host);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', build);
    const theme = new MutationObserver(build);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      resize.disconnect();
      theme.disconnect();
      scheme.removeEventListener('change', build);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, least]);

  const n = Math.max(0, ...lines.map(({ values }) => values.length));
  data.current = [
    Array.from({ length: n }, (_, i) => (until - (n - 1 - i) * stepMs) / 1000),
    ...lines.map(({ values }) => [...values]),
  ];
  useEffect(() => plot.current?.setData(data.current));

  return <div ref={box} className="chart" role="img" aria-label={label} />;
}

/** Shows the values at the pointer. */
function showTip(host: HTMLElement, plot: uPlot, format: (value: number) => string): void {
  let tip = host.querySelector<HTMLElement>('.tip');
  const { idx, left = -1 } = plot.cursor;
  if (idx === undefined || idx === null || left < 0) {
    tip?.remove();
    return;
  }
  if (tip === null) {
    tip = document.createElement('div');
    tip.className = 'tip';
    plot.over.append(tip);
  }
  const at = plot.data[0][idx] ?? 0;
  const parts = plot.series
    .slice(1)
    .map(
      (series, i) =>
        `${series.label as string} ${plot.data[i + 1]?.[idx] == null ? '–' : format(plot.data[i + 1]?.[idx] as number)}`,
    );
  tip.textContent = `${new Date(at * 1000).toTimeString().slice(0, 8)}  ${parts.join('  ')}`;
  const half = tip.offsetWidth / 2;
  tip.style.left = `${Math.min(Math.max(left, half), Math.max(half, plot.over.clientWidth - half))}px`;
}
