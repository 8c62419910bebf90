import { trace } from '@opentelemetry/api';
import type { Tracing } from '../../core/task/trace.ts';
import type { World } from '../../core/world.ts';
import { OtelTracing } from './tracing.ts';

/** By whatever SDK this process has registered; without one it costs next to nothing and says nothing. */
export function globalTracing({ clock }: World): Tracing {
  return new OtelTracing({ tracer: trace.getTracer('leasehold'), wall: clock.wall });
}
