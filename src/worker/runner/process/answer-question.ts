import { fault, isEngineError } from '../../../core/errors.ts';
import { type TurnMessage, turnOf } from '../../../protocol/turn-message.ts';
import type { CredentialReader } from '../../credentials/handler-credentials.ts';
import { type Answer, type CredentialVerb, plainError, type Question, type Verb } from '../child/messages.ts';
import type { SessionProvider } from '../runner.ts';

const VERBS: readonly Verb[] = ['journal', 'turn', 'waited', 'results', 'dependencies', 'cancelChildren', 'definition'];

/** Answers a durable call of a child process. Never rejects: a child may send anything. */
export async function answerQuestion(question: Question, host: SessionProvider | undefined): Promise<Answer> {
  try {
    const { verb, args } = question;
    if (verb === 'credential' || verb === 'credentialFile')
      return { ok: true, value: await credential(verb, args, host?.credentials) };
    const session = host?.session;
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

function credential(verb: CredentialVerb, args: unknown, reader: CredentialReader | undefined): Promise<unknown> {
  const name: unknown = Array.isArray(args) ? args[0] : undefined;
  if (typeof name !== 'string') throw fault('INVALID_INPUT', { field: 'question' });
  if (reader === undefined) throw fault('CREDENTIAL_MISSING', { credential: name });
  return verb === 'credential' ? reader.read(name) : reader.file(name);
}
