import { fault, isEngineError } from '../../core/errors.ts';
import { mayCall } from '../../protocol/route.ts';
import type { Message } from '../events/sse.ts';
import { EventStream } from '../http/answers.ts';
import { hangUpOf } from '../http/hang-up.ts';
import type { Call, Handlers } from '../http/route-handler.ts';
import { admit } from '../routes/pushing.ts';

/** The methods of A2A that write. */
const WRITES: ReadonlySet<unknown> = new Set(['SendMessage', 'SendStreamingMessage', 'CancelTask']);

/** The SDK is loaded with the first request, so that a node without A2A clients does not pay for it. */
export function a2aRoutes({ version }: { readonly version: string }): Handlers<'agentCard' | 'a2a'> {
  return {
    async agentCard(call) {
      const { AgentCard } = await import('@a2a-js/sdk');
      return AgentCard.toJSON(await cardFor(call, version)) as Record<string, unknown>;
    },

    async a2a(call) {
      const { principal, body, engine, broadcaster, operator, request, guard, audited } = call;
      if (WRITES.has(body.method) && !mayCall(principal.role, 'operator')) {
        throw fault('FORBIDDEN', {
          problem: `this needs the role operator, and the token has the role ${principal.role}`,
        });
      }
      const [{ JsonRpcTransportHandler, ServerCallContext, validateVersion }, { Agent }] = await Promise.all([
        import('@a2a-js/sdk/server'),
        import('./agent.ts'),
      ]);
      const card = () => cardFor(call, version);
      const may = (queue: string): Promise<void> => admit({ guard, principal }, [{ queue }]);
      const agentUntil = (hangUp: AbortSignal): InstanceType<typeof Agent> =>
        new Agent({ engine, broadcaster, operator, card, by: principal.name, admit: may, audited, hangUp });
      const wanted = request.headers['a2a-version'];
      const problem = (error: unknown): Record<string, unknown> => ({
        jsonrpc: '2.0',
        id: body.id ?? null,
        error: JsonRpcTransportHandler.mapToJSONRPCError(error),
      });
      try {
        if (typeof wanted === 'string') validateVersion(wanted, await card(), 'JSONRPC');
      } catch (error) {
        return problem(error);
      }
      const answer = await call.whileAuthorized((ended) => {
        const agent = agentUntil(AbortSignal.any([hangUpOf(request), ended]));
        return new JsonRpcTransportHandler(agent).handle(body, new ServerCallContext());
      });
      if (!(Symbol.asyncIterator in answer)) return answer as unknown as Record<string, unknown>;
      return new EventStream(async function* (signal): AsyncGenerator<Message> {
        try {
          for await (const data of answer) {
            if (signal.aborted) return;
            yield { data };
          }
        } catch (error) {
          if (isEngineError(error) && error.status >= 500) throw error;
          yield { data: problem(error) };
        }
      });
    },
  };
}

async function cardFor(call: Call<'agentCard' | 'a2a'>, version: string): Promise<import('@a2a-js/sdk').AgentCard> {
  const { agentCard } = await import('./card.ts');
  const { workers } = await call.operator.call('listWorkers');
  const there = workers.filter(({ state }) => state === 'online' || state === 'starting');
  const handlers = [...new Set(there.flatMap((worker) => worker.handlers))].toSorted();
  return agentCard({ address: call.address, version, handlers });
}
