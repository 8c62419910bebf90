import {
  type Context,
  context,
  type Link,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import {
  type RunTrace,
  type TracedPush,
  type TracedRun,
  type Tracing,
  traceOf,
  traceparent,
} from '../../core/task/trace.ts';
import type { OwnIds } from './own-ids.ts';

export interface OtelOptions {
  readonly tracer: Tracer;
  /** Gives a span the id that follows from its task; undefined: the spans of pushes have ids of their own. */
  readonly ids?: OwnIds | undefined;
  readonly wall: () => number;
  readonly worker?: string | undefined;
}

/**
 * Traces of tasks, by OpenTelemetry: a push, the time until its first start, and each run. A task has a trace of its own. A push that
 * happens within another trace, or within a run, is linked to it.
 */
export class OtelTracing implements Tracing {
  readonly #options: OtelOptions;

  constructor(options: OtelOptions) {
    this.#options = options;
  }

  pushing(): (pushed: readonly TracedPush[]) => void {
    const startTime = this.#options.wall();
    const around = trace.getSpan(context.active());
    const links: Link[] = around === undefined ? [] : [{ context: around.spanContext() }];
    return (pushed) => {
      for (const one of pushed) this.#pushed(one, startTime, links);
    };
  }

  #pushed(one: TracedPush, startTime: number, links: readonly Link[]): void {
    const parent = traceOf(one.id);
    if (parent === undefined) return;
    const { tracer, ids } = this.#options;
    const options = { kind: SpanKind.PRODUCER, startTime, links: [...links], attributes: attributesOf(one) };
    const start = (within: Context): Span => tracer.startSpan(`push ${one.handler}`, options, within);
    const root = trace.deleteSpan(context.active());
    (ids === undefined ? start(inTrace(root, parent)) : ids.with(parent, () => start(root))).end();
  }

  running(run: TracedRun): RunTrace {
    const parent = traceOf(run.id);
    if (parent === undefined) return UNTRACED;
    const { tracer, wall, worker } = this.#options;
    const within = inTrace(context.active(), parent);
    const attributes = { ...attributesOf(run), 'leasehold.attempt': run.attempt, 'leasehold.try': run.tries };
    if (run.attempt === 1) {
      const waited = { startTime: run.createdAt, attributes };
      tracer.startSpan(`wait ${run.queue}`, waited, within).end(Math.max(run.createdAt, wall()));
    }
    const named = worker === undefined ? attributes : { ...attributes, 'leasehold.worker': worker };
    const span = tracer.startSpan(`run ${run.handler}`, { kind: SpanKind.CONSUMER, attributes: named }, within);
    return new SpannedRun(span, trace.setSpan(within, span));
  }
}

class SpannedRun implements RunTrace {
  readonly traceparent: string;
  readonly #span: Span;
  readonly #context: Context;

  constructor(span: Span, within: Context) {
    this.#span = span;
    this.#context = within;
    this.traceparent = traceparent(span.spanContext());
  }

  within<T>(work: () => T): T {
    return context.with(this.#context, work);
  }

  end(how: string, error?: unknown): void {
    this.#span.setAttribute('leasehold.outcome', how);
    if (how !== 'done' && how !== 'parked') {
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) ?? how });
    }
    this.#span.end();
  }
}

const UNTRACED: RunTrace = { within: (work) => work(), traceparent: '', end: () => {} };

/** The span of the push is the head of the trace, whichever process has written it. */
function inTrace(around: Context, parent: { readonly traceId: string; readonly spanId: string }): Context {
  return trace.setSpanContext(around, { ...parent, traceFlags: 1, isRemote: true });
}

function attributesOf({ id, queue, handler }: TracedPush): Record<string, string> {
  return {
    'messaging.system': 'leasehold',
    'messaging.destination.name': queue,
    'messaging.message.id': id,
    'leasehold.handler': handler,
  };
}

function messageOf(error: unknown): string | undefined {
  const message = (error as { readonly message?: unknown } | undefined)?.message;
  return typeof message === 'string' ? message : undefined;
}
