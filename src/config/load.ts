import { parseArgs } from 'node:util';
import { fault } from '../core/errors.ts';
import { type Config, flagOf, OPTION_KEYS, type OptionKey, optionOf } from './options.ts';
import { suggest } from './suggest.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a command takes: its name for the errors, and the settings that have a meaning for it. */
export interface Usage {
  readonly name: string;
  readonly options: readonly OptionKey[];
}

/** Settings by precedence: flag, then environment, then default. Whatever is not understood is refused. */
export function loadConfig(usage: Usage, args: readonly string[], env: Environment = process.env): Config {
  refuseNearMisses(env);
  const flags = readFlags(usage, args);
  const config: Record<string, unknown> = {};
  for (const key of OPTION_KEYS) {
    config[key] = flags.has(key) ? flags.get(key) : fromEnvironment(key, env, config as Config);
  }
  return Object.freeze(config as Config);
}

function fromEnvironment(key: OptionKey, env: Environment, sofar: Config): unknown {
  const option = optionOf(key);
  for (const name of option.env) {
    const text = env[name];
    // Set to nothing is how shells and container files leave a variable out.
    if (text === undefined || text === '' || option.foreignEnv?.test(text)) continue;
    return (option.parseEnv ?? option.parse)(text, name);
  }
  return option.fallback(sofar);
}

function readFlags(usage: Usage, args: readonly string[]): Map<OptionKey, unknown> {
  const keys = new Map(usage.options.map((key) => [flagOf(key), key]));
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(
      usage.options.map((key) => [
        flagOf(key).slice(2),
        { type: optionOf(key).value === undefined ? 'boolean' : 'string' } as const,
      ]),
    ),
  });
  const values = new Map<OptionKey, unknown>();
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') throw unexpected(usage, token.value);
    const key = keys.get(token.rawName);
    if (key === undefined) throw unknownFlag(usage, token.rawName, keys.keys());
    values.set(key, flagValue(key, token.value, token.inlineValue));
  }
  return values;
}

function flagValue(key: OptionKey, text: string | undefined, inline: boolean | undefined): unknown {
  const { value, parse } = optionOf(key);
  const flag = flagOf(key);
  if (value === undefined) {
    if (inline) throw fault('INVALID_INPUT', { field: flag, problem: 'it takes no value' });
    return parse('', flag);
  }
  // `--port --json`: the next flag is not the value that was forgotten. `--store=-x` says that it is.
  if (text === undefined || (text.startsWith('-') && !inline)) {
    throw fault('INVALID_INPUT', { field: flag, problem: `it needs a value (${value})` });
  }
  return parse(text, flag);
}

function unknownFlag(usage: Usage, flag: string, known: Iterable<string>): Error {
  const meant = suggest(flag, known);
  return fault(
    'UNKNOWN_OPTION',
    { option: flag, command: usage.name },
    {
      hint:
        meant === undefined
          ? `"leasehold ${usage.name} --help" lists the options of this command.`
          : `Did you mean ${meant}?`,
    },
  );
}

function unexpected(usage: Usage, text: string): Error {
  return fault(
    'INVALID_INPUT',
    { field: 'command line', problem: `"leasehold ${usage.name}" takes no argument like ${JSON.stringify(text)}` },
    { hint: `"leasehold ${usage.name} --help" shows what it takes.` },
  );
}

/**
 * A variable that is one slip away from ours is refused: ignoring it would be worse. Others that begin the same way are
 * left alone, since Kubernetes puts LEASEHOLD_SERVICE_HOST and the like beside a service of that name.
 */
function refuseNearMisses(env: Environment): void {
  const ours = OPTION_KEYS.flatMap((key) => optionOf(key).env).filter((name) => name.startsWith(PREFIX));
  // Without the prefix, which would lend its letters to the comparison.
  const tails = ours.map((name) => name.slice(PREFIX.length));
  for (const name of Object.keys(env)) {
    if (!name.startsWith(PREFIX) || ours.includes(name)) continue;
    const meant = suggest(name.slice(PREFIX.length), tails);
    if (meant === undefined) continue;
    throw fault('UNKNOWN_OPTION', { option: name }, { hint: `Did you mean ${PREFIX}${meant}?` });
  }
}

const PREFIX = 'LEASEHOLD_';
