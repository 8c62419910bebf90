import { openSync, readFileSync, writeSync } from 'node:fs';

/** What a client asked for. */
export interface Asked {
  readonly verb: 'push' | 'claim' | 'complete' | 'fail' | 'release';
  readonly request?: unknown;
  readonly op?: string | undefined;
  readonly task?: number;
  readonly attempt?: number;
  readonly result?: unknown;
}

/** One call as its client saw it. `unknown`: no answer came, so it may have happened or not. */
export interface Call {
  readonly asked: Asked;
  readonly outcome: 'ok' | 'refused' | 'unknown';
  readonly answer?: { readonly task?: number; readonly grants?: readonly Granted[]; readonly state?: string };
  readonly code?: string;
}

export interface Granted {
  readonly task: number;
  readonly attempt: number;
  readonly tries: number;
  readonly maxTries: number;
}

interface Line {
  readonly call: number;
  readonly asked?: Asked;
  readonly answer?: Call['answer'];
  readonly code?: string;
}

/** Written before and after each call, so that a client which is killed in between leaves its question behind. */
export class History {
  readonly #file: number;
  #calls = 0;

  constructor(file: string) {
    this.#file = openSync(file, 'a');
  }

  async note(asked: Asked, call: () => Promise<Call['answer']>): Promise<void> {
    const id = this.#calls++;
    this.#write({ call: id, asked });
    try {
      const answer = (await call()) ?? {};
      this.#write({ call: id, answer });
    } catch (error) {
      this.#write({ call: id, code: String((error as { code?: unknown }).code ?? error) });
    }
  }

  #write(line: Line): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}

export function readHistory(file: string): readonly Call[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return []; // killed before its first word
  }
  const calls = new Map<number, Call>();
  // What follows the last line break is a line that death cut short.
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
    if (line === '') continue;
    const { call, asked, answer, code } = JSON.parse(line) as Line;
    if (asked !== undefined) calls.set(call, { asked, outcome: 'unknown' });
    else {
      const before = calls.get(call) as Call;
      if (answer !== undefined) calls.set(call, { ...before, outcome: 'ok', answer });
      else calls.set(call, { ...before, outcome: 'refused', code: code as string });
    }
  }
  return [...calls.values()];
}
