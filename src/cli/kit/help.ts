import type { Argument } from '../../config/load.ts';
import { fallbackOf, type OptionKey, optionOf, usageOf } from '../../config/options.ts';
import { type Command, type Entry, type Group, isGroup } from './command.ts';

/** What `leasehold --help` prints. */
export function helpForAll(commands: Readonly<Record<string, Entry | Group>>): string {
  const rows = Object.entries(commands).map(
    ([name, entry]) =>
      [name, isGroup(entry) ? `${entry.doc}: ${Object.keys(entry.commands).join(', ')}` : entry.doc] as const,
  );
  return [
    'leasehold COMMAND [OPTIONS]',
    '',
    ...listed(rows),
    '',
    '"leasehold COMMAND --help" shows the options of a command.',
    '',
  ].join('\n');
}

/** What `leasehold tasks --help` prints. */
export function helpForGroup(name: string, { doc, commands }: Group): string {
  const rows = Object.entries(commands).map(([word, entry]) => [`${name} ${word}`, entry.doc] as const);
  return [
    `leasehold ${name} ${Object.keys(commands).join('|')} [OPTIONS]`,
    '',
    `${doc}.`,
    '',
    ...listed(rows),
    '',
    `"leasehold ${name} COMMAND --help" shows the options of a command.`,
    '',
  ].join('\n');
}

/** What `leasehold COMMAND --help` prints; arguments and options come from their declarations. */
export function helpFor(command: Command): string {
  const { args = [], examples = [] } = command;
  return [
    usageLine(command),
    '',
    `${command.doc}.`,
    ...paragraph(args.map(({ name, doc }) => [name, doc] as const)),
    ...paragraph(command.options.map((key) => [usageOf(key), ...describe(key)] as const)),
    ...(examples.length === 0 ? [] : ['', 'Examples:']),
    ...examples.flatMap(({ line, does }) => [`  leasehold ${line}`, `      ${does}`]),
    '',
  ].join('\n');
}

/** `leasehold push QUEUE [JSON|-] [OPTIONS]`. */
export function usageLine({ name, args = [], options }: Command): string {
  return ['leasehold', name, ...args.map(argumentUsage), ...(options.length === 0 ? [] : ['[OPTIONS]'])].join(' ');
}

function argumentUsage({ name, optional, many }: Argument): string {
  const words = many ? `${name}…` : name;
  return optional ? `[${words}]` : words;
}

type Row = readonly [usage: string, first: string, ...more: string[]];

function paragraph(rows: readonly Row[]): readonly string[] {
  return rows.length === 0 ? [] : ['', ...listed(rows)];
}

function listed(rows: readonly Row[]): readonly string[] {
  const width = Math.max(...rows.map(([usage]) => usage.length));
  return rows.flatMap(([usage, first, ...more]) => [
    `  ${usage.padEnd(width)}   ${first}`,
    ...more.map((line) => `  ${' '.repeat(width)}   ${line}`),
  ]);
}

function describe(key: OptionKey): readonly [string, ...string[]] {
  const { doc, env, value } = optionOf(key);
  if (value === undefined) return [doc];
  const variable = env[0] === undefined ? '' : `; variable ${env[0]}`;
  return [doc, `default ${fallbackOf(key)}${variable}`];
}
