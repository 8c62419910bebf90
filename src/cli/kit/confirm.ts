import { createInterface } from 'node:readline/promises';
import { fault } from '../../core/errors.ts';

export interface Question {
  /** What is about to happen, as a question. */
  readonly ask: string;
  /** What must be typed to go on; a plain yes comes too easily for what cannot be undone. */
  readonly word: string;
}

/**
 * Asks before something that cannot be taken back. On a terminal the word must be typed; where nobody can answer, only
 * `--yes` will do. Resolves to whether to go on.
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

/** Ctrl-C and Ctrl-D are a no. */
function closed(lines: ReturnType<typeof createInterface>): Promise<string> {
  return new Promise((resolve) => {
    lines.once('SIGINT', () => resolve(''));
    lines.once('close', () => resolve(''));
  });
}

function nobodyToAsk({ ask }: Question): Error {
  return fault(
    'INVALID_INPUT',
    { field: 'command line', problem: `${ask} There is no terminal to ask on` },
    { hint: 'Say --yes to do it without being asked; --dry-run only counts.' },
  );
}
