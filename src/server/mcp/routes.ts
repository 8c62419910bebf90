import { RawResponse } from '../http/answers.ts';
import type { Handlers } from '../http/route-handler.ts';
import { admit } from '../routes/pushing.ts';

/** The SDK is loaded with the first request. */
export function mcpRoutes({ version }: { readonly version: string }): Handlers<'mcp'> {
  return {
    async mcp({ principal, body, engine, operator, request, address, guard, audited }) {
      const { handleMcp } = await import('./endpoint.ts');
      const headers = new Headers();
      for (const [name, value] of Object.entries(request.headers))
        if (typeof value === 'string') headers.set(name, value);
      const forwarded = new Request(new URL('/mcp', address), { method: 'POST', headers, body: JSON.stringify(body) });
      const onError = (error: Error): void =>
        request.log.warn({ error: String(error) }, 'a model could not be answered');
      const may = (queue: string): Promise<void> => admit({ guard, principal }, [{ queue }]);
      const options = { version, role: principal.role, engine, operator, admit: may, audited, onError };
      return new RawResponse(await handleMcp(forwarded, body, options));
    },
  };
}
