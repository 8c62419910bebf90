import { fault } from '../../core/errors.ts';
import type { Run } from '../../engine/trees/runs.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';

const NUMBER = /^[1-9]\d{0,14}$/;

/** A run by the id of its task, by its name, or by the number of its task. A name counts before a number. */
export async function findRun({ engine }: EngineSnapshot, id: string): Promise<Run> {
  const run = (await engine.runs.get(id)) ?? (NUMBER.test(id) ? await engine.runs.get(Number(id)) : undefined);
  if (run !== undefined) return run;
  throw fault('NOT_FOUND', { kind: 'run', id }, { hint: '"leasehold runs list" shows the runs that are kept.' });
}
