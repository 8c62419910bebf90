import { isA2aCall } from '../a2a/methods.ts';
import { answerA2a } from '../a2a/routes.ts';
import type { Call, Handlers } from '../http/route-handler.ts';

type RpcRoute = 'rpcRoot' | 'rpc' | 'rpcTasks' | 'rpcSystem';

const answer = ({ rpc, body, principal, request, audited }: Call<RpcRoute>) =>
  rpc.answer(body, { principal, request: request.id, audited });

/** apflow has an address for each kind of method; every address takes every method. A2A clients may call the root as well. */
export function rpcRoutes({ version }: { readonly version: string }): Handlers<RpcRoute> {
  return {
    rpcRoot: (call) => (isA2aCall(call.body) ? answerA2a(call, call.body, version) : answer(call)),
    rpc: answer,
    rpcTasks: answer,
    rpcSystem: answer,
  };
}
