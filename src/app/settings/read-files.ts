import { readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fault } from '../../core/errors.ts';
import { addDazflowFile, dazflowFileOf } from '../../operate/settings/dazflow.ts';
import { type Settings, SettingsReader } from '../../operate/settings/settings-file.ts';
import { readMachineFile } from '../../worker/machine/load-machine.ts';

const MOST_FILES = 1000;

/** Reads a file of settings, or all of a folder. Throws `INVALID_INPUT` with all that is wrong. */
export async function readSettings(path: string): Promise<Settings> {
  const reader = new SettingsReader();
  for (const file of await filesOf(path)) await addFile(reader, file);
  return reader.read();
}

async function filesOf(path: string): Promise<readonly string[]> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
  if (!isFolder) return [path];
  const names = (await readdir(path)).filter((name) => /^[^.].*\.(ya?ml|json)$/.test(name)).sort();
  if (names.length > 0 && names.length <= MOST_FILES) return names.map((name) => join(path, name));
  const problem = names.length === 0 ? 'it has no file of YAML or JSON' : `it has more than ${MOST_FILES} files`;
  throw fault('INVALID_INPUT', { field: path, problem });
}

async function addFile(reader: SettingsReader, file: string): Promise<void> {
  const { value } = await readMachineFile(file);
  const dazflow = dazflowFileOf(file);
  if (dazflow !== undefined) addDazflowFile(reader, file, dazflow, value);
  else if (isMap(value) && 'nodes' in value && 'connections' in value) {
    reader.addThing(file, 'workflows', nameOf(file), { workflow: value, ...switchOf(value) });
  } else reader.add(file, isMap(value) ? await withWorkflows(file, value) : value);
}

/** A workflow may stand in a file of its own, which is named from the folder of the settings. */
async function withWorkflows(file: string, value: Map): Promise<Map> {
  const { workflows } = value;
  if (!isMap(workflows)) return value;
  const read = await Promise.all(
    Object.entries(workflows).map(async ([name, one]) => {
      if (!isMap(one) || typeof one['file'] !== 'string') return [name, one] as const;
      const { file: from, ...rest } = one;
      const { value: workflow } = await readMachineFile(resolve(dirname(file), from as string));
      return [name, { ...switchOf(workflow), ...rest, workflow }] as const;
    }),
  );
  return { ...value, workflows: Object.fromEntries(read) };
}

/** A workflow of dazflow may say itself whether it is on. */
function switchOf(workflow: unknown): { readonly enabled?: boolean } {
  return isMap(workflow) && typeof workflow['enabled'] === 'boolean' ? { enabled: workflow['enabled'] } : {};
}

const nameOf = (file: string): string => file.replace(/^.*[\\/]/, '').replace(/\.(json|ya?ml)$/, '');

type Map = Readonly<Record<string, unknown>>;

function isMap(value: unknown): value is Map {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
