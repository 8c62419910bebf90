import type { TaskRecord } from '../../engine/records.ts';
import type { Value } from '../../flow/expression/values.ts';
import { readBundle } from '../../flow/machine/bundle/bundle.ts';
import { machineAt } from '../../flow/machine/bundle/peers.ts';
import type { Machine } from '../../flow/machine/definition.ts';
import { MACHINE_HANDLER, type MachinePayload, readPayload } from '../../flow/machine/machine-run.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';

/** What a task of the handler of machines was given; undefined for any other task. */
export function payloadOf({ handler, payload }: Pick<TaskRecord, 'handler' | 'payload'>): MachinePayload | undefined {
  if (handler !== MACHINE_HANDLER) return undefined;
  const read = readPayload(JSON.parse(payload) as Value);
  return typeof read === 'string' ? undefined : read;
}

/** Undefined where there is none, or where it cannot be read: a run is shown without its diagram then. */
export async function machineOf(
  { engine }: EngineSnapshot,
  { definition, peers = [] }: MachinePayload,
): Promise<{ readonly machine: Machine; readonly raw: Value } | undefined> {
  if (definition === undefined) return undefined;
  const body = (await engine.store.definitionGet({ hash: definition }))?.body;
  const bundle = body === undefined ? undefined : readBundle(body);
  return bundle === undefined ? undefined : machineAt(bundle, peers);
}
