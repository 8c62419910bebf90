import { context, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Tracing } from '../../core/task/trace.ts';
import { AsyncContext } from './async-context.ts';
import { OwnIds } from './own-ids.ts';
import { OtelTracing } from './tracing.ts';

export interface ExportOptions {
  /** The address of a collector that takes OTLP over HTTP: `http://127.0.0.1:4318`. */
  readonly endpoint: string;
  readonly service: string;
  readonly version: string;
  readonly worker?: string | undefined;
}

export interface Exported {
  readonly tracing: Tracing;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

/** Sends the traces of this process to a collector. Loaded only where a collector is configured: the SDK takes a third of a second. */
export function exportTraces({ endpoint, service, version, worker }: ExportOptions): Exported {
  const ids = new OwnIds();
  const url = `${endpoint.replace(/\/+$/, '').replace(/\/v1\/traces$/, '')}/v1/traces`;
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'service.version': version }),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })],
    idGenerator: ids,
  });
  // Spans that handlers make with the OpenTelemetry API go the same way, unless they have an SDK of their own.
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncContext());
  const tracer = provider.getTracer('leasehold', version);
  return {
    tracing: new OtelTracing({ tracer, ids, wall: Date.now, worker }),
    close: () => provider.shutdown().catch(() => {}),
  };
}
