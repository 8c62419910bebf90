import { styleText } from 'node:util';
import { safeJson } from './safe.ts';

export type Format = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'inverse';
export type Paint = (format: Format | readonly Format[], text: string) => string;

/** The output of a command: for a person, a pipe or a program. */
export interface Out {
  readonly mode: 'screen' | 'plain' | 'json';
  readonly columns: number;
  readonly paint: Paint;
  /** Whether colours are shown; only then do logs keep their own. */
  readonly colours: boolean;
  /** Writes a result to standard output. */
  line(text: string): void;
  json(value: unknown): void;
  /** Writes a remark for people to standard error, apart from the results. */
  note(text: string): void;
}

/** Writes to the streams of this process. A reader that goes away (`| head`) ends the command quietly. */
export function outFor({ json }: { readonly json: boolean }): Out {
  const { stdout, stderr } = process;
  stdout.on('error', leave);
  // styleText adds colours only where the stream takes them and NO_COLOR is not set.
  const paint: Paint = (format, text) => styleText(format as Parameters<typeof styleText>[0], text, { stream: stdout });
  return {
    mode: json ? 'json' : stdout.isTTY ? 'screen' : 'plain',
    // A terminal of unknown width reports 0.
    columns: stdout.columns || 100,
    paint,
    colours: stdout.isTTY && paint('red', 'x') !== 'x',
    line: (text) => void stdout.write(`${text}\n`),
    json: (value) => void stdout.write(`${safeJson(value)}\n`),
    note: (text) => void stderr.write(`${text}\n`),
  };
}

function leave(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
}
