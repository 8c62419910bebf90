import { parseArgs } from 'node:util';
import { fault } from '../core/errors.ts';
import { suggest } from '../core/suggest.ts';
import { SECRET_VARIABLE } from './environment.ts';
import { type Config, flagOf, negatedFlagOf, OPTION_KEYS, type OptionKey, optionOf } from './options.ts';

export { suggest };

export type Environment = Readonly<Record<string, string | undefined>>;

/** A positional argument: `QUEUE` of `push QUEUE [JSON]`. */
export interface Argument {
  /** The placeholder in the help. */
  readonly name: string;
  readonly doc: string;
  readonly optional?: true;
  /** Takes all that follow, at least one; only the last argument may. */
  readonly many?: true;
  /** A number that may be below zero: `-5` is its value, not a flag. */
  readonly signed?: true;
}

/** What a command takes: its name for errors, its arguments, and its settings. */
export interface Usage {
  readonly name: string;
  readonly args?: readonly Argument[];
  readonly options: readonly OptionKey[];
}

/** One call of a command. */
export interface Call {
  readonly config: Config;
  /** Checked against the usage. */
  readonly args: readonly string[];
}

/** Settings by precedence: flag, then environment, then default. Anything that is not understood is refused. */
export function loadConfig(usage: Usage, args: readonly string[], env?: Environment): Config {
  return loadCall(usage, args, env).config;
}

/** The settings and the arguments of a call. */
export function loadCall(usage: Usage, args: readonly string[], env: Environment = process.env): Call {
  refuseNearMisses(env);
  const { flags, words } = readLine(usage, args);
  const config: Record<string, unknown> = {};
  const sources = new Map<OptionKey, Source>();
  for (const key of OPTION_KEYS) {
    const option = optionOf(key);
    const variable = variableOf(key, env);
    if (flags.has(key)) config[key] = flags.get(key);
    else if (variable === undefined) config[key] = option.fallback(config as Config);
    else config[key] = (option.parseEnv ?? option.parse)(env[variable] as string, variable);
    sources.set(key, flags.has(key) ? 'flag' : variable === undefined ? 'default' : 'environment');
  }
  const frozen = Object.freeze(config as Config);
  SOURCES.set(frozen, sources);
  return { config: frozen, args: words };
}

/** Where a setting comes from. */
export type Source = 'flag' | 'environment' | 'default';

const SOURCES = new WeakMap<Config, ReadonlyMap<OptionKey, Source>>();

/** The source of a setting: of two settings that exclude each other, the more explicit one counts. */
export function sourceOf(config: Config, key: OptionKey): Source {
  return SOURCES.get(config)?.get(key) ?? 'default';
}

/** The same settings but for these, each from where it came. */
export function changed(config: Config, changes: Partial<Config>): Config {
  const copy = Object.freeze({ ...config, ...changes });
  const sources = SOURCES.get(config);
  if (sources !== undefined) SOURCES.set(copy, sources);
  return copy;
}

/** The variable that counts: the first of its names that is set. */
function variableOf(key: OptionKey, env: Environment): string | undefined {
  const { env: names, foreignEnv } = optionOf(key);
  // Shells and container files leave a variable out by setting it to nothing.
  return names.find((name) => env[name] !== undefined && env[name] !== '' && !foreignEnv?.test(env[name]));
}

interface Line {
  readonly flags: ReadonlyMap<OptionKey, unknown>;
  readonly words: readonly string[];
}

function readLine(usage: Usage, args: readonly string[]): Line {
  const known = spellings(usage.options);
  const { tokens } = parseArgs({
    args: usage.args?.some(({ signed }) => signed) ? args.map(hidden) : [...args],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(usage.options.map((key) => [flagOf(key).slice(2), parserOption(key)])),
  });
  const flags = new Map<OptionKey, unknown>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      words.push(shown(token.value));
      continue;
    }
    const found = known.get(token.rawName);
    if (found === undefined) throw unknownFlag(usage, token.rawName, known.keys());
    const value = found.negated ? negated(token) : flagValue(found.key, token);
    flags.set(found.key, optionOf(found.key).many ? [...asList(flags.get(found.key)), ...asList(value)] : value);
  }
  checkWords(usage, words);
  return { flags, words };
}

/** Hides negative numbers from the flag parser. */
const BEHIND = '\u0000';
const hidden = (text: string): string => (/^-\d+$/.test(text) ? BEHIND + text : text);
const shown = (text: string): string => text.replace(BEHIND, '');

interface Spelling {
  readonly key: OptionKey;
  readonly negated: boolean;
}

/** Every spelling of the options of a command. */
function spellings(keys: readonly OptionKey[]): ReadonlyMap<string, Spelling> {
  const known = new Map<string, Spelling>();
  for (const key of keys) {
    const { short, negatable, either } = optionOf(key);
    known.set(flagOf(key), { key, negated: false });
    if (short !== undefined) known.set(`-${short}`, { key, negated: false });
    if (negatable || either) known.set(negatedFlagOf(key), { key, negated: true });
  }
  return known;
}

function parserOption(key: OptionKey): { type: 'string' | 'boolean'; short?: string } {
  const { value, short } = optionOf(key);
  return { type: value === undefined ? 'boolean' : 'string', ...(short === undefined ? {} : { short }) };
}

function asList(value: unknown): readonly unknown[] {
  return (value ?? []) as readonly unknown[];
}

interface FlagToken {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function flagValue(key: OptionKey, { rawName, value: text, inlineValue: inline }: FlagToken): unknown {
  const { value, parse, signed } = optionOf(key);
  if (value === undefined) {
    refuseValue(rawName, inline);
    return parse('', rawName);
  }
  // `--port --json`: the next flag is not the forgotten value. `--store=-x` gives a value that begins with a dash; a dash alone is no flag.
  const forgotten = text?.startsWith('-') && text !== '-' && !inline && !(signed && /^-\d/.test(text));
  if (text === undefined || forgotten) {
    throw fault('INVALID_INPUT', { field: rawName, problem: `it needs a value (${value})` });
  }
  return parse(text, rawName);
}

function negated({ rawName, inlineValue }: FlagToken): boolean {
  refuseValue(rawName, inlineValue);
  return false;
}

function refuseValue(flag: string, inline: boolean | undefined): void {
  if (inline) throw fault('INVALID_INPUT', { field: flag, problem: 'it takes no value' });
}

function checkWords(usage: Usage, words: readonly string[]): void {
  const { args = [] } = usage;
  const missing = args.find(({ optional }, i) => !optional && words[i] === undefined);
  if (missing !== undefined) throw lacking(usage, missing);
  const extra = args.at(-1)?.many ? undefined : words[args.length];
  if (extra !== undefined) throw unexpected(usage, extra);
}

function lacking(usage: Usage, { name, doc }: Argument): Error {
  return fault(
    'INVALID_INPUT',
    { field: 'command line', problem: `"leasehold ${usage.name}" needs ${name} (${lowerFirst(doc)})` },
    { hint: `"leasehold ${usage.name} --help" shows what it takes.` },
  );
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
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
 * Refuses a variable that is one typing error away from ours: ignoring it would be worse. Other variables with our prefix
 * are left alone, since Kubernetes sets LEASEHOLD_SERVICE_HOST and the like beside a service of that name.
 */
function refuseNearMisses(env: Environment): void {
  const known = [SECRET_VARIABLE, ...OPTION_KEYS.flatMap((key) => optionOf(key).env)];
  const ours = known.filter((name) => name.startsWith(PREFIX));
  // Without the prefix, whose letters would make everything look alike.
  const tails = ours.map((name) => name.slice(PREFIX.length));
  for (const name of Object.keys(env)) {
    if (!name.startsWith(PREFIX) || ours.includes(name)) continue;
    const meant = suggest(name.slice(PREFIX.length), tails);
    if (meant === undefined) continue;
    throw fault('UNKNOWN_OPTION', { option: name }, { hint: `Did you mean ${PREFIX}${meant}?` });
  }
}

const PREFIX = 'LEASEHOLD_';
