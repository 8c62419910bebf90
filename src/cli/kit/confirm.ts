import { createInterface } from 'node:readline/promises';
import { fault } from '../../core/errors.ts';

export interface Question {
  /** The question: what is about to happen. */
  readonly ask: string;
  /** The word to type. A plain yes is too easy for what cannot be undone. */
  readonly word: string;
  /** The command has no `--dry-run`. */
  readonly onlyDoes?: boolean | undefined;
}

/**
 * Asks before an action that cannot be undone. On a terminal the word must be typed; without a terminal `--yes` is required.
 * Resolves to whether to go on.
 */
export async function confirm(question: Question, { yes }: { readonly yes: boolean }): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw nobodyToAsk(question);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await Promise.race([
      lines.question(`${question.ask}\nType ${question.word} to go on: `),
      closed(lines),
    ]);
    return answer.trim() === question.word;
  } finally {
    lines.close();
  }
}

/** Ctrl-C and Ctrl-D mean no. */
function closed(lines: ReturnType<typeof createInterface>): Promise<string> {
  return new Promise((resolve) => {
    lines.once('SIGINT', () => resolve(''));
    lines.once('close', () => resolve(''));
  });
}

function nobodyToAsk({ ask, onlyDoes = false }: Question): Error {
  return fault(
    'INVALID_INPUT',
    { field: 'command line', problem: `${ask} There is no terminal to ask on` },
    { hint: `Say --yes to do it without being asked${onlyDoes ? '' : '; --dry-run only counts'}.` },
  );
}
