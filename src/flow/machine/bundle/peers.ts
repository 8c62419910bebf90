/** Machines that a machine of a bundle names. */
import { isMap, type Value } from '../../expression/values.ts';
import type { Machine } from '../definition.ts';
import { readMachine } from '../read-machine.ts';
import { type BundledSource, type MachineBundle, machineIn } from './bundle.ts';

/** The machine at the end of this way, by the names that each has for the next. Undefined: the bundle does not have it. */
export function machineAt(
  bundle: MachineBundle,
  peers: readonly string[],
): { readonly machine: Machine; readonly raw: Value } | undefined {
  let source: BundledSource = bundle.machine;
  let found = machineIn(bundle);
  for (const name of peers) {
    const next = found === undefined ? undefined : peerIn(bundle, found.machine, name, source);
    if (next === undefined) return undefined;
    source = next;
    const { machine } = readMachine(next.value as Value);
    found = machine === undefined ? undefined : { machine, raw: next.value as Value };
  }
  return found;
}

/** The files that a machine names for its machines, whether the bundle has them or not. */
export function filesOf({ machines }: Machine): readonly string[] {
  return Object.values(machines).flatMap((given) => fileOf(given) ?? []);
}

function peerIn(
  bundle: MachineBundle,
  machine: Machine,
  name: string,
  source: BundledSource,
): BundledSource | undefined {
  const given = Object.hasOwn(machine.machines, name) ? machine.machines[name] : undefined;
  const registered = Object.hasOwn(bundle.registered, name) ? bundle.registered[name] : undefined;
  const file = fileOf(given);
  if (file !== undefined) return fileIn(bundle, source.folder, file) ?? registered;
  const inline = isMap(given) && isMap(given['inline']) ? given['inline'] : given;
  if (isMap(inline)) return { value: inline, folder: source.folder, name };
  if (registered !== undefined) return registered;
  return /\.(?:ya?ml|json)$/.test(name) ? fileIn(bundle, source.folder, name) : undefined;
}

function fileOf(given: Value): string | undefined {
  if (typeof given === 'string') return given;
  return isMap(given) && typeof given['path'] === 'string' ? given['path'] : undefined;
}

function fileIn({ files }: MachineBundle, folder: string, file: string): BundledSource | undefined {
  const path = pathFrom(folder, file);
  if (!Object.hasOwn(files, path)) return undefined;
  return { value: files[path], folder: pathFrom(path, '..'), name: file };
}

/** As the paths of a bundle are made: absolute, without dots. */
function pathFrom(folder: string, path: string): string {
  const parts = path.startsWith('/') ? [] : folder.split('/');
  const way: string[] = [];
  for (const part of [...parts, ...path.split('/')]) {
    if (part === '..') way.pop();
    else if (part !== '' && part !== '.') way.push(part);
  }
  return `/${way.join('/')}`;
}
