import { refuse } from '../../refuse.ts';
import { type AgentGateway, ExternalGateway, type InProcessAgent, InProcessGateway } from '../gateways.ts';
import { gatewayHandler } from './gateway-handler.ts';
import type { RunHandler } from './run-handler.ts';

interface HandlerModule {
  readonly runHandler?: unknown;
  readonly run_handler?: unknown;
  readonly agent?: unknown;
  readonly default?: unknown;
}

/** The handler of a module, or the default one over a gateway. */
export async function handlerFor(gatewayUrl: string | null, module: string | null): Promise<RunHandler> {
  if (module !== null) return fromModule(module);
  if (gatewayUrl !== null) return overGateway(gatewayUrl);
  throw refuse(
    'run handler',
    'there is none; give a handler, an agent, a gateway, or gateway_url of the worker config',
  );
}

/** The gateway is as long as its process. */
function overGateway(base_url: string): RunHandler {
  return gatewayHandler(new ExternalGateway({ base_url }));
}

async function fromModule(url: string): Promise<RunHandler> {
  const given = (await import(url)) as HandlerModule;
  const handler = given.runHandler ?? given.run_handler ?? given.default;
  if (typeof handler === 'function') return handler as RunHandler;
  if (typeof given.agent === 'function') return gatewayHandler(new InProcessGateway(given.agent as InProcessAgent));
  throw refuse('handler_module', 'it exports no function runHandler, agent or default');
}

export interface GivenHandler {
  readonly runHandler: RunHandler | undefined;
  readonly gateway: AgentGateway | undefined;
  readonly agent: InProcessAgent | undefined;
}

/** What a program gave goes before what the configurations say. */
export function handlerOf(
  { runHandler, gateway, agent }: GivenHandler,
  gatewayUrl: string | null,
  module: string | null,
): Promise<RunHandler> {
  if (runHandler !== undefined) return Promise.resolve(runHandler);
  if (gateway !== undefined) return Promise.resolve(gatewayHandler(gateway));
  if (agent !== undefined) return Promise.resolve(gatewayHandler(new InProcessGateway(agent)));
  return handlerFor(gatewayUrl, module);
}
