import type { AuditFace } from '../../core/audit/entry.ts';
import { type Action, isAudited } from '../../operate/audit/actions.ts';
import type { Act, Actor, AuditRecorder } from '../../operate/audit/recorder.ts';
import { madeBy, targetOf } from '../../operate/audit/target.ts';
import type { Principal } from './access.ts';

/** Performs the work and writes down that it was done, and how it ended. */
export type Auditor = <T>(action: Action, target: string, work: () => Promise<T>) => Promise<T>;

/** One request, as far as the audit looks at it. */
export interface AuditedRequest {
  readonly name: string;
  readonly params: unknown;
  readonly body: unknown;
  readonly id: string;
  readonly address: string;
  readonly by?: string | undefined;
  /** Of the answer, if it is no refusal. */
  readonly status?: number | undefined;
}

const FACES: Readonly<Record<string, AuditFace>> = {
  mcp: 'mcp',
  a2a: 'a2a',
  rpcRoot: 'rpc',
  rpc: 'rpc',
  rpcTasks: 'rpc',
  rpcSystem: 'rpc',
};

/** Who did what over the network. A browser comes by the UI; other protocols have a name of their own. */
export function actorOf(principal: Principal | undefined, { name, id, address, by }: AuditedRequest): Actor {
  const face = FACES[name] ?? (principal?.session === undefined ? 'http' : 'ui');
  return { name: principal?.name, role: principal?.role, token: principal?.token, by, face, address, request: id };
}

/** Performs what one request asks for, and writes down who did it. */
export async function audited<T>(
  recorder: AuditRecorder,
  principal: Principal | undefined,
  request: AuditedRequest,
  work: () => Promise<T>,
): Promise<T> {
  const { name: action, body, status } = request;
  if (!isAudited(action)) return work();
  const actor = actorOf(principal, request);
  const act: Act = { action, actor, target: targetOf(request), body, status, targetBy: madeBy(request) };
  if (principal !== undefined) return recorder.around(act, work);
  // A stranger who was let in. If this cannot be written, the answer is withheld, and nobody has what was made.
  const answer = await work();
  const { name, role = 'worker' } = answer as { readonly name?: string; readonly role?: string };
  await recorder.afterwards({ ...act, actor: { ...act.actor, name, role } }, answer);
  return answer;
}

/** What was refused before it began. An observer writes nothing of what it refuses to write. */
export async function auditRefusal(
  recorder: AuditRecorder,
  caller: Principal | undefined,
  request: AuditedRequest & { readonly status: number; readonly code: string | undefined },
): Promise<void> {
  const { name: action, body, status, code } = request;
  if (!isAudited(action) || code === 'READ_ONLY') return;
  await recorder.refused({ action, actor: actorOf(caller, request), target: targetOf(request), body, status, code });
}

/** As the caller has sent it: what was refused may have any form. */
export function aboutOf({ params, body, id, ip: address }: Sent, name: string): AuditedRequest {
  return { name, params, body, id, address };
}

interface Sent {
  readonly params: unknown;
  readonly body: unknown;
  readonly id: string;
  readonly ip: string;
}

/** For actions within a request of another kind: by a model, by an agent, by a call of a batch. */
export function auditorFor(recorder: AuditRecorder | undefined, actor: Actor): Auditor {
  return (action, target, work) => (recorder === undefined ? work() : recorder.around({ action, actor, target }, work));
}
