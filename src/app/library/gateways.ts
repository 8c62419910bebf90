/** Gateways of agents, as programs use them: behind an address, or within the process. */
import { environment } from '../../config/environment.ts';
import type { AgentResult } from '../../flow/agent/result.ts';
import { isMap, type ValueMap } from '../../flow/expression/values.ts';
import { askGateway, execute, type Gateway, refused } from '../../worker/agents/gateway/session.ts';
import { gatewaySettings } from '../../worker/agents/gateway/settings.ts';
import { reachOf } from '../../worker/agents/reach.ts';

export interface GatewayAddress {
  readonly url: string;
  /** Default: the variables that Universal Agent reads, `UA_INTERNAL_API_TOKEN` and `UA_OPS_TOKEN`. */
  readonly token?: string;
  /** For a whole request. */
  readonly timeoutMs?: number;
}

export interface GatewayAsk {
  readonly prompt: string;
  readonly key: string;
  readonly forceComplex: boolean;
  readonly maxIterations: number | undefined;
  readonly metadata: ValueMap;
}

/** The program names the address itself: every one is reached. */
export class GatewayClient {
  readonly #gateway: Gateway;

  constructor({ url, token, timeoutMs }: GatewayAddress) {
    const own: Readonly<Record<string, string | undefined>> = token === undefined ? environment() : { TOKEN: token };
    const config = { url, ...(token === undefined ? {} : { token_env: 'TOKEN' }) };
    const settings = gatewaySettings(config, 'gateway', own, undefined);
    this.#gateway = {
      settings: { ...settings, timeoutMs: timeoutMs ?? settings.timeoutMs },
      reach: reachOf(undefined),
    };
  }

  /** Undefined: there is no such thing. Throws what the gateway says is wrong. */
  async call(
    method: 'GET' | 'POST',
    path: string,
    body?: ValueMap,
  ): Promise<ValueMap | readonly unknown[] | undefined> {
    const { status, body: answer, list } = await askGateway(this.#gateway, method, path, body, this.#late());
    if (status === 404) return undefined;
    if (status !== 200 && status !== 201) throw refused(status, answer);
    return list ?? answer;
  }

  execute(
    session: string,
    { prompt, key, forceComplex, maxIterations, metadata }: GatewayAsk,
    hearing: Hearing,
  ): Promise<AgentResult> {
    const { settings } = this.#gateway;
    const gateway = { ...this.#gateway, settings: { ...settings, forceComplex, maxIterations, metadata } };
    const signal = hearing.signal === undefined ? this.#late() : AbortSignal.any([hearing.signal, this.#late()]);
    return execute(gateway, { session, prompt, key }, { signal, onEvent: hearing.onEvent });
  }

  #late(): AbortSignal {
    return AbortSignal.timeout(this.#gateway.settings.timeoutMs);
  }
}

interface Hearing {
  readonly signal?: AbortSignal | undefined;
  readonly onEvent: (event: ValueMap) => void;
}

export { isMap, type ValueMap };
