/** The official client, which connects only where it may, and sends the token only to the agent that it is for. */
import type { Client } from '@a2a-js/sdk/client';
import type { Reach } from '../chat-endpoint.ts';
import { broken } from '../gateway/answer.ts';
import { GatewayFailed } from '../gateway/session.ts';
import type { GatewaySettings } from '../gateway/settings.ts';
import { reachingFetch } from '../mcp/reaching-fetch.ts';

const HEADER = 'authorization';

/** Reads the card of the agent. `signal` ends every exchange of the client. */
export async function clientFor({ base, token }: GatewaySettings, reach: Reach, signal: AbortSignal): Promise<Client> {
  // Loaded here: most agents are no A2A agents.
  const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = await import(
    '@a2a-js/sdk/client'
  );
  signal.throwIfAborted();
  const send = reachingFetch(reach);
  const fetchImpl = ((input: string | URL, init: RequestInit = {}) => {
    const url = new URL(input);
    // Its card says where it is: that must not take the token elsewhere.
    if (url.origin !== base.origin) {
      throw new GatewayFailed(broken('OtherOrigin', `its card leads to ${url.origin}, not to ${base.origin}`, false));
    }
    const headers = new Headers(init.headers);
    headers.set('user-agent', 'leasehold');
    if (token !== undefined) headers.set(HEADER, `Bearer ${token}`);
    const own = init.signal ?? undefined;
    return send(url, { ...init, headers, signal: own === undefined ? signal : AbortSignal.any([signal, own]) });
  }) as typeof fetch;
  const legacyCompat = { enabled: true };
  const factory = new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
      new RestTransportFactory({ fetchImpl, legacyCompat }),
    ],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl, legacyCompat }),
  });
  return factory.createFromUrl(base.href);
}
