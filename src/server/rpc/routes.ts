import type { Call, Handlers } from '../route-handler.ts';

type RpcRoute = 'rpcRoot' | 'rpc' | 'rpcTasks' | 'rpcSystem';

const answer = ({ rpc, body, principal, request }: Call<RpcRoute>) => rpc.answer(body, principal, request.id);

/** Document 003 has an address for each kind of method; all of them know all methods. */
export const rpcRoutes: Handlers<RpcRoute> = { rpcRoot: answer, rpc: answer, rpcTasks: answer, rpcSystem: answer };
