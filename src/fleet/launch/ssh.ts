import { failure } from '../../worker/handlers/failure.ts';
import { object, optional, type Shape, text, whole } from '../../worker/handlers/schema.ts';
import type { Launched, Launcher, LauncherHost, LauncherKind, LaunchRequest } from '../launcher.ts';
import { ownEnvironment, WORKER_DEFAULTS } from './environment.ts';
import { argv, path, variables } from './fields.ts';
import { OPEN, valuesOf } from './placeholders.ts';
import { runProgram } from './program.ts';
import { remoteScript } from './remote-script.ts';
import { readSettings } from './settings.ts';
import { fill, fillArguments } from './template.ts';

export interface SshOptions {
  /** Of this process; ssh gets a part of it, and the socket of the agent that has the keys. */
  readonly environment: NodeJS.ProcessEnv;
  /** Between SIGTERM and SIGKILL when the deadline has passed; default 2 s. */
  readonly killMs?: number;
}

const KILL_MS = 2_000;
const CONNECT_SECONDS = 10;
/** 255 is of ssh itself; other codes are those of the host. */
const OWN_FAILURE = 'ssh ended with exit code 255.';

const fields = {
  host: text({
    minLength: 1,
    check: checkHost,
    about: 'The host, as ssh knows it: a name, an address, or a Host of its configuration.',
  }),
  user: optional(text({ check: checkUser })),
  port: optional(whole({ min: 1, max: 65_535 })),
  identity_file: optional(path('The file with the private key; default: those of the agent and of the configuration.')),
  known_hosts_file: optional(path('The file with the keys of hosts; a host that is not in it is refused.')),
  config_file: optional(path('The configuration of ssh; default: that of the user who runs the node.')),
  connect_seconds: optional(whole({ min: 1, max: 300, about: `Default: ${CONNECT_SECONDS}.` })),
  command: optional(argv(OPEN, 'The worker; default: leasehold {args}. No shell reads it.')),
  env: optional(variables(OPEN, 'Variables of the worker, such as LEASEHOLD_JOIN.')),
  output_file: optional(path('A file of the host that gets what the worker writes; default: nobody keeps it.')),
};

const schema = object(fields, {
  check({ command }, report) {
    if (command?.[0] === '') report(['command', 0], 'must not be empty');
  },
});

/** Starts workers on another host by the ssh of this one. They go on when the connection has ended. */
export function sshKind(options: SshOptions): LauncherKind {
  return { kind: 'ssh', make: (settings, host) => new SshLauncher(readSettings(schema, settings), host, options) };
}

class SshLauncher implements Launcher {
  readonly #settings: Shape<typeof fields>;
  readonly #host: LauncherHost;
  readonly #options: SshOptions;

  constructor(settings: Shape<typeof fields>, host: LauncherHost, options: SshOptions) {
    this.#settings = settings;
    this.#host = host;
    this.#options = options;
  }

  async launch(request: LaunchRequest): Promise<Launched> {
    const { signal, ticket } = request;
    const { environment, killMs = KILL_MS } = this.#options;
    const { host } = this.#settings;
    const agent = environment['SSH_AUTH_SOCK'];
    const env = { ...ownEnvironment(environment), ...(agent === undefined ? {} : { SSH_AUTH_SOCK: agent }) };
    const program = { file: 'ssh', args: argumentsOf(this.#settings), env, stdin: this.#scriptFor(request) };
    const output = await runProgram(program, { signal, ticket, killMs }).catch((error: Error) => {
      if (!error.message.startsWith(OWN_FAILURE)) throw error;
      throw failure('UNREACHABLE', error.message.replace(OWN_FAILURE, `ssh could not work on ${host}.`));
    });
    const pid = /^pid (\d{1,10})$/m.exec(output)?.[1];
    if (pid === undefined) throw failure('NOT_STARTED', `${host} did not say which process it has started.`);
    return { started: `${host} pid ${pid}` };
  }

  /** All that the host is told, on standard input: the ticket is in no arguments, here nor there. */
  #scriptFor(request: LaunchRequest): string {
    const { command = ['leasehold', '{args}'], env = {}, output_file: outputFile } = this.#settings;
    const values = valuesOf(request, this.#host);
    const filled = Object.entries(env).map(([name, value]) => [name, fill(value, values)] as const);
    return remoteScript({
      argv: fillArguments(command, values),
      env: { ...WORKER_DEFAULTS, ...Object.fromEntries(filled), ...request.env },
      outputFile,
    });
  }
}

/** Never a question, never a forwarded thing, never an unknown host; what names the host cannot be an option. */
export function argumentsOf(
  settings: Omit<Shape<typeof fields>, 'command' | 'env' | 'output_file'>,
): readonly string[] {
  const { host, user, port, identity_file: identity, known_hosts_file: known, config_file: config } = settings;
  const options = {
    BatchMode: 'yes',
    ConnectTimeout: String(settings.connect_seconds ?? CONNECT_SECONDS),
    ServerAliveInterval: '5',
    ServerAliveCountMax: '2',
    StrictHostKeyChecking: 'yes',
    ...(known === undefined ? {} : { UserKnownHostsFile: known }),
    ...(identity === undefined ? {} : { IdentitiesOnly: 'yes' }),
    ClearAllForwardings: 'yes',
    ForwardAgent: 'no',
    ForwardX11: 'no',
    PermitLocalCommand: 'no',
    ControlMaster: 'no',
    ControlPath: 'none',
    RequestTTY: 'no',
    EscapeChar: 'none',
    LogLevel: 'ERROR',
  };
  return [
    ...(config === undefined ? [] : ['-F', config]),
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    ...(identity === undefined ? [] : ['-i', identity]),
    ...(port === undefined ? [] : ['-p', String(port)]),
    ...(user === undefined ? [] : ['-l', user]),
    '--',
    host,
    'sh -s',
  ];
}

function checkHost(host: string): string | undefined {
  if (host.length > 253) return 'must not be longer than 253 characters';
  if (/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(host) || /^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(host))
    return undefined;
  return 'must be the name or the address of a host; a user and a port have fields of their own';
}

function checkUser(user: string): string | undefined {
  return /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/.test(user) ? undefined : 'must be the name of a user';
}
