import { styleText } from 'node:util';
import {
  endProgramsWithProcess,
  findMachine,
  HooksRegistry,
  loadHooksModule,
  MachineFailed,
  type MachineHooks,
  type MachineSource,
  type MachineStep,
  missingIn,
  newSignals,
  problemLine,
  problemsOf,
  refuseProblems,
  runMachine,
} from '../../app/machines.ts';
import { loadCall, sourceOf } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { fault } from '../../core/errors.ts';
import { type Out, outFor } from '../display/out.ts';
import { safeJson, safeLine } from '../display/safe.ts';
import { formatTook } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT, exitCodeOfSignal, type StopSignal } from '../kit/exit.ts';
import { onStopSignals } from '../kit/stop-signals.ts';
import { rootsIn } from '../node/worker-options.ts';
import { dryRun } from './dry-run.ts';
import { readRunInput } from './run-input.ts';
import type { ServerRun } from './run-on-server.ts';
import { RunProgress } from './run-progress.ts';
import { sendLines } from './run-signals.ts';

/** Hooks are code of this process, which cannot be stopped from outside: this long they may take to notice. */
const STOP_MS = 2000;
/** In a pipe nothing has to fit a screen. */
const LONGEST_LINE = 4000;

/** `leasehold run FILE|NAME`. */
export const run: Command = {
  name: 'run',
  doc: 'Run a machine to its end, here or durably on a store or node, and print its output as JSON',
  args: [
    { name: 'FILE|NAME', doc: 'The machine: a file in YAML or JSON, or one that comes with leasehold', optional: true },
  ],
  options: [
    'input',
    'workflowName',
    'machineName',
    'machineFile',
    'executionId',
    'parentId',
    'maxSteps',
    'hooksModule',
    'signals',
    'dryRun',
    'strict',
    'verbose',
    'store',
    'durability',
    'slots',
    'loopRoots',
    'server',
    'token',
    'dataDir',
    'json',
  ],
  examples: [
    { line: `run order.yml --input '{"order": 42}'`, does: 'the final output as JSON' },
    { line: 'run order.yml --input @order.json --hooks ./hooks.ts', does: 'with actions in a module of yours' },
    {
      line: `run approval.yml --signal 'approval/42={"approved": true}'`,
      does: 'the signal is there before it is waited for',
    },
    { line: 'run order.yml --execution-id order-42', does: 'goes on with that run, if the machine has persistence' },
    { line: 'run order.yml --dry-run', does: 'the way it would take, without doing anything' },
    { line: `run --workflow nightly --input '{"days": 2}'`, does: 'a workflow in code, by the workers that have it' },
    { line: 'run order.yml --server http://127.0.0.1:7420', does: 'a durable run by the workers of a node' },
    {
      line: 'run order.yml --store sqlite:./work.db --execution-id order-42',
      does: 'a durable run: started again under this name, it goes on where it stopped, or gives its result',
    },
  ],

  async run(args) {
    const { config, args: words } = loadCall(run, args);
    const out = outFor(config);
    if (config.workflowName !== undefined) return runWorkflow(config, out, words[0]);
    const name = nameOf(words[0], config);
    const source = await findMachine(name);
    const problems = await problemsOf(source, { strict: config.strict });
    refuseProblems(name, problems);
    if (!config.json) for (const problem of missingIn(problems)) out.note(safeLine(problemLine(problem)));
    if (config.input === '-' && config.signals.includes('-')) throw twice();
    const input = await readRunInput(config.input);
    if (config.dryRun) return dryRun(source, input, out);
    const place = placeOf(config);
    if (place === 'here') return runToEnd(config, out, (options) => runMachine(source, { ...options, input }));
    if (config.maxSteps !== undefined) throw inlineOnly('--max-steps');
    if (config.parentId !== undefined) throw inlineOnly('--parent-id');
    if (place === 'server') {
      if (config.loopRoots.length > 0)
        throw fault('INVALID_INPUT', { field: '--loop-root', problem: 'workers of a node have roots of their own' });
      if (config.hooksModule.length > 0)
        throw fault('INVALID_INPUT', { field: '--hooks', problem: 'workers of a node have hooks of their own' });
      return runToEnd(config, out, (options, underway) => served(config, out, source, { ...options, input }, underway));
    }
    return runToEnd(config, out, (options, underway) => durably(config, out, source, { ...options, input }, underway));
  },
};

/** Its code is with workers: it is started for them, and waited for. */
async function runWorkflow(config: Config, out: Out, word: string | undefined): Promise<number> {
  const { workflowName: handler = '', machineName, machineFile, hooksModule, dryRun: dry, maxSteps, parentId } = config;
  const machine = word ?? machineName ?? machineFile;
  if (machine !== undefined) throw noneFor('a machine', `it is given with the workflow ${handler}`);
  if (hooksModule.length > 0 || dry || maxSteps !== undefined || parentId !== undefined)
    throw noneFor('--workflow', 'hooks, dry runs, --max-steps and --parent-id are of machines');
  if (config.input === '-' && config.signals.includes('-')) throw twice();
  const input = await readRunInput(config.input);
  const { startedByName } = await import('./run-on-server.ts');
  return runToEnd(config, out, (options, underway) => {
    const { stop = new AbortController().signal } = options ?? {};
    return startedByName(config, out, handler, { input, stop, onStarted: startedOn(config, out, underway) });
  });
}

function noneFor(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}

/** The argument, or one of the two spellings that documents have for it. */
function nameOf(word: string | undefined, { machineName, machineFile }: Config): string {
  const [name, other] = [word, machineName, machineFile].filter((one) => one !== undefined);
  if (name === undefined) {
    const problem = 'it is missing';
    throw fault('INVALID_INPUT', { field: 'FILE|NAME', problem }, { hint: 'Name a machine: leasehold run FILE' });
  }
  if (other === undefined) return name;
  const problem = `the machine is named twice: ${JSON.stringify(name)} and ${JSON.stringify(other)}`;
  throw fault('INVALID_INPUT', { field: 'command line', problem });
}

/** Within this process, unless a store or a node is named. */
function placeOf(config: Config): 'here' | 'store' | 'server' {
  const [store, server] = [sourceOf(config, 'store') === 'flag', sourceOf(config, 'server') === 'flag'];
  if (store && server)
    throw fault('INVALID_INPUT', { field: 'command line', problem: 'it names both --store and --server' });
  return server ? 'server' : store ? 'store' : 'here';
}

/** By the workers of a node. */
async function served(
  config: Config,
  out: Out,
  source: MachineSource,
  { input, stop = new AbortController().signal }: NonNullable<RunOptions>,
  underway: Underway,
): Promise<unknown> {
  const { runOnServer } = await import('./run-on-server.ts');
  return runOnServer(config, out, source, { input, stop, onStarted: startedOn(config, out, underway) });
}

function startedOn(config: Config, out: Out, underway: Underway): ServerRun['onStarted'] {
  return ({ name, fresh, send }) => {
    underway.send = send;
    underway.kept = name;
    if (!config.json && (config.verbose || !fresh || process.stderr.isTTY))
      out.note(safeLine(`   run ${name}${fresh ? '' : ' goes on'}`));
  };
}

/** With a worker of this process; others on the store may take a part in it. */
async function durably(
  config: Config,
  out: Out,
  source: MachineSource,
  options: RunOptions,
  underway: Underway,
): Promise<unknown> {
  const { runOnStore } = await import('../../app/machines/durable-run.ts');
  const { signals: _, ...rest } = options ?? {};
  const { store, durability, slots, hooksModule, verbose } = config;
  return runOnStore(source, {
    ...rest,
    store,
    slots,
    open: { durability },
    hookFiles: hooksModule,
    signals: config.signals.filter((one) => one !== '-'),
    onStarted: ({ name, state, fresh, send }) => {
      underway.send = send;
      underway.kept = name;
      if (!config.json && (verbose || !fresh || process.stderr.isTTY))
        out.note(safeLine(`   run ${name}${fresh ? '' : state === 'completed' ? ' has ended before' : ' goes on'}`));
    },
  });
}

function inlineOnly(option: string): Error {
  return fault('INVALID_INPUT', { field: option, problem: 'it is for runs within this process' });
}

function twice(): Error {
  return fault('INVALID_INPUT', {
    field: 'command line',
    problem: 'standard input is either the --input or the --signal, not both',
  });
}

type RunOptions = Parameters<typeof runMachine>[1];

/** What is known of a run while it is under way, and where signals for it go. */
interface Underway {
  send: (channel: string, data: unknown) => void;
  /** The name of a run that can be gone on with. */
  kept?: string;
}

async function runToEnd(
  config: Config,
  out: Out,
  start: (options: RunOptions, underway: Underway) => Promise<unknown>,
): Promise<number> {
  const { stderr } = process;
  const registry = new HooksRegistry({ onLog: (line) => out.note(safeLine(line)) });
  const hooks: MachineHooks[] = [];
  for (const module of config.hooksModule) hooks.push(...(await loadHooksModule(module, registry)));
  const signals = newSignals();
  for (const signal of config.signals) if (signal !== '-') signals.send(signal.channel, signal.data);
  const underway: Underway = { send: (channel, data) => signals.send(channel, data) };
  const complain = (text: string): void => out.note(safeLine(text));
  const listen = (): (() => void) =>
    sendLines(process.stdin, { send: (channel, data) => underway.send(channel, data), complain });
  let listening = config.signals.includes('-') ? listen() : undefined;
  const progress = progressOn(stderr, out, config.verbose);
  endProgramsWithProcess();
  const stopping = new AbortController();
  const unlisten = onStopSignals({
    stop: (signal) => stopping.abort(signal),
    force: (signal) => process.exit(exitCodeOfSignal(signal)),
  });
  // A run that waits for a signal holds nothing else open.
  const alive = setInterval(() => {}, 2 ** 30);
  const startedAt = performance.now();
  const { executionId, parentId, maxSteps, strict } = config;
  const show = (step: MachineStep): void => {
    progress.show(step);
    if (step.kind !== 'wait' || listening !== undefined) return;
    if (process.stdin.isTTY) {
      // Whoever sits there may send it.
      listening = listen();
      out.note(`      To send it, type ${safeLine(step.channel)}=JSON and press Enter.`);
    } else if (placeOf(config) === 'here' && underway.kept === undefined && !signals.has(step.channel)) {
      out.note(nobodySends(step.channel));
    }
  };
  const given: RunOptions = {
    onKept: ({ executionId: id, from }) => {
      underway.kept = id;
      if (from !== undefined && !config.json)
        out.note(`   goes on with the run ${safeLine(id)} in the state ${safeLine(from.state)}`);
    },
    executionId,
    parentId,
    maxSteps,
    strict,
    loopRoots: rootsIn(config.loopRoots),
    registry,
    hooks,
    signals,
    stop: stopping.signal,
    onWarning: complain,
    onStep: config.json ? (step) => void (config.verbose && out.note(safeJson(step))) : show,
  };
  const running = start(given, underway);
  try {
    const output = await Promise.race([running, stopped(stopping.signal, running)]);
    if (!config.json && stderr.isTTY) {
      out.note(
        styleText('dim', `   ${progress.states} states in ${formatTook(performance.now() - startedAt)}`, {
          stream: stderr,
        }),
      );
    }
    if (out.mode === 'screen') out.line(safeJson(output, 2));
    else out.json(output);
    return EXIT.fine;
  } catch (error) {
    if (stopping.signal.aborted) return interrupted(stopping.signal.reason as StopSignal, out, underway.kept);
    if (!(error instanceof MachineFailed)) throw error;
    return failed(error, out, underway.kept);
  } finally {
    clearInterval(alive);
    unlisten();
    listening?.();
  }
}

function progressOn(stream: NodeJS.WriteStream, out: Out, verbose: boolean): RunProgress {
  return new RunProgress({
    write: (line) => out.note(line),
    paint: (format, text) => styleText(format as Parameters<typeof styleText>[0], text, { stream }),
    columns: stream.isTTY ? stream.columns || 100 : LONGEST_LINE,
    verbose,
  });
}

function nobodySends(channel: string): string {
  const signal = `--signal '${safeLine(channel)}=JSON'`;
  return `      Nobody can send it to this run: start it with ${signal}, or with --signal - for standard input.`;
}

/** Rejects when the run should be over: at its own end, or when the time for that is up. */
function stopped(stop: AbortSignal, running: Promise<unknown>): Promise<never> {
  return new Promise((_resolve, reject) => {
    stop.addEventListener('abort', () => {
      const timer = setTimeout(() => reject(new Error('stopped')), STOP_MS);
      void running.catch(() => {}).finally(() => clearTimeout(timer));
    });
  });
}

/** What a hook has left open would keep the process. */
function interrupted(signal: StopSignal, out: Out, kept: string | undefined): never {
  out.note(kept === undefined ? 'Stopped: the run is not kept.' : `Stopped. ${toGoOn(kept)}`);
  process.exit(exitCodeOfSignal(signal));
}

const toGoOn = (id: string): string => `To go on from there, run it again with --execution-id ${safeLine(id)}`;

function failed({ type, message, state }: MachineFailed, out: Out, kept: string | undefined): number {
  const details = { state, type, message };
  if (out.mode === 'json') {
    const error = fault('MACHINE_FAILED', { state, problem: `${type}: ${message}`, type, error: message });
    out.note(safeJson({ error }));
  } else out.note(safeLine(`The machine failed in the state ${details.state}: ${type}: ${message}`));
  if (kept !== undefined && out.mode !== 'json') out.note(toGoOn(kept));
  return EXIT.failed;
}
