import { fallbackOf, flagOf, type OptionKey, optionOf } from '../config/options.ts';
import type { Command } from './command.ts';

/** What `leasehold --help` prints. */
export function helpForAll(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    'leasehold COMMAND [OPTIONS]',
    '',
    ...commands.map(({ name, doc }) => `  ${name.padEnd(width)}   ${doc}`),
    '',
    '"leasehold COMMAND --help" shows the options of a command.',
    '',
  ].join('\n');
}

/** What `leasehold COMMAND --help` prints; the options come from their declarations. */
export function helpFor(command: Command): string {
  const head = `leasehold ${command.name}${command.options.length === 0 ? '' : ' [OPTIONS]'}`;
  const flags = command.options.map((key) => [usageOf(key), ...describe(key)] as const);
  const width = Math.max(...flags.map(([usage]) => usage.length), 0);
  return [
    head,
    '',
    `${command.doc}.`,
    '',
    ...flags.flatMap(([usage, first, ...more]) => [
      `  ${usage.padEnd(width)}   ${first}`,
      ...more.map((line) => `  ${' '.repeat(width)}   ${line}`),
    ]),
    '',
  ].join('\n');
}

function usageOf(key: OptionKey): string {
  const { value } = optionOf(key);
  return value === undefined ? flagOf(key) : `${flagOf(key)} ${value}`;
}

function describe(key: OptionKey): readonly [string, ...string[]] {
  const { doc, env, value } = optionOf(key);
  if (value === undefined) return [doc];
  return [doc, `default ${fallbackOf(key)}; variable ${env[0]}`];
}
