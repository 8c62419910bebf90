import { EngineError, fault, isEngineError } from '../../core/errors.ts';
import { encodePayload } from '../../core/payload.ts';
import type { ChildRequest, Parked, Remembered, TaskRef, TaskResult, Waited, Waiting } from '../../protocol/link.ts';
import { type Answer, plainError, type Question, type Verb } from './messages.ts';
import type { Desk } from './runner.ts';

// How the desk of a worker is reached from its child processes: one question, one answer, both as plain values.

const VERBS: readonly Verb[] = ['checkpoints', 'checkpoint', 'park', 'waited', 'spawn', 'results', 'dependencies'];

/** The desk as it is seen from a child process. */
export class FarDesk implements Desk {
  readonly #ask: (question: Question) => Promise<Answer>;

  constructor(ask: (question: Question) => Promise<Answer>) {
    this.#ask = ask;
  }

  checkpoints(): Promise<readonly Remembered[]> {
    return this.#get('checkpoints');
  }

  async checkpoint(key: string, value: unknown): Promise<string> {
    // Checked on this side: what JSON would change on its way is refused.
    encodePayload(value, { field: 'value' });
    return this.#get('checkpoint', key, value);
  }

  async park(wait: Waiting): Promise<Parked> {
    if (wait.form !== undefined) encodePayload(wait.form, { field: 'form' });
    return this.#get('park', wait);
  }

  waited(): Promise<Waited | undefined> {
    return this.#get('waited');
  }

  async spawn(child: ChildRequest): Promise<{ readonly id: string; readonly task: number }> {
    encodePayload(child.input);
    return this.#get('spawn', child);
  }

  results(tasks: readonly TaskRef[]): Promise<readonly TaskResult[]> {
    return this.#get('results', tasks);
  }

  dependencies(): Promise<readonly (TaskResult & { readonly optional: boolean })[]> {
    return this.#get('dependencies');
  }

  async #get<T>(verb: Verb, ...args: unknown[]): Promise<T> {
    const answer = await this.#ask({ verb, args });
    if (answer.ok) return answer.value as T;
    if ('ours' in answer) throw new EngineError(answer.ours);
    throw Object.assign(new Error(answer.other.message), { name: answer.other.name });
  }
}

/** On the worker's side. Never rejects: a child may ask anything. */
export async function answerTo(question: Question, desk: Desk | undefined): Promise<Answer> {
  try {
    const { verb, args } = question;
    if (desk === undefined) throw fault('CONFLICT', { problem: 'this run has no worker that could remember anything' });
    if (!VERBS.includes(verb) || !Array.isArray(args)) throw fault('INVALID_INPUT', { field: 'question' });
    const call = desk[verb] as (...args: readonly unknown[]) => Promise<unknown>;
    return { ok: true, value: await call.apply(desk, args) };
  } catch (error) {
    if (!isEngineError(error)) return { ok: false, other: plainError(error) };
    const { code, message, retryable, status, details, hint } = error;
    return { ok: false, ours: { code, message, retryable, status, details, hint } };
  }
}
