/** The three charts of the last hour. */

import { lazy, Suspense } from 'react';
import type { Overview as OverviewData } from '../../api.ts';
import { duration } from '../../model/time.ts';
import { Panel } from '../../ui/layout.tsx';
import { compact } from './compact.ts';

const Chart = lazy(() => import('../../ui/chart.tsx'));

const rate = (value: number): string => (value >= 100 ? compact.format(value) : `${Math.round(value * 100) / 100}`);

export function Charts({ of: { series } }: { readonly of: OverviewData }) {
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
      title: 'Ended per second',
      lines: throughput,
      format: rate,
      summary: `${rate(last(series.completed))} tasks complete per second, ${rate(last(series.failed))} fail`,
    },
    {
      title: 'Ready and running',
      lines: waiting,
      format: (value: number) => compact.format(value),
      summary: `${last(series.waiting)} ready, ${last(series.running)} running`,
    },
    {
      title: 'Longest wait',
      lines: [{ label: 'age', colour: '--waiting', values: series.ageMs }],
      format: (value: number) => duration(value).split(' ')[0] as string,
      least: 5_000,
      summary: `The oldest ready task has waited ${duration(last(series.ageMs))}`,
    },
  ];
  return (
    <div className="cols three">
      {all.map(({ title, lines, format, summary, least }) => (
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
              <p>Figures appear after the first minutes.</p>
            </div>
          ) : (
            <Suspense fallback={<div className="chart" />}>
              <Chart
                lines={lines}
                until={until}
                stepMs={stepMs}
                format={format}
                {...(least === undefined ? {} : { least })}
                label={`${title}, the last hour. ${summary}.`}
              />
            </Suspense>
          )}
        </Panel>
      ))}
    </div>
  );
}
