import type { Call, Handlers } from '../http/route-handler.ts';

type RpcRoute = 'rpcRoot' | 'rpc' | 'rpcTasks' | 'rpcSystem';

const answer = ({ rpc, body, principal, request, audited }: Call<RpcRoute>) =>
  rpc.answer(body, { principal, request: request.id, audited });

/** apflow has an address for each kind of method; every address takes every method. */
export const rpcRoutes: Handlers<RpcRoute> = { rpcRoot: answer, rpc: answer, rpcTasks: answer, rpcSystem: answer };
