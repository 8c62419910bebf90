import { styleText } from 'node:util';
import {
  endProgramsWithProcess,
  findMachine,
  HooksRegistry,
  loadHooksModule,
  MachineFailed,
  type MachineHooks,
  type MachineStep,
  newSignals,
  problemsOf,
  refuseProblems,
  runMachine,
} from '../../app/machines.ts';
import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { fault } from '../../core/errors.ts';
import { type Out, outFor } from '../display/out.ts';
import { safeJson, safeLine } from '../display/safe.ts';
import { formatTook } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT, exitCodeOfSignal, type StopSignal } from '../kit/exit.ts';
import { onStopSignals } from '../kit/stop-signals.ts';
import { dryRun } from './dry-run.ts';
import { readRunInput } from './run-input.ts';
import { RunProgress } from './run-progress.ts';
import { sendLines } from './run-signals.ts';

/** Hooks are code of this process, which cannot be stopped from outside: this long they may take to notice. */
const STOP_MS = 2000;

/** `leasehold run FILE|NAME`. */
export const run: Command = {
  name: 'run',
  doc: 'Run a machine to its end, within this process, and print its output as JSON',
  args: [
    { name: 'FILE|NAME', doc: 'The machine: a file in YAML or JSON, or one that comes with leasehold', optional: true },
  ],
  options: [
    'input',
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
    'json',
  ],
  examples: [
    { line: `run order.yml --input '{"order": 42}'`, does: 'the final output as JSON' },
    { line: 'run order.yml --input @order.json --hooks ./hooks.ts', does: 'with actions in a module of yours' },
    {
      line: `run approval.yml --signal 'approval/42={"approved": true}'`,
      does: 'the signal is there before it is waited for',
    },
    { line: 'run order.yml --dry-run', does: 'the way it would take, without doing anything' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(run, args);
    const name = nameOf(words[0], config);
    const out = outFor(config);
    const source = await findMachine(name);
    refuseProblems(name, await problemsOf(source, { strict: config.strict }));
    if (config.input === '-' && config.signals.includes('-')) throw twice();
    const input = await readRunInput(config.input);
    if (config.dryRun) return dryRun(source, input, out);
    return runToEnd(config, out, (options) => runMachine(source, { ...options, input }));
  },
};

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

function twice(): Error {
  return fault('INVALID_INPUT', {
    field: 'command line',
    problem: 'standard input is either the --input or the --signal, not both',
  });
}

type RunOptions = Parameters<typeof runMachine>[1];

async function runToEnd(config: Config, out: Out, start: (options: RunOptions) => Promise<unknown>): Promise<number> {
  const { stderr } = process;
  const registry = new HooksRegistry({ onLog: (line) => out.note(safeLine(line)) });
  const hooks: MachineHooks[] = [];
  for (const module of config.hooksModule) hooks.push(...(await loadHooksModule(module, registry)));
  const signals = newSignals();
  for (const signal of config.signals) if (signal !== '-') signals.send(signal.channel, signal.data);
  const complain = (text: string): void => out.note(safeLine(text));
  const listen = (): (() => void) =>
    sendLines(process.stdin, { send: (channel, data) => signals.send(channel, data), complain });
  let listening = config.signals.includes('-') ? listen() : undefined;
  const progress = new RunProgress({
    write: (line) => out.note(line),
    paint: (format, text) => styleText(format as Parameters<typeof styleText>[0], text, { stream: stderr }),
    columns: stderr.columns || 100,
    verbose: config.verbose,
  });
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
    if (step.kind !== 'wait' || listening !== undefined || !process.stdin.isTTY) return;
    // Whoever sits there may send it.
    listening = listen();
    out.note(`      To send it, type ${safeLine(step.channel)}=JSON and press Enter.`);
  };
  const running = start({
    executionId,
    parentId,
    maxSteps,
    strict,
    registry,
    hooks,
    signals,
    stop: stopping.signal,
    onWarning: complain,
    onStep: config.json ? (step) => void (config.verbose && out.note(safeJson(step))) : show,
  });
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
    if (stopping.signal.aborted) return interrupted(stopping.signal.reason as StopSignal, out);
    if (!(error instanceof MachineFailed)) throw error;
    return failed(error, out);
  } finally {
    clearInterval(alive);
    unlisten();
    listening?.();
  }
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
function interrupted(signal: StopSignal, out: Out): never {
  out.note('Stopped: the run is not kept.');
  process.exit(exitCodeOfSignal(signal));
}

function failed({ type, message, state }: MachineFailed, out: Out): number {
  const details = { state, type, message };
  if (out.mode === 'json') {
    const error = fault('MACHINE_FAILED', { state, problem: `${type}: ${message}`, type, error: message });
    out.note(safeJson({ error }));
  } else out.note(safeLine(`The machine failed in the state ${details.state}: ${type}: ${message}`));
  return EXIT.failed;
}
