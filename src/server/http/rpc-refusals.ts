import { fault } from '../../core/errors.ts';
import { mayCall, type Role } from '../../protocol/route.ts';
import type { RpcId } from '../../protocol/rpc/envelope.ts';
import { JsonText } from './answers.ts';
import { errorOf } from './refusals.ts';

/** Neither A2A nor MCP has a code for a caller without the right: -32000 is the first that JSON-RPC leaves to servers. */
export const NOT_ALLOWED = -32_000;

/** A refusal for clients of A2A and MCP, under the id of the call. apflow has codes of its own, some of which mean something else there. */
export function agentRefusal(thrown: unknown, body: unknown, rpcCode: number = NOT_ALLOWED): JsonText {
  const { code, message, hint, status } = errorOf(thrown);
  const data = { code, ...(hint === undefined ? {} : { hint }) };
  return new JsonText(
    JSON.stringify({ jsonrpc: '2.0', id: idOf(body), error: { code: rpcCode, message, data } }),
    status,
  );
}

/** The error for a caller whose role is not enough; undefined: it is. */
export function roleRefusal(role: Role, access: 'read' | 'operator'): Error | undefined {
  if (mayCall(role, access)) return undefined;
  return fault('FORBIDDEN', { problem: `this needs the role ${access}, and the token has the role ${role}` });
}

/** The id that an answer repeats. */
export function idOf(body: unknown): RpcId {
  const id = (body as { readonly id?: unknown } | null)?.id;
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)) ? id : null;
}
