/**
 * The trace of a task has its id: what the digits of the public id say is the trace, and half of them its first span. So every
 * process that knows the task knows its trace, and nothing is stored or carried for it.
 */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits: the span of the push. */
  readonly spanId: string;
}

/** Undefined for what is no public id. */
export function traceOf(id: string): TraceParent | undefined {
  const digits = /_([0-9a-f-]{36})$/.exec(id)?.[1]?.replaceAll('-', '') ?? '';
  return digits.length === 32 ? { traceId: digits, spanId: digits.slice(16) } : undefined;
}

/** As other programs take it: https://www.w3.org/TR/trace-context/. */
export function traceparent({ traceId, spanId }: TraceParent): string {
  return `00-${traceId}-${spanId}-01`;
}

/** A task that was pushed, as a trace shows it. */
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

/** Who writes traces down. Nothing here ever throws, or waits. */
export interface Tracing {
  /** Called in the context of whoever pushes; the answer is called when the push was acknowledged. */
  pushing(): (pushed: readonly TracedPush[]) => void;
  running(run: TracedRun): RunTrace;
}

export interface RunTrace {
  /** What is called by it belongs to the run. */
  within<T>(work: () => T): T;
  /** For programs that the run starts. */
  readonly traceparent: string;
  /** `how` it ended; `error`: what it threw. */
  end(how: string, error?: unknown): void;
}
