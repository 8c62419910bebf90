import { fault } from '../../core/errors.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';

type Start = RequestOf<'startRun'>;

/** A start that names a definition which is kept, with that definition in its place. */
export async function withDefinition({ engine }: EngineSnapshot, start: Start): Promise<Start> {
  const { definition: hash, ...rest } = start;
  if (hash === undefined) return start;
  const other = (['machine', 'bundle', 'use', 'graph', 'task'] as const).find((field) => rest[field] !== undefined);
  if (other !== undefined) {
    throw fault('INVALID_INPUT', { field: 'definition', problem: `it stands alone, and "${other}" is given with it` });
  }
  const found = await engine.store.definitionGet({ hash });
  if (found === undefined) {
    throw fault('NOT_FOUND', { kind: 'definition', id: hash }, { hint: 'It is kept as long as a run has it.' });
  }
  return found.kind === 'graph'
    ? { ...rest, graph: JSON.parse(found.body) as unknown }
    : { ...rest, bundle: found.body };
}
