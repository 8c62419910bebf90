import type { Tracing } from '../../app/world.ts';
import type { Config } from '../../config/options.ts';
import { packageVersion } from './version.ts';

export interface Traces {
  readonly tracing: Tracing | undefined;
  close(): Promise<void>;
}

const NONE: Traces = { tracing: undefined, close: () => Promise.resolve() };

/** The traces of this process; without a collector nothing of them is loaded. */
export async function tracesFor(
  { otlpEndpoint, serviceName }: Pick<Config, 'otlpEndpoint' | 'serviceName'>,
  worker?: string,
): Promise<Traces> {
  if (otlpEndpoint === undefined) return NONE;
  const { exportTraces } = await import('../../app/tracing/export.ts');
  return exportTraces({ endpoint: otlpEndpoint, service: serviceName, version: packageVersion(), worker });
}
