import { suggest } from '../config/suggest.ts';
import { fault, isEngineError } from '../core/errors.ts';
import type { Command } from './command.ts';
import { EXIT, exitCodeOf } from './exit.ts';
import { helpFor, helpForAll } from './help.ts';
import { version } from './version.ts';

/** Loaded when it is asked for: `leasehold version` and the help need no store. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  up: async () => (await import('./up.ts')).up,
  version: () => Promise.resolve(version),
};

async function main(args: readonly string[]): Promise<number> {
  const [word, ...rest] = args;
  if (word === '--version' || word === '-v') return version.run(rest);
  if (word === undefined || word === 'help' || word === '--help' || word === '-h') return help(rest[0], word);
  const command = await find(word);
  if (asksForHelp(rest)) return print(helpFor(command));
  return command.run(rest);
}

async function help(topic: string | undefined, word: string | undefined): Promise<number> {
  if (topic !== undefined) return print(helpFor(await find(topic)));
  const text = helpForAll(await Promise.all(Object.values(COMMANDS).map((load) => load())));
  if (word !== undefined) return print(text);
  // Nothing asked is nothing done.
  process.stderr.write(text);
  return EXIT.usage;
}

function find(word: string): Promise<Command> {
  const load = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  if (load !== undefined) return load();
  const meant = suggest(word, Object.keys(COMMANDS));
  throw fault(
    'INVALID_INPUT',
    { field: 'command', problem: `there is no ${JSON.stringify(word)}` },
    { hint: meant === undefined ? '"leasehold --help" lists the commands.' : `Did you mean "leasehold ${meant}"?` },
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

/** The message and what to do about it; the stack only for what we did not foresee. */
function complain(error: unknown, json: boolean): void {
  if (!isEngineError(error)) {
    console.error(error);
  } else if (json) {
    console.error(JSON.stringify({ error }));
  } else {
    console.error(error.hint === undefined ? error.message : `${error.message}\n${error.hint}`);
  }
}

const args = process.argv.slice(2);
try {
  process.exitCode = await main(args);
} catch (error) {
  complain(error, args.includes('--json'));
  process.exitCode = exitCodeOf(error);
}
