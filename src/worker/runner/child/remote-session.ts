import { EngineError, fault, isEngineError } from '../../../core/errors.ts';
import type { JournalValue, TaskRef, TaskResult, Turned, TurnRequest, Waited } from '../../../protocol/link.ts';
import { messageOf, type TurnMessage, turnOf } from '../../../protocol/turn-message.ts';
import type { AttemptSession } from '../runner.ts';
import { type Answer, plainError, type Question, type Verb } from './messages.ts';

// How the desk of a worker is reached from its child processes: one question, one answer, both as plain values.

const VERBS: readonly Verb[] = ['journal', 'turn', 'waited', 'results', 'dependencies'];

/** The desk as it is seen from a child process. */
export class RemoteSession implements AttemptSession {
  readonly #ask: (question: Question) => Promise<Answer>;

  constructor(ask: (question: Question) => Promise<Answer>) {
    this.#ask = ask;
  }

  journal(): Promise<readonly JournalValue[]> {
    return this.#get('journal');
  }

  async turn(turn: TurnRequest): Promise<Turned> {
    // As texts, made on this side: what JSON would change on its way is refused.
    return this.#get('turn', messageOf(turn));
  }

  waited(): Promise<Waited | undefined> {
    return this.#get('waited');
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
export async function answerTo(question: Question, session: AttemptSession | undefined): Promise<Answer> {
  try {
    const { verb, args } = question;
    if (session === undefined)
      throw fault('CONFLICT', { problem: 'this run has no worker that could remember anything' });
    if (!VERBS.includes(verb) || !Array.isArray(args)) throw fault('INVALID_INPUT', { field: 'question' });
    const call = session[verb] as (...args: readonly unknown[]) => Promise<unknown>;
    const said = verb === 'turn' ? [turnOf(args[0] as TurnMessage, JSON.parse)] : args;
    return { ok: true, value: await call.apply(session, said) };
  } catch (error) {
    if (!isEngineError(error)) return { ok: false, other: plainError(error) };
    const { code, message, retryable, status, details, hint } = error;
    return { ok: false, ours: { code, message, retryable, status, details, hint } };
  }
}
