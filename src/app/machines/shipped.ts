import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readMachineFile } from '../../worker/machine/load-machine.ts';
import type { MachineSource } from '../../worker/machine/loader-options.ts';

/** In a checkout and in the package alike: two folders up. */
const FOLDER = fileURLToPath(new URL('../../../machines/', import.meta.url));

/** Other names that documents have for a machine of ours. */
const ALIASES: Readonly<Record<string, string>> = { actual_job_processor: 'echo_processor' };

/** Those that work on pools. They name no hooks, so that hooks of the caller serve them, and machines that they launch. */
const ON_POOLS: ReadonlySet<string> = new Set(['parallelization_checker', 'job_worker', 'stale_worker_reaper']);

/** Whether it is one of ours that needs the actions of pools. */
export function worksOnPools({ folder, name }: MachineSource): boolean {
  return folder === resolve(FOLDER) && ON_POOLS.has(basename(name, '.yml'));
}

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
