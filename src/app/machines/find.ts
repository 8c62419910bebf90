import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { fault } from '../../core/errors.ts';
import { readMachineFile } from '../../worker/machine/load-machine.ts';
import type { MachineSource } from '../../worker/machine/loader-options.ts';
import { shippedMachines } from './shipped.ts';

/** The machine of a file, or the one of that name that comes with leasehold. A file goes first. */
export async function findMachine(fileOrName: string, folder = '.'): Promise<MachineSource> {
  // As it was given, so that messages name it so.
  const file = folder === '.' || isAbsolute(fileOrName) ? fileOrName : join(folder, fileOrName);
  if (existsSync(file)) return readMachineFile(file);
  const shipped = await shippedMachines();
  const found = shipped.get(fileOrName);
  if (found !== undefined) return found;
  if (/[./\\]/.test(fileOrName)) return readMachineFile(file);
  throw fault(
    'NOT_FOUND',
    { kind: 'machine', id: fileOrName },
    { hint: `Give a file, or one of those that come with leasehold: ${[...shipped.keys()].sort().join(', ')}.` },
  );
}
