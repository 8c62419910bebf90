import { suggest } from '../config/load.ts';
import { fault, isEngineError } from '../core/errors.ts';
import { COMMANDS } from './commands.ts';
import { safeJson, safeText } from './display/safe.ts';
import { type Command, type Entry, type Group, isGroup } from './kit/command.ts';
import { EXIT, exitCodeOf } from './kit/exit.ts';
import { helpFor, helpForAll, helpForGroup } from './kit/help.ts';
import { version } from './kit/version.ts';

async function main(args: readonly string[]): Promise<number> {
  const [word, ...rest] = args;
  if (word === '--version' || word === '-v') return version.run(rest);
  if (word === 'help' || word === '--help' || word === '-h') return help(rest);
  // Without a command there is nothing to do.
  if (word === undefined) return complainWith(helpForAll(COMMANDS));
  const entry = find(word, COMMANDS);
  return isGroup(entry) ? runIn(word, entry, rest) : run(await entry.load(), rest);
}

/** `leasehold tasks …`: the next word names the command. */
async function runIn(name: string, group: Group, args: readonly string[]): Promise<number> {
  const [word, ...rest] = args;
  if (word === '--help' || word === '-h') return print(helpForGroup(name, group));
  const { alone, commands } = group;
  if (alone !== undefined && (word === undefined || word.startsWith('-'))) {
    return run(await find(alone, commands, name).load(), args);
  }
  if (word === undefined) return complainWith(helpForGroup(name, group));
  return run(await find(word, commands, name).load(), rest);
}

function run(command: Command, args: readonly string[]): Promise<number> {
  return asksForHelp(args) ? Promise.resolve(print(helpFor(command))) : command.run(args);
}

async function help([word, second]: readonly string[]): Promise<number> {
  if (word === undefined || word.startsWith('-')) return print(helpForAll(COMMANDS));
  const entry = find(word, COMMANDS);
  if (!isGroup(entry)) return print(helpFor(await entry.load()));
  if (second === undefined) return print(helpForGroup(word, entry));
  return print(helpFor(await find(second, entry.commands, word).load()));
}

function find<T extends Entry | Group>(word: string, among: Readonly<Record<string, T>>, group?: string): T {
  const found = Object.hasOwn(among, word) ? among[word] : undefined;
  if (found !== undefined) return found;
  const before = group === undefined ? 'leasehold' : `leasehold ${group}`;
  const meant = suggest(word, Object.keys(among));
  throw fault(
    'INVALID_INPUT',
    { field: 'command', problem: `there is no ${JSON.stringify(group === undefined ? word : `${group} ${word}`)}` },
    { hint: meant === undefined ? `"${before} --help" lists the commands.` : `Did you mean "${before} ${meant}"?` },
  );
}

function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).some((arg) => arg === '--help' || arg === '-h');
}

function print(text: string): number {
  process.stdout.write(text);
  return EXIT.fine;
}

function complainWith(text: string): number {
  process.stderr.write(text);
  return EXIT.usage;
}

/** Prints the message and the hint; a stack only for an unexpected error. Both may quote user input. */
function complain(error: unknown, json: boolean): void {
  if (!isEngineError(error)) {
    const problem = error instanceof Error ? error.message : String(error);
    if (json) console.error(safeJson({ error: fault('INTERNAL', { problem }) }));
    else console.error(error);
  } else if (json) {
    console.error(safeJson({ error }));
  } else {
    console.error(safeText(error.hint === undefined ? error.message : `${error.message}\n${error.hint}`));
  }
}

const args = process.argv.slice(2);
try {
  process.exitCode = await main(args);
} catch (error) {
  complain(error, args.includes('--json'));
  process.exitCode = exitCodeOf(error);
}
