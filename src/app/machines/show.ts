/** Machines that are looked at, and not run. */
import { resolve } from 'node:path';
import { isEngineError } from '../../core/errors.ts';
import { isMap, type ValueMap } from '../../flow/expression/values.ts';
import { type DryPeer, type DryRun, dryRun } from '../../flow/machine/dry-run/dry-run.ts';
import { mermaidOf } from '../../flow/machine/show/mermaid.ts';
import { type Outline, outlineOf } from '../../flow/machine/show/outline.ts';
import { checkedMachine, readMachineFile } from '../../worker/machine/load-machine.ts';
import type { MachineSource } from '../../worker/machine/loader-options.ts';
import { shippedMachines } from './shipped.ts';

export type { DryAct, DryMove, DryRun, DryStep } from '../../flow/machine/dry-run/dry-run.ts';
export { machineSchema } from '../../flow/machine/schema/machine-schema.ts';
export type { Outline, OutlinedState } from '../../flow/machine/show/outline.ts';

/** The states of a machine, and how they hang together. */
export function outlineOfMachine(source: MachineSource): Outline {
  return outlineOf(checkedMachine(source, {}), source.value);
}

/** The same as a diagram of Mermaid. */
export function diagramOfMachine(source: MachineSource): string {
  return mermaidOf(outlineOfMachine(source));
}

/** The way that a run would take. Nothing is called; machines within it are looked for as a run would. */
export async function dryRunMachine(source: MachineSource, input: ValueMap): Promise<DryRun> {
  const shipped = await shippedMachines();
  const sources = new WeakMap<DryPeer, MachineSource>();
  const peerFor = (one: MachineSource): DryPeer => {
    const peer = { machine: checkedMachine(one, {}), raw: isMap(one.value) ? one.value : {} };
    sources.set(peer, one);
    return peer;
  };
  return dryRun(peerFor(source), input, {
    now: Date.now(),
    peer: async (of, name) => {
      try {
        const found = await sourceOfPeer(sources.get(of) as MachineSource, of, name, shipped);
        return found === undefined ? undefined : peerFor(found);
      } catch (error) {
        if (isEngineError(error)) return undefined;
        throw error;
      }
    },
  });
}

/** As `machines` says: a path, a machine, `{path}` or `{inline}`; else one that comes with leasehold. */
async function sourceOfPeer(
  source: MachineSource,
  { machine }: DryPeer,
  name: string,
  shipped: ReadonlyMap<string, MachineSource>,
): Promise<MachineSource | undefined> {
  const given = Object.hasOwn(machine.machines, name) ? machine.machines[name] : undefined;
  const { path, inline } = isMap(given) ? given : {};
  const file = typeof given === 'string' ? given : typeof path === 'string' ? path : undefined;
  if (file !== undefined) return readMachineFile(resolve(source.folder, file));
  const value = isMap(inline) ? inline : given;
  if (isMap(value)) return { value, folder: source.folder, name: `${source.name}, machine ${name}` };
  return shipped.get(name);
}
