import { fault } from '../../core/errors.ts';
import { type Registry, readRegistry } from '../../operate/triggers/registry.ts';
import { readMachineFile } from '../../worker/machine/load-machine.ts';

/** Triggers in a file, JSON or YAML. Throws `INVALID_INPUT` that lists all that is wrong, one a line. */
export async function readRegistryFile(file: string): Promise<Registry> {
  const registry = readRegistry((await readMachineFile(file)).value);
  refuseProblems(file, registry);
  return registry;
}

function refuseProblems(file: string, { problems }: Registry): void {
  if (problems.length === 0) return;
  const said = problems.map(({ place, problem }) => `${place}: ${problem}`);
  throw fault(
    'INVALID_INPUT',
    { field: file, problem: said.length === 1 ? said[0] : `it has ${said.length} problems`, problems },
    said.length === 1 ? {} : { hint: said.join('\n') },
  );
}
