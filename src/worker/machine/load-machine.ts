/** Machines from files, with their peers and hooks. */
import { createReadStream } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { fault, isEngineError } from '../../core/errors.ts';
import type { Machine } from '../../flow/machine/definition.ts';
import { type Problem, pathText } from '../../flow/machine/problems.ts';
import { readMachine } from '../../flow/machine/read-machine.ts';
import { MOST_BYTES, parseMachineText } from '../../flow/machine/text/machine-text.ts';
import { HookChain } from './hook-chain.ts';
import type { RunnableMachine } from './inline-driver.ts';
import { hooksOf, hooksSeeInput } from './load-hooks.ts';
import type { LoaderOptions, MachineSource } from './loader-options.ts';

export async function readMachineFile(file: string): Promise<MachineSource> {
  const path = resolve(file);
  // One byte more than it may have says that it is too large. A machine may name a device that never ends.
  const text = await textOf(createReadStream(path, { end: MOST_BYTES })).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw fault('NOT_FOUND', { kind: 'file', id: file }, { hint: 'Check the path.' });
    throw fault('INVALID_INPUT', { field: file, problem: `it cannot be read: ${error.message}` });
  });
  return { ...parseMachineText(text, file), folder: dirname(path), name: file };
}

/** Each line of a problem is looked for in the whole file. */
const MOST_TOLD = 100;

/** Machines that were checked before: a worker runs the same one again and again. */
const checked = new WeakMap<object, Machine>();

/** A machine that is checked and can run. Throws `INVALID_INPUT` with all its problems. */
export function checkedMachine(source: MachineSource, options: Pick<LoaderOptions, 'strict' | 'onWarning'>): Machine {
  const { value } = source;
  if (options.strict === true || typeof value !== 'object' || value === null) return check(source, options);
  const known = checked.get(value) ?? check(source, options);
  checked.set(value, known);
  return known;
}

function check(
  source: MachineSource,
  { strict = false, onWarning }: Pick<LoaderOptions, 'strict' | 'onWarning'>,
): Machine {
  const { machine, problems } = readMachine(source.value, { strict });
  const say = ({ path, message }: Problem): string => {
    const line = source.lineOf?.(path);
    return `${line === undefined ? '' : `line ${line}: `}${path.length === 0 ? '' : `${pathText(path)}: `}${message}`;
  };
  if (machine === undefined) {
    const wrong = problems.filter(({ level }) => level === 'error');
    const said = wrong.slice(0, MOST_TOLD).map(say);
    if (wrong.length === 1) throw fault('INVALID_INPUT', { field: source.name, problem: said[0] });
    const more = wrong.length > said.length ? [`and ${wrong.length - said.length} more`] : [];
    throw fault(
      'INVALID_INPUT',
      { field: source.name, problem: `it has ${wrong.length} problems` },
      { hint: [...said, ...more].join('\n') },
    );
  }
  for (const problem of problems.slice(0, MOST_TOLD)) onWarning?.(`${source.name}: ${say(problem)}`);
  if (problems.length > MOST_TOLD) onWarning?.(`${source.name}: and ${problems.length - MOST_TOLD} more warnings`);
  return machine;
}

export async function loadMachine(source: MachineSource, options: LoaderOptions): Promise<RunnableMachine> {
  const machine = checkedMachine(source, options);
  const { own = [], inherited = [], ...others } = options;
  const forPeers: LoaderOptions = { ...others, inherited: own.length > 0 ? own : inherited };
  const peers = new Map<string, Promise<RunnableMachine>>();
  const ofRun = hooksSeeInput(machine);
  return {
    machine,
    folder: source.folder,
    config: source.value,
    hooks: ofRun ? new HookChain([], machine.specVersion) : await hooksOf(machine, source.folder, options),
    ...(ofRun ? { hooksFor: (input: unknown) => hooksOf(machine, source.folder, options, input) } : {}),
    agent: (name) => options.agent(name, { machine, folder: source.folder, name: source.name }),
    peer: (name) => {
      const known = peers.get(name) ?? peerOf(machine, name, source, forPeers);
      peers.set(name, known);
      return known;
    },
  };
}

async function peerOf(
  machine: Machine,
  name: string,
  source: MachineSource,
  options: LoaderOptions,
): Promise<RunnableMachine> {
  return loadMachine(await peerSource(machine, name, source, options), options);
}

/** By the name in `machines`: a path, a machine, `{path}` or `{inline}`; else by the name of a machine that is registered, or of a file. */
export async function peerSource(
  machine: Machine,
  name: string,
  source: MachineSource,
  { read = readMachineFile, machines }: Pick<LoaderOptions, 'read' | 'machines'>,
): Promise<MachineSource> {
  const given = Object.hasOwn(machine.machines, name) ? machine.machines[name] : undefined;
  const { path, inline } = isRecord(given) ? given : {};
  const file = typeof given === 'string' ? given : typeof path === 'string' ? path : undefined;
  const registered = machines?.get(name);
  if (file !== undefined) {
    // Without its file, the machine that the program has under this name stands in for it.
    return read(resolve(source.folder, file)).catch((error: unknown) => {
      if (registered !== undefined && isEngineError(error, 'NOT_FOUND')) return registered;
      throw error;
    });
  }
  const value = isRecord(inline) ? inline : isRecord(given) ? given : undefined;
  if (value !== undefined) return { value, folder: source.folder, name: `${source.name}, machine ${name}` };
  if (registered !== undefined) return registered;
  // Published machines also name the file itself: `launch: [worker.yml]`.
  if (/\.(?:ya?ml|json)$/.test(name)) return read(resolve(source.folder, name));
  throw fault('NOT_FOUND', { kind: 'machine', id: name }, { hint: `Name it in "machines:" of ${source.name}.` });
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
