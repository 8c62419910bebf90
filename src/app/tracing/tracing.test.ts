import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { context, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { traceOf } from '../../core/task/trace.ts';
import { task } from '../../worker/define/task.ts';
import { open, renewalOf } from '../open.ts';
import { AsyncContext } from './async-context.ts';
import { OtelTracing } from './tracing.ts';

/** An SDK that this process has set up itself, as a user would, and an app that writes to it. */
async function scene(t: TestContext) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncContext());
  const app = await open('memory:', { traces: true });
  t.after(async () => {
    await app.close();
    await provider.shutdown();
    trace.disable();
    context.disable();
  });
  const spans = (name: string): readonly ReadableSpan[] =>
    exporter.getFinishedSpans().filter((span) => span.name === name);
  return { app, spans, tracer: provider.getTracer('the user') };
}

test('spans of a handler belong to its run, and the run to the trace of its task', async (t) => {
  const { app, spans, tracer } = await scene(t);
  const double = task('double', {
    async run({ n }: { n: number }) {
      await Promise.resolve();
      tracer.startSpan('inside').end();
      return 2 * n;
    },
  });
  const worker = app.worker({ name: 'w', tasks: [double] });
  await worker.start();
  const handle = await tracer.startActiveSpan('around', async (span) => {
    const pushed = await app.push(double, { n: 21 });
    span.end();
    return pushed;
  });
  assert.equal(await handle.result(), 42);
  await worker.stop();
  const parent = traceOf(handle.id);
  const [push] = spans('push double');
  const [run] = spans('run double');
  const [inside] = spans('inside');
  const [around] = spans('around');
  assert.ok(push && run && inside && around);
  for (const span of [push, run, inside]) assert.equal(span.spanContext().traceId, parent?.traceId);
  assert.equal(inside.parentSpanContext?.spanId, run.spanContext().spanId);
  assert.equal(run.parentSpanContext?.spanId, parent?.spanId);
  assert.equal(run.attributes['leasehold.outcome'], 'done');
  assert.deepEqual(
    push.links.map((link) => link.context.traceId),
    [around.spanContext().traceId],
    'a task has a trace of its own, and its push is linked to that of whoever pushes',
  );
});

test('each try is a run of its own, and a failed one has the error status', async (t) => {
  const { app, spans } = await scene(t);
  const flaky = task('flaky', {
    maxAttempts: 2,
    retry: { baseMs: 1 },
    run: (_input: unknown, ctx) => (ctx.tries === 1 ? Promise.reject(new Error('not yet')) : 'now'),
  });
  const worker = app.worker({ name: 'w', tasks: [flaky] });
  await worker.start();
  const handle = await app.push(flaky, {});
  assert.equal(await handle.result(), 'now');
  await worker.stop();
  const runs = spans('run flaky');
  assert.deepEqual(
    runs.map(({ attributes, status }) => [
      attributes['leasehold.attempt'],
      attributes['leasehold.outcome'],
      status.message,
    ]),
    [
      [1, 'failed', 'not yet'],
      [2, 'done', undefined],
    ],
  );
  assert.equal(spans('wait flaky').length, 1, 'it waits once for its first start');
});

test('an existing task is not traced twice', async (t) => {
  const { app, spans } = await scene(t);
  const one = task('one', { run: () => 1 });
  await app.push(one, {}, { unique: 'k' });
  await app.push(one, {}, { unique: 'k' });
  assert.equal(spans('push one').length, 1);
});

test('with traces, leases are still renewed from a thread', () => {
  const tracing = new OtelTracing({ tracer: trace.getTracer('test'), wall: Date.now });
  for (const traces of [true, tracing]) assert.ok(renewalOf('sqlite:x.db', { traces }));
});
