import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readMachineFile } from '../../worker/machine/load-machine.ts';
import type { MachineSource } from '../../worker/machine/loader-options.ts';

/** In a checkout and in the package alike: two folders up. */
const FOLDER = fileURLToPath(new URL('../../../machines/', import.meta.url));

/** Other names that documents have for a machine of ours. */
const ALIASES: Readonly<Record<string, string>> = { actual_job_processor: 'echo_processor' };

/** The machines that come with leasehold, by their names. */
export async function shippedMachines(folder = FOLDER): Promise<ReadonlyMap<string, MachineSource>> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yml')).sort();
  const found = new Map(
    await Promise.all(
      files.map(async (file) => [basename(file, '.yml'), await readMachineFile(join(folder, file))] as const),
    ),
  );
  for (const [alias, name] of Object.entries(ALIASES)) {
    const source = found.get(name);
    if (source !== undefined) found.set(alias, source);
  }
  return found;
}
