import { styleText } from 'node:util';
import { safeJson } from './safe.ts';

export type Format = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'inverse';
export type Paint = (format: Format | readonly Format[], text: string) => string;

/** Where a command says what it found: to a person, into a pipe, or to a program. */
export interface Out {
  readonly mode: 'screen' | 'plain' | 'json';
  readonly columns: number;
  readonly paint: Paint;
  /** Whether colours are shown at all; logs keep their own only then. */
  readonly colours: boolean;
  /** Standard output: what was asked for. */
  line(text: string): void;
  json(value: unknown): void;
  /** Standard error, where it mixes with no result: what a person should know. */
  note(text: string): void;
}

/** The streams of this process. A reader that goes away (`| head`) ends the command, quietly. */
export function outFor({ json }: { readonly json: boolean }): Out {
  const { stdout, stderr } = process;
  stdout.on('error', leave);
  // Colours only where the stream takes them and NO_COLOR is not set: styleText looks at both.
  const paint: Paint = (format, text) => styleText(format as Parameters<typeof styleText>[0], text, { stream: stdout });
  return {
    mode: json ? 'json' : stdout.isTTY ? 'screen' : 'plain',
    // A terminal that does not know its width says 0.
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
