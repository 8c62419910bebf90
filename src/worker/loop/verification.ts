/** The commands of a verification: all of them run, also after one has failed. */
import { Writable } from 'node:stream';
import { StateError } from '../../flow/machine/scopes.ts';
import { LineSplitter } from '../agents/lines.ts';
import { withinMs } from '../agents/within.ts';
import { type CommandEnd, runCommand } from '../handlers/command.ts';
import { handedOn } from '../handlers/shell.ts';
import { Tail } from '../handlers/tail.ts';
import type { LoopHost } from './loop-host.ts';

export interface VerificationOptions extends Pick<LoopHost, 'environment' | 'timers'> {
  readonly folder: string;
  /** For each command; 0: no bound. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
}

export interface CommandReport {
  /** The beginning of it. */
  readonly command: string;
  readonly ok: boolean;
  /** Null: it was ended, or could not be started. */
  readonly exitCode: number | null;
  /** What came of it, in a few words. */
  readonly how: string;
  /** The end of what it said. */
  readonly tail: string;
}

const BOUNDS = { line: 4 * 1024 * 1024, total: Number.POSITIVE_INFINITY };
const KEPT_LINES = 60;
const KEPT_TEXT = 8 * 1024;
/** They are kept with the run, and are in the prompt of the next iteration. */
const MOST_NOTES = 16 * 1024;
const MOST_COMMAND = 500;
const KILL_MS = 2_000;

/** Rejects only when the signal is aborted, and nothing of a command is left then. */
export async function runCommands(
  commands: readonly string[],
  options: VerificationOptions,
): Promise<readonly CommandReport[]> {
  const reports: CommandReport[] = [];
  for (const command of commands) {
    options.onLine(`$ ${command}`);
    const report = await runOne(command, options);
    options.onLine(`${report.ok ? 'passed' : 'failed'}: ${report.how}`);
    reports.push(report);
  }
  return reports;
}

async function runOne(command: string, options: VerificationOptions): Promise<CommandReport> {
  const { folder, environment, timers, timeoutMs, signal, onLine } = options;
  const tail = new Tail(KEPT_TEXT);
  const sink = () => {
    const lines = new LineSplitter(BOUNDS, onLine, (what) => onLine(`the rest of it is not told: ${what}`));
    return { to: lines.writable(), tail, lines };
  };
  const [stdout, stderr] = [sink(), sink()];
  const env = Object.fromEntries(Object.entries(handedOn(environment())).filter(([, value]) => value !== undefined));
  let running: Promise<CommandEnd> | undefined;
  const report = (exitCode: number | null, how: string): CommandReport => {
    const said = tail.lines(KEPT_LINES).join('\n');
    const shown = command.length > MOST_COMMAND ? `${command.slice(0, MOST_COMMAND).toWellFormed()} …` : command;
    return { command: shown, ok: exitCode === 0, exitCode, how, tail: said };
  };
  try {
    const { exitCode, signal: by } = await withinMs(timers, timeoutMs, signal, (own) => {
      running = runCommand(
        { file: 'sh', args: ['-c', command], cwd: folder, env, stdin: undefined },
        { stdout, stderr, signal: own, killMs: KILL_MS },
      );
      return running;
    });
    return report(exitCode, exitCode === null ? `ended by ${by ?? 'a signal'}` : `exit code ${exitCode}`);
  } catch (error) {
    await running?.catch(() => {});
    signal.throwIfAborted();
    if (error instanceof StateError) return report(null, `it took more than ${timeoutMs / 1000} s`);
    return report(null, `it could not be started: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    for (const { lines } of [stdout, stderr]) lines.end();
    await drained([stdout.to, stderr.to]);
  }
}

/** What was written is told before the next command is. */
async function drained(streams: readonly Writable[]): Promise<void> {
  await Promise.all(streams.map((to) => new Promise<void>((resolve) => void to.end(resolve))));
}

/** What the next prompt says of commands that failed, as far as it has room. Empty: none has. */
export function notesOf(reports: readonly CommandReport[]): string {
  const failed = reports.filter(({ ok }) => !ok);
  const notes: string[] = [];
  let length = 0;
  for (const { command, how, tail } of failed) {
    const note = [`$ ${command}`, how, ...(tail === '' ? [] : [tail])].join('\n');
    length += note.length;
    if (length > MOST_NOTES) return [...notes, `${failed.length - notes.length} more commands failed.`].join('\n\n');
    notes.push(note);
  }
  return notes.join('\n\n');
}
