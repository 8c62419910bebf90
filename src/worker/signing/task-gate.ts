import type { KeyObject } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import { isSignedBy } from '../../protocol/signed-task.ts';
import type { RunRequest } from '../runner/runner.ts';
import { CommandList } from './command-list.ts';

/** What a worker demands of every task, whoever gives it. */
export interface Demands {
  /** Only tasks that one of these keys has signed, by their ids. */
  readonly keys?: ReadonlyMap<string, KeyObject> | undefined;
  /** Only these commands. */
  readonly commands?: readonly string[] | undefined;
}

/** With their input they can run programs that a list of commands does not see. */
const UNSEEN: ReadonlySet<string> = new Set(['js', 'machine', 'agent']);

/** Looks at a task before anything of it is run. What it trusts is on this host: nothing that a node says changes it. */
export class TaskGate {
  readonly #keys: Demands['keys'];
  readonly #commands: CommandList | undefined;
  readonly #wall: () => number;

  constructor({ keys, commands }: Demands, wall: () => number) {
    this.#keys = keys;
    this.#commands = commands === undefined ? undefined : new CommandList(commands);
    this.#wall = wall;
  }

  /** Why it is not run; undefined: it may be. */
  refusalOf(request: RunRequest): Error | undefined {
    const problem = this.#signatureProblem(request);
    if (problem !== undefined) return fault('TASK_NOT_SIGNED', { problem });
    const forbidden = this.#commandProblem(request);
    return forbidden === undefined ? undefined : fault('COMMAND_NOT_ALLOWED', { problem: forbidden });
  }

  #signatureProblem({ queue, handler, signed }: RunRequest): string | undefined {
    if (this.#keys === undefined) return undefined;
    if (signed === undefined) return 'it has no signature';
    const key = this.#keys.get(signed.key);
    if (key === undefined) return 'this worker does not trust the key that it was signed with';
    const { notAfter } = signed;
    if (!isSignedBy({ queue, handler }, signed, key)) return 'its signature is not for this queue, handler and input';
    return notAfter !== undefined && !(this.#wall() <= notAfter)
      ? 'its signature was not to be used any more'
      : undefined;
  }

  #commandProblem({ handler, payload }: RunRequest): string | undefined {
    if (this.#commands === undefined) return undefined;
    if (UNSEEN.has(handler)) return `the handler ${handler} could run commands that are not on the list of this worker`;
    return handler === 'shell' ? this.#commands.problemOf(payload) : undefined;
  }
}
