/**
 * The trace of a task follows from its id: the digits of the public id are the trace id, and half of them the id of its first span. So
 * every process that knows the task knows its trace, and nothing is stored or sent for it.
 */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits: the span of the push. */
  readonly spanId: string;
}

/** Undefined for a text that is not a public id. */
export function traceOf(id: string): TraceParent | undefined {
  const digits = /_([0-9a-f-]{36})$/.exec(id)?.[1]?.replaceAll('-', '') ?? '';
  return digits.length === 32 ? { traceId: digits, spanId: digits.slice(16) } : undefined;
}

/** The header that other programs take: https://www.w3.org/TR/trace-context/. */
export function traceparent({ traceId, spanId }: TraceParent): string {
  return `00-${traceId}-${spanId}-01`;
}

/** A pushed task, as a trace shows it. */
export interface TracedPush {
  readonly id: string;
  readonly queue: string;
  readonly handler: string;
}

/** A task that is about to run. */
export interface TracedRun extends TracedPush {
  readonly attempt: number;
  readonly tries: number;
  readonly createdAt: number;
}

/** Writes traces. Its methods never throw and never wait. */
export interface Tracing {
  /** Called in the context of the pushing code; the returned function is called when the push was acknowledged. */
  pushing(): (pushed: readonly TracedPush[]) => void;
  running(run: TracedRun): RunTrace;
}

export interface RunTrace {
  /** Everything that `work` calls belongs to the run. */
  within<T>(work: () => T): T;
  /** For programs that the run starts. */
  readonly traceparent: string;
  /** `how` it ended; `error`: what it threw. */
  end(how: string, error?: unknown): void;
}
