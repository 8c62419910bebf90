/** Waiting no-op tasks through what a user calls: long-lived processes, and processes that have just begun. */
import type { Contender } from '../contenders/contender.ts';
import { drained } from '../measures/drained.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { COLD_TASKS } from '../path/part.ts';

interface Case {
  readonly processes: number;
  readonly cold: boolean;
  readonly rate: Row;
  readonly cpu: Row;
  readonly server: Row;
}

function caseOf(processes: number, cold: boolean): Case {
  const many = processes === 1 ? '1 process' : `${processes} processes`;
  const key = `${cold ? 'cold' : 'warm'} ${processes}`;
  const label = cold ? `${many}, their first ${COLD_TASKS.toLocaleString('en')} tasks` : `${many}, long-lived`;
  return {
    processes,
    cold,
    rate: { label: `drain, ${label}`, key: `drain ${key}`, unit: '/s', ratio: 'reference' },
    cpu: { label: '… CPU per task, all in all', key: `cpu ${key}`, unit: 'µs', ratio: 'reference' },
    server: { label: '… of which the server', key: `server ${key}`, unit: 'µs' },
  };
}

const CASES = [caseOf(1, false), caseOf(4, false), caseOf(1, true), caseOf(4, true)];

export function drain({ server }: { readonly server: boolean }): Measure {
  return {
    name: 'drain',
    rows: CASES.flatMap(({ rate, cpu, server: part }) => (server ? [rate, cpu, part] : [rate, cpu])),
    async round(world: World, contender: Contender) {
      for (const { processes, cold, rate, cpu, server: part } of CASES) {
        const most = contender.drainTasks / (world.quick ? 10 : 1);
        const tasks = Math.round(cold ? Math.min(most, COLD_TASKS * processes) : most);
        const found = await drained(world, contender, await world.fresh(), { tasks, processes, cold });
        world.record(contender, rate, found.perSecond);
        world.record(contender, cpu, found.cpuMicros);
        if (server) world.record(contender, part, found.serverMicros);
      }
    },
  };
}
