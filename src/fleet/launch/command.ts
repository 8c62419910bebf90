import { failure } from '../../worker/handlers/failure.ts';
import { flag, object, optional, type Shape } from '../../worker/handlers/schema.ts';
import type { Launched, Launcher, LauncherHost, LauncherKind, LaunchRequest } from '../launcher.ts';
import { ownEnvironment, WORKER_DEFAULTS } from './environment.ts';
import { argv, MOST_ARGUMENTS, textOrJson, variableNames, variables } from './fields.ts';
import { CLOSED, OPEN, valuesOf } from './placeholders.ts';
import { runProgram } from './program.ts';
import { readSettings } from './settings.ts';
import { fill, fillArguments, fillJson } from './template.ts';

export interface CommandOptions {
  /** Of this process; commands get a part of it. */
  readonly environment: NodeJS.ProcessEnv;
  /** Between SIGTERM and SIGKILL when the deadline has passed; default 2 s. */
  readonly killMs?: number;
}

const KILL_MS = 2_000;
const LONGEST_NAME = 200;

const fields = {
  argv: argv(OPEN, 'The program that starts a worker, and its arguments; no shell reads them.'),
  env: optional(variables(CLOSED, 'Variables beside the ticket and the pool.')),
  pass: optional(variableNames('Variables of the node that the program gets as well, such as AWS_PROFILE.')),
  stdin: optional(textOrJson(CLOSED, 'What the program can read: a text, or anything else as JSON.')),
  same_host: optional(flag('The worker runs on this host, and gets the way to the store from the node.')),
};

const schema = object(fields, {
  check({ argv: [program = '', ...rest] }, report) {
    if (program === '') report(['argv', 0], 'must not be empty');
    else if (program !== '{leasehold}' && program.includes('{')) report(['argv', 0], 'must not have a placeholder');
    if (rest.length >= MOST_ARGUMENTS) report(['argv'], `must not have more than ${MOST_ARGUMENTS} entries`);
  },
});

/** Starts workers by a program of the operator's: docker, aws, systemd-run, a script. It has started one when it ends with 0. */
export function commandKind(options: CommandOptions): LauncherKind {
  return {
    kind: 'command',
    make: (settings, host) => new CommandLauncher(readSettings(schema, settings), host, options),
  };
}

class CommandLauncher implements Launcher {
  readonly #settings: Shape<typeof fields>;
  readonly #host: LauncherHost;
  readonly #options: CommandOptions;

  constructor(settings: Shape<typeof fields>, host: LauncherHost, options: CommandOptions) {
    this.#settings = settings;
    this.#host = host;
    this.#options = options;
  }

  async launch(request: LaunchRequest): Promise<Launched> {
    const { signal, ticket } = request;
    const values = valuesOf(request, this.#host);
    const { stdin } = this.#settings;
    const [file = '', ...args] = fillArguments(this.#settings.argv, values);
    const input =
      typeof stdin === 'string' || stdin === undefined
        ? stdin && fill(stdin, values)
        : JSON.stringify(fillJson(stdin, values));
    const program = { file, args, env: this.#environmentOf(request), stdin: input };
    const output = await runProgram(program, { signal, ticket, killMs: this.#options.killMs ?? KILL_MS });
    return { started: lastLine(output) ?? `by ${file}` };
  }

  #environmentOf(request: LaunchRequest): Readonly<Record<string, string | undefined>> {
    const { environment } = this.#options;
    const { env = {}, pass = [], same_host: sameHost = false } = this.#settings;
    const values = valuesOf(request, this.#host);
    const missing = pass.filter((name) => environment[name] === undefined);
    if (missing.length > 0) {
      throw failure('NO_VARIABLE', `This process has no variable ${missing.join(', ')}, which the launcher hands on.`);
    }
    return {
      ...ownEnvironment(environment),
      ...Object.fromEntries(pass.map((name) => [name, environment[name]])),
      ...(sameHost ? wayToTheStore(this.#host.localEnv) : {}),
      ...WORKER_DEFAULTS,
      ...request.env,
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value, values)])),
    };
  }
}

/** Of what a worker on this host may have: a program that starts one needs no more of it. */
function wayToTheStore(localEnv: LauncherHost['localEnv']): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(localEnv).filter(([name]) => /^(LEASEHOLD_STORE|PG[A-Z]+)$/.test(name)));
}

/** What a program that starts something calls it, such as the id of a container. */
function lastLine(output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.replace(/[\p{Cc}\s]+/gu, ' ').trim());
  return lines.findLast((line) => line !== '')?.slice(0, LONGEST_NAME);
}
