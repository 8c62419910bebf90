import type { Artifact } from '../../../core/artifact/artifact.ts';
import { fault, isEngineError } from '../../../core/errors.ts';
import type { WorkspaceSpec } from '../../../core/workspace/workspace.ts';
import type { OutgoingFile, WhichArtifact } from '../../../protocol/artifact-link.ts';
import { type TurnMessage, turnOf } from '../../../protocol/turn-message.ts';
import type { ArtifactReader } from '../../artifacts/attempt-artifacts.ts';
import type { CredentialReader } from '../../credentials/handler-credentials.ts';
import { noWorkspaces, type WorkspaceReader } from '../../workspace/handler-workspace.ts';
import {
  type Answer,
  type ArtifactVerb,
  type CredentialVerb,
  plainError,
  type Question,
  type Verb,
  type WorkspaceVerb,
} from '../child/messages.ts';
import type { SessionProvider } from '../runner.ts';

const VERBS: readonly Verb[] = ['journal', 'turn', 'waited', 'results', 'dependencies', 'cancelChildren', 'definition'];

/** Answers a durable call of a child process. Never rejects: a child may send anything. */
export async function answerQuestion(question: Question, host: SessionProvider | undefined): Promise<Answer> {
  try {
    const { verb, args } = question;
    if (verb === 'credential' || verb === 'credentialFile')
      return { ok: true, value: await credential(verb, args, host?.credentials) };
    if (isOfArtifacts(verb)) return { ok: true, value: await artifact(verb, args, host?.artifacts) };
    if (isOfWorkspaces(verb)) return { ok: true, value: await workspace(verb, args, host?.workspaces) };
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

function isOfArtifacts(verb: unknown): verb is ArtifactVerb {
  return typeof verb === 'string' && verb.startsWith('artifact.');
}

/** What it says is looked at where it is used: a child may say anything. */
async function artifact(verb: ArtifactVerb, args: unknown, artifacts: ArtifactReader | undefined): Promise<unknown> {
  if (artifacts === undefined)
    throw fault('UNSUPPORTED', {}, { hint: 'Artifacts need a worker, and this run has none.' });
  const [first, second] = Array.isArray(args) ? (args as readonly unknown[]) : [];
  const isRecord = typeof first === 'object' && first !== null;
  if (verb === 'artifact.room') return artifacts.room();
  if (verb === 'artifact.put' && isRecord) return artifacts.put(first as OutgoingFile);
  if (verb === 'artifact.find' && isRecord) return artifacts.find(first as WhichArtifact);
  if (verb === 'artifact.fetch' && isRecord) return artifacts.fetch(first as Artifact, second as string);
  if (verb === 'artifact.list' && (first === undefined || typeof first === 'string')) return artifacts.list(first);
  throw fault('INVALID_INPUT', { field: 'question' });
}

function isOfWorkspaces(verb: unknown): verb is WorkspaceVerb {
  return typeof verb === 'string' && verb.startsWith('workspace.');
}

async function workspace(
  verb: WorkspaceVerb,
  args: unknown,
  workspaces: WorkspaceReader | undefined,
): Promise<unknown> {
  const [first] = Array.isArray(args) ? (args as readonly unknown[]) : [];
  if (workspaces === undefined) throw noWorkspaces();
  if (verb === 'workspace.prepare') return workspaces.prepare(first as WorkspaceSpec);
  if (verb === 'workspace.diff') return workspaces.diff();
  if (verb === 'workspace.commitAll') return workspaces.commitAll(first as string);
  if (verb === 'workspace.publish') return workspaces.publish();
  throw fault('INVALID_INPUT', { field: 'question' });
}

function credential(verb: CredentialVerb, args: unknown, reader: CredentialReader | undefined): Promise<unknown> {
  const name: unknown = Array.isArray(args) ? args[0] : undefined;
  if (typeof name !== 'string') throw fault('INVALID_INPUT', { field: 'question' });
  if (reader === undefined) throw fault('CREDENTIAL_MISSING', { credential: name });
  return verb === 'credential' ? reader.read(name) : reader.file(name);
}
