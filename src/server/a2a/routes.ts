import { fault, isEngineError } from '../../core/errors.ts';
import type { Message } from '../events/sse.ts';
import { EventStream, type JsonText } from '../http/answers.ts';
import { hangUpOf } from '../http/hang-up.ts';
import type { Call, Handlers } from '../http/route-handler.ts';
import { agentRefusal, idOf, roleRefusal } from '../http/rpc-refusals.ts';
import { admit } from '../routes/pushing.ts';
import { isA2aWrite, isLegacy } from './methods.ts';

/** The code of A2A for what an agent does not do. */
const UNSUPPORTED = -32_004;
const INVALID_PARAMS = -32_602;

type A2aCall = Omit<Call<'a2a'>, 'body'>;
type Body = Readonly<Record<string, unknown>>;

/** The SDK is loaded with the first request, so that a node without A2A clients does not pay for it. */
export function a2aRoutes({ version }: { readonly version: string }): Handlers<'agentCard' | 'a2a'> {
  return {
    async agentCard(call) {
      const { cardMessage } = await import('./card.ts');
      return cardMessage(await cardFor(call, version));
    },

    a2a: (call) => answerA2a(call, call.body, version),
  };
}

/** Answers a call of A2A 1.0 or 0.3, at whichever address it comes. */
export async function answerA2a(call: A2aCall, body: Body, version: string): Promise<Body | EventStream | JsonText> {
  const refused = refusalOf(call, body);
  if (refused !== undefined) return refused;
  const { principal, engine, broadcaster, operator, request, reply, guard, audited } = call;
  const [
    { JsonRpcTransportHandler, ServerCallContext, validateVersion },
    { LegacyJsonRpcTransportHandler },
    { Agent },
  ] = await Promise.all([import('@a2a-js/sdk/server'), import('@a2a-js/sdk/compat/v0_3/server'), import('./agent.ts')]);
  const legacy = isLegacy(body['method']);
  const card = () => cardFor(call, version);
  const agentUntil = (hangUp: AbortSignal): InstanceType<typeof Agent> =>
    new Agent({
      engine,
      broadcaster,
      operator,
      card,
      by: principal.name,
      admit: (queue) => admit({ guard, principal }, [{ queue }]),
      audited,
      hangUp,
    });
  const problem = (error: unknown): Record<string, unknown> => ({
    jsonrpc: '2.0',
    id: idOf(body),
    error: legacy
      ? LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError(error)
      : JsonRpcTransportHandler.mapToJSONRPCError(error),
  });
  const wanted = request.headers['a2a-version'];
  try {
    // The methods of 0.3 have names of their own.
    if (typeof wanted === 'string' && !legacy) validateVersion(wanted, await card(), 'JSONRPC');
  } catch (error) {
    return problem(error);
  }
  const answer = await call.whileAuthorized((ended) => {
    const agent = agentUntil(AbortSignal.any([hangUpOf(reply), ended]));
    const handler = legacy ? new LegacyJsonRpcTransportHandler(agent) : new JsonRpcTransportHandler(agent);
    return handler.handle(body, new ServerCallContext());
  });
  if (!(Symbol.asyncIterator in answer)) return answer as unknown as Record<string, unknown>;
  const messages = answer as AsyncIterable<unknown>;
  return new EventStream(async function* (signal): AsyncGenerator<Message> {
    try {
      for await (const data of messages) {
        if (signal.aborted) return;
        yield { data: legacy ? withFinal(data) : data };
      }
    } catch (error) {
      if (isEngineError(error) && error.status >= 500) throw error;
      yield { data: problem(error) };
    }
  });
}

/**
 * A stream ends where a task asks for input, and 0.3 marks the last message of a stream as `final`. The SDK marks only the ends of tasks, since 1.0
 * has no such mark.
 */
function withFinal(data: unknown): unknown {
  const { result } = data as {
    readonly result?: { readonly kind?: unknown; readonly status?: { readonly state?: unknown } };
  };
  if (result?.kind !== 'status-update' || result.status?.state !== 'input-required') return data;
  return { ...(data as object), result: { ...result, final: true } };
}

/** What the caller or this node may not do, and calls of 0.3 that the SDK would fail on. */
function refusalOf({ principal, observes }: A2aCall, body: Body): JsonText | undefined {
  const { method, params } = body;
  const writes = isA2aWrite(method);
  const forbidden = roleRefusal(principal.role, writes ? 'operator' : 'read');
  if (forbidden !== undefined) return agentRefusal(forbidden, body);
  if (writes && observes()) return agentRefusal(fault('READ_ONLY'), body, UNSUPPORTED);
  if (!isLegacy(method) || !writes || method === 'tasks/cancel' || isMessage(params)) return undefined;
  const problem = 'a message has a messageId and parts, each of a kind';
  return agentRefusal(fault('INVALID_INPUT', { field: 'params.message', problem }), body, INVALID_PARAMS);
}

function isMessage(params: unknown): boolean {
  const { message } = (params ?? {}) as { readonly message?: unknown };
  const { messageId, parts } = (message ?? {}) as { readonly messageId?: unknown; readonly parts?: unknown };
  if (typeof messageId !== 'string' || !Array.isArray(parts)) return false;
  return parts.every((part: unknown) => typeof part === 'object' && part !== null && 'kind' in part);
}

async function cardFor(
  call: Pick<A2aCall, 'operator' | 'address'>,
  version: string,
): Promise<import('@a2a-js/sdk').AgentCard> {
  const { agentCard } = await import('./card.ts');
  const { workers } = await call.operator.call('listWorkers');
  const there = workers.filter(({ state }) => state === 'online' || state === 'starting');
  const handlers = [...new Set(there.flatMap((worker) => worker.handlers))].toSorted();
  return agentCard({ address: call.address, version, handlers });
}
