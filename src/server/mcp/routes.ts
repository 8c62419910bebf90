import { RawResponse } from '../http/answers.ts';
import type { Handlers } from '../http/route-handler.ts';
import { agentRefusal, roleRefusal } from '../http/rpc-refusals.ts';
import { admit } from '../routes/pushing.ts';

/** The SDK is loaded with the first request. */
export function mcpRoutes({ version }: { readonly version: string }): Handlers<'mcp'> {
  return {
    async mcp({ principal, body, engine, operator, request, address, guard, audited, observes }) {
      const forbidden = roleRefusal(principal.role, 'read');
      if (forbidden !== undefined) return agentRefusal(forbidden, body);
      const { handleMcp } = await import('./endpoint.ts');
      const headers = new Headers();
      for (const [name, value] of Object.entries(request.headers))
        if (typeof value === 'string') headers.set(name, value);
      const forwarded = new Request(new URL('/mcp', address), { method: 'POST', headers, body: JSON.stringify(body) });
      const onError = (error: Error): void =>
        request.log.warn({ error: String(error) }, 'a model could not be answered');
      const may = (queue: string): Promise<void> => admit({ guard, principal }, [{ queue }]);
      const options = { version, role: principal.role, observes, engine, operator, admit: may, audited, onError };
      return new RawResponse(await handleMcp(forwarded, body, options));
    },
  };
}
