/** What a task of the library takes of its store: statements, commits, bytes of the log. Counts, so once a run is enough. */
import { join } from 'node:path';
import type { Contender } from '../contenders/contender.ts';
import { LIBRARY } from '../contenders/library.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import type { PathFigures } from '../path/part.ts';
import { runScene } from '../path/scene.ts';

const COUNTS = [
  ['statements', 'statements', ''],
  ['commits', 'commits', ''],
  ['walBytes', 'bytes of the log', ''],
] as const satisfies readonly (readonly [keyof PathFigures, string, Row['unit']])[];

const PARTS = ['drain', 'push'] as const;

const rowOf = (part: string, [of, label, unit]: (typeof COUNTS)[number]): Row => ({
  label: `${part}: ${label} per task`,
  key: `${part} ${of}`,
  unit,
});

export function costs(dist: string, url: (place: string) => string): Measure {
  return {
    name: 'costs',
    rows: PARTS.flatMap((part) => COUNTS.map((count) => rowOf(part, count))),
    only: [LIBRARY],
    rounds: 1,
    async round(world: World, contender: Contender) {
      const parts = runScene(join(dist, 'index.js'), url(await world.fresh()), 'counted');
      for (const part of PARTS)
        for (const count of COUNTS) world.record(contender, rowOf(part, count), parts[part]?.[count[0]] ?? Number.NaN);
    },
  };
}
