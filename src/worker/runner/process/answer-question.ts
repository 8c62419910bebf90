import { fault, isEngineError } from '../../../core/errors.ts';
import { type TurnMessage, turnOf } from '../../../protocol/turn-message.ts';
import { type Answer, plainError, type Question, type Verb } from '../child/messages.ts';
import type { AttemptSession } from '../runner.ts';

const VERBS: readonly Verb[] = ['journal', 'turn', 'waited', 'results', 'dependencies', 'cancelChildren', 'definition'];

/** Answers a durable call of a child process. Never rejects: a child may send anything. */
export async function answerQuestion(question: Question, session: AttemptSession | undefined): Promise<Answer> {
  try {
    const { verb, args } = question;
    if (session === undefined)
      throw fault('CONFLICT', { problem: 'durable calls need a worker, and this run has none' });
    if (!VERBS.includes(verb) || !Array.isArray(args)) throw fault('INVALID_INPUT', { field: 'question' });
    const call = session[verb] as (...args: readonly unknown[]) => Promise<unknown>;
    const params = verb === 'turn' ? [turnOf(args[0] as TurnMessage, JSON.parse)] : args;
    return { ok: true, value: await call.apply(session, params) };
  } catch (error) {
    if (!isEngineError(error)) return { ok: false, other: plainError(error) };
    const { code, message, retryable, status, details, hint } = error;
    return { ok: false, ours: { code, message, retryable, status, details, hint } };
  }
}
