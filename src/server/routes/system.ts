import { openApi } from '../../protocol/openapi.ts';
import type { Handlers } from '../http/route-handler.ts';
import { releaseRoutes } from '../release/release-routes.ts';

/** Routes about the node itself. `health` and `ready` answer also without a store, and are the server's own. */
export function systemRoutes(options: {
  readonly version: string;
  readonly address: () => string;
  readonly metrics: () => Promise<string>;
}): Handlers<'metrics' | 'openapi'> & typeof releaseRoutes {
  return {
    ...releaseRoutes,
    metrics: () => options.metrics(),
    openapi: () => openApi({ version: options.version, server: options.address() }),
  };
}
