import { stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import {
  forProgram,
  type ProgramCredentials,
  programCredentials,
  withoutCore,
} from '../credentials/program-credentials.ts';
import type { TaskContext } from '../define/definition.ts';
import { giveUp } from '../define/outcome.ts';
import { task } from '../define/task.ts';
import type { RedactedStream } from '../redaction/redactor.ts';
import { LEASE_MARK, WORKER_MARK } from '../runner/process/sweep.ts';
import { type Command, type CommandEnd, runCommand } from './command.ts';
import { failure } from './failure.ts';
import { list, object, optional, type Shape, text, texts } from './schema.ts';
import { Tail } from './tail.ts';
import { workspaceField } from './workspace-field.ts';

export interface ShellOptions {
  /** The variables on the allow-list are passed on; default: the environment of this process at each run. */
  readonly env?: NodeJS.ProcessEnv;
  /** The target of the output; default: the output of this process, which its runner reads. */
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** Between SIGTERM and SIGKILL when the task is told to stop; default 2 s. */
  readonly killMs?: number;
}

export interface ShellResult {
  readonly exitCode: number;
  /** Its last 64 KiB. */
  readonly stdout: string;
  readonly truncated: boolean;
  readonly durationMs: number;
  /** What was committed, where that was asked for and something was changed. */
  readonly commit?: string;
}

const KEPT_OUTPUT = 64 * 1024;
const KEPT_ERRORS = 8 * 1024;
const ERROR_LINES = 20;

/**
 * Commands get only this part of the environment: the rest may contain credentials of the worker. By the marks a process is
 * found and ended with its task.
 */
const HANDED_ON: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'LANG',
  'TZ',
  'TMPDIR',
  'USER',
  'SHELL',
  WORKER_MARK,
  LEASE_MARK,
]);

const fields = {
  command: optional(text({ minLength: 1, check: noNul, about: 'A line for sh -c. Data belongs into argv or env.' })),
  argv: optional(list(text({ check: noNul }), { min: 1, about: 'A program and its arguments, run without a shell.' })),
  cwd: optional(text({ minLength: 1, check: noNul, about: 'The folder to run in.' })),
  workspace: optional(workspaceField),
  commit: optional(
    text({
      minLength: 1,
      check: noNul,
      about: 'Of a workspace of git: what was changed is committed with this message.',
    }),
  ),
  env: optional(texts({ check: checkVariable, about: 'Variables beside those that are passed on.' })),
  stdin: optional(text({ about: 'What the command can read.' })),
  credentials: programCredentials,
};

const input = object(fields, {
  check({ command, argv, cwd, workspace, commit }, report) {
    if ((command === undefined) === (argv === undefined)) report([], 'must have either command or argv');
    if (cwd !== undefined && workspace !== undefined) report(['cwd'], 'must not stand beside workspace');
    if (commit !== undefined && workspace?.source !== 'git') report(['commit'], 'needs a workspace of git');
    if (argv?.[0] === '') report(['argv', 0], 'must not be empty');
  },
});

/** Runs a command. */
export function makeShell(options: ShellOptions = {}) {
  return task('shell', {
    input,
    workspace: ({ workspace }) => workspace,
    run: (given, ctx) => run(given, ctx, options),
  });
}

async function run(asked: Shape<typeof fields>, ctx: TaskContext, options: ShellOptions) {
  const workspace = asked.workspace === undefined ? undefined : ctx.workspace;
  const given = workspace === undefined ? asked : { ...asked, cwd: workspace.path };
  ctx.signal.throwIfAborted();
  if (given.cwd !== undefined && !(await isFolder(given.cwd))) {
    return giveUp(failure('NO_FOLDER', `There is no folder ${JSON.stringify(given.cwd)} on this worker.`));
  }
  const secrets = given.credentials === undefined ? undefined : await forProgram(given.credentials, ctx.credentials);
  const hides = (): RedactedStream | undefined => secrets?.redactor.stream();
  const stdout = { to: options.stdout ?? process.stdout, tail: new Tail(KEPT_OUTPUT), hides: hides() };
  const stderr = { to: options.stderr ?? process.stderr, tail: new Tail(KEPT_ERRORS), hides: hides() };
  const startedAt = performance.now();
  let end: CommandEnd;
  try {
    const command = commandOf(given, options.env, ctx.traceparent, secrets);
    end = await runCommand(command, { stdout, stderr, signal: ctx.signal, killMs: options.killMs ?? 2_000 });
  } catch (error) {
    return notStarted(error);
  } finally {
    secrets?.close();
  }
  // A result after the stop does not count.
  ctx.signal.throwIfAborted();
  if (end.exitCode !== 0) throw failed(end, stderr.tail);
  const commit = asked.commit === undefined ? undefined : await workspace?.commitAll(asked.commit);
  const durationMs = Math.round(performance.now() - startedAt);
  const result: ShellResult = { exitCode: 0, stdout: stdout.tail.text(), truncated: stdout.tail.cut, durationMs };
  if (commit !== undefined) return { ...result, commit };
  return result;
}

function commandOf(
  given: Shape<typeof fields>,
  environment: NodeJS.ProcessEnv | undefined,
  traceparent: string | undefined,
  secrets: ProgramCredentials | undefined,
): Command {
  const { command, argv, cwd, stdin } = given;
  const [file = '', ...args] = argv ?? ['/bin/sh', '-c', command ?? ''];
  // oxlint-disable-next-line node/no-process-env, no-restricted-properties -- runs in a child process, to hand a part of what it was started with on to a command
  const env = handedOn(environment ?? process.env);
  // Programs read their trace context from this variable.
  const trace = traceparent === undefined ? {} : { TRACEPARENT: traceparent };
  const all = { ...env, ...trace, ...given.env };
  if (secrets === undefined) return { file, args, cwd, env: all, stdin };
  return { ...withoutCore(file, args), cwd, env: { ...all, ...secrets.env }, stdin, fds: secrets.fds };
}

/** The part of an environment that commands get. */
export function handedOn(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => HANDED_ON.has(name) || name.startsWith('LC_')),
  );
}

function noNul(value: string): string | undefined {
  return value.includes('\0') ? 'must not contain NUL' : undefined;
}

function checkVariable(name: string, value: string): string | undefined {
  if (!/^[A-Za-z_]\w*$/.test(name)) return 'is not the name of a variable';
  // A command that changes its marks could not be found again.
  if (name.startsWith('LEASEHOLD_')) return 'names that begin with LEASEHOLD_ are reserved';
  return noNul(value);
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

function failed({ exitCode, signal }: CommandEnd, stderr: Tail): Error {
  const lines = stderr.lines(ERROR_LINES);
  const quoted = lines.length === 0 ? '' : `\n${lines.join('\n')}`;
  if (exitCode === null)
    return failure('SIGNAL', `The command was ended by ${signal ?? 'a signal'}.${quoted}`, { signal });
  return failure('EXIT', `The command ended with exit code ${exitCode}.${quoted}`, { exitCode, stderr: lines });
}

/** A missing program is final. Lack of memory or of processes passes, and is tried again. */
function notStarted(error: unknown) {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  const problem = failure('NOT_STARTED', `The command could not be started (${code}).`);
  if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOEXEC' || code === 'E2BIG') return giveUp(problem);
  throw problem;
}
