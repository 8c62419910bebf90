import { trace } from '@opentelemetry/api';
import type { Tracing } from '../../core/task/trace.ts';
import type { World } from '../../core/world.ts';
import { OtelTracing } from './tracing.ts';

/** Uses the SDK that this process has registered. Without one it costs next to nothing and writes nothing. */
export function globalTracing({ clock }: World): Tracing {
  return new OtelTracing({ tracer: trace.getTracer('leasehold'), wall: clock.wall });
}
