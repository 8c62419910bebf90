import { createHash } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import type { StartedRun } from '../../engine/trees/runs.ts';
import type { Value } from '../../flow/expression/values.ts';
import { bundleAlone, type MachineBundle, MOST_BUNDLE, readBundle } from '../../flow/machine/bundle/bundle.ts';
import { channelsOf } from '../../flow/machine/bundle/channels.ts';
import { filesOf } from '../../flow/machine/bundle/peers.ts';
import { runPermissions } from '../../flow/machine/bundle/run-permissions.ts';
import type { Machine } from '../../flow/machine/definition.ts';
import { MACHINE_HANDLER, MACHINE_QUEUE, MACHINE_TRIES, type MachinePayload } from '../../flow/machine/machine-run.ts';
import { pathText } from '../../flow/machine/problems.ts';
import { readMachine } from '../../flow/machine/read-machine.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { budgetsIn } from './run-budgets.ts';

export { MACHINE_QUEUE };

type Start = RequestOf<'startRun'>;

/** Problems of a machine that are told. */
const MOST_TOLD = 20;

/** Starts a run, or goes on with the one that has the name. */
export function startRun(snapshot: EngineSnapshot, start: Start, op: string | undefined): Promise<StartedRun> {
  return start.task === undefined
    ? startMachine(snapshot, start, op)
    : startTask(snapshot, { ...start, task: start.task }, op);
}

/** The task of a workflow: whoever has its code runs it. */
function startTask(
  { engine }: EngineSnapshot,
  { task, name, title, labels, budgets = [], ...others }: Start & { readonly task: NonNullable<Start['task']> },
  op: string | undefined,
): Promise<StartedRun> {
  const [other] = Object.keys(others);
  if (other !== undefined) throw refuse(other, 'a task says that itself, and no machine is given with one');
  const { handler = task.queue } = task;
  return engine.runs.start({
    request: { ...task, handler, ...(op === undefined || name !== undefined ? {} : { op }) },
    run: {
      kind: 'workflow',
      title: title ?? handler,
      ...(name === undefined ? {} : { name }),
      ...(labels === undefined ? {} : { labels }),
    },
    budgets: budgetsIn(budgets),
  });
}

function startMachine({ engine }: EngineSnapshot, start: Start, op: string | undefined): Promise<StartedRun> {
  const { input, name, queue = MACHINE_QUEUE, priority, maxAttempts = MACHINE_TRIES, labels } = start;
  const { title, text, use, channels } = definitionOf(start);
  const definition = text === undefined ? undefined : { hash: hashOf(text), kind: 'machine', body: text };
  const payload: MachinePayload = {
    ...(definition === undefined ? { name: use as string } : { definition: definition.hash }),
    ...(input === undefined ? {} : { input: input as Value }),
    ...(name === undefined ? {} : { executionId: name }),
  };
  const { budgets = [] } = start;
  return engine.runs.start({
    request: {
      queue,
      handler: MACHINE_HANDLER,
      input: payload,
      maxAttempts,
      permissions: runPermissions(queue, channels),
      ...(priority === undefined ? {} : { priority }),
      // A name is an operation id by itself, and leads to more than a task.
      ...(op === undefined || name !== undefined ? {} : { op }),
    },
    run: {
      kind: 'machine',
      title: start.title ?? title,
      ...(name === undefined ? {} : { name }),
      ...(labels === undefined ? {} : { labels }),
    },
    ...(definition === undefined ? {} : { definition }),
    budgets: budgetsIn(budgets),
  });
}

interface Defined {
  readonly title: string;
  readonly text?: string;
  readonly use?: string;
  readonly channels: readonly string[];
}

function definitionOf({ machine, bundle, use, channels }: Start): Defined {
  const given = [machine, bundle, use].filter((one) => one !== undefined);
  if (given.length !== 1) throw refuse('machine', 'give exactly one of "machine", "bundle" and "use"');
  if (use !== undefined) return { title: use.slice(0, 255), use, channels: channels ?? [] };
  const text = bundle ?? JSON.stringify(bundleAlone(machine));
  if (Buffer.byteLength(text) > MOST_BUNDLE) throw fault('TOO_LARGE', { field: 'machine', maxBytes: MOST_BUNDLE });
  const opened = readBundle(text);
  if (opened === undefined) {
    throw bundle === undefined
      ? refuse('machine', 'it is a map')
      : refuse('bundle', 'it is not the text that "leasehold run" makes of a machine');
  }
  const read = machineIn(opened);
  if (bundle === undefined) refuseFiles(read);
  return { title: read.name.slice(0, 255), text, channels: channels ?? channelsOf(opened) };
}

function machineIn({ machine: { value } }: MachineBundle): Machine {
  const { machine, problems } = readMachine(value as Value);
  if (machine !== undefined) return machine;
  const wrong = problems.filter(({ level }) => level === 'error');
  const said = wrong.slice(0, MOST_TOLD).map(({ path, message }) => `${pathText(path)}: ${message}`);
  throw fault(
    'INVALID_INPUT',
    { field: 'machine', problem: wrong.length === 1 ? said[0] : `it has ${wrong.length} problems` },
    wrong.length === 1 ? {} : { hint: said.join('\n') },
  );
}

/** Files are on the host of the caller: a bundle brings them. */
function refuseFiles(machine: Machine): void {
  const [file] = filesOf(machine);
  if (file === undefined) return;
  throw fault(
    'INVALID_INPUT',
    { field: 'machine', problem: `it names the file ${JSON.stringify(file.slice(0, 80))}, which it does not bring` },
    { hint: 'Start it with "leasehold run FILE --server URL", which takes its files along.' },
  );
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
