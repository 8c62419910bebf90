/** Machines that run in a process of their own, and that nobody waits for. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { environment } from '../../config/environment.ts';
import { findMachine } from './find.ts';
import { problemsOf, refuseProblems } from './problems.ts';
import { PROGRAM } from './program.ts';

export interface LaunchMachineOptions {
  readonly executionId?: string | undefined;
  readonly parentId?: string | undefined;
  /** Where the process runs, and where the file is looked for. */
  readonly workingDir?: string | undefined;
  /** Modules with hooks, as `leasehold run --hooks` takes them. */
  readonly hooks?: readonly string[] | undefined;
  /** Variables that the process has besides those of this one. */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Starts `leasehold run` and resolves to the name of the run when the process has its input. It goes on when this process has ended; its output is
 * lost. A machine that is not there or not valid is refused before anything is started.
 */
export async function launchMachine(
  name: string,
  input: Readonly<Record<string, unknown>>,
  { executionId = randomUUID(), parentId, workingDir, hooks = [], environment: more }: LaunchMachineOptions = {},
): Promise<string> {
  refuseProblems(name, await problemsOf(await findMachine(name, workingDir)));
  const args = [
    PROGRAM,
    'run',
    `--machine=${name}`,
    `--execution-id=${executionId}`,
    ...(parentId === undefined ? [] : [`--parent-id=${parentId}`]),
    ...hooks.map((module) => `--hooks=${module}`),
    // Not an argument: other users see those, and they have a bound.
    '--input=-',
  ];
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...environment(), ...more },
    ...(workingDir === undefined ? {} : { cwd: workingDir }),
  });
  await once(child, 'spawn');
  await new Promise<void>((resolve, reject) => {
    child.stdin.on('error', reject);
    child.stdin.end(JSON.stringify(input), resolve);
  });
  child.unref();
  return executionId;
}
