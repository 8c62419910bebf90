/** The traces of a node and of a worker on a store, as a collector gets them: real processes, OTLP over HTTP. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { run } from '../support/leasehold.ts';
import { place } from './cli/cli-calls.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly service: string;
  readonly status?: { readonly code?: number; readonly message?: string };
  readonly links?: readonly { readonly traceId: string }[];
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { key: string; value: { stringValue?: string } }[] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

/** Takes what is sent to it, as a collector would. */
async function collector(t: TestContext): Promise<{ url: string; spans: Span[] }> {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      assert.equal(request.url, '/v1/traces');
      for (const { resource, scopeSpans } of (JSON.parse(text) as Sent).resourceSpans) {
        const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
        for (const scope of scopeSpans) spans.push(...scope.spans.map((span) => ({ ...span, service })));
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans };
}

test('the trace of a task has its id, and spans from its push to its end in the processes that saw them', async (t) => {
  const { url, spans } = await collector(t);
  const { cwd, call, url: store } = place(t);
  const otlp = ['--otlp-endpoint', url];
  const node = run(t, ['up', '--no-worker', '--port', '0', '--service-name', 'a-node', ...otlp], { cwd });
  const address = await node.address();
  const token = readFileSync(join(cwd, '.leasehold/token'), 'utf8').trim();
  const push = async (command: string): Promise<string> => {
    const response = await fetch(`${address}/api/v1/tasks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ queue: 'q', handler: 'shell', input: { command }, maxAttempts: 1 }),
    });
    assert.equal(response.status, 201);
    return ((await response.json()) as { id: string }).id;
  };
  const id = await push('echo $TRACEPARENT');
  const broken = await push('exit 3');
  const worker = run(t, ['worker', '--store', store, '--idle-exit', '1s', '--service-name', 'a-worker', ...otlp], {
    cwd,
  });
  assert.equal((await worker.ended).code, 0, worker.stderr);
  node.child.kill('SIGTERM');
  assert.equal((await node.ended).code, 0, node.stderr);

  const trace = id.replace('task_', '').replaceAll('-', '');
  const own = spans.filter(({ traceId }) => traceId === trace);
  const named = Object.fromEntries(own.map((span) => [span.name, span]));
  assert.deepEqual(Object.keys(named).toSorted(), ['push shell', 'run shell', 'wait q']);
  assert.equal(named['push shell']?.service, 'a-node');
  assert.equal(named['run shell']?.service, 'a-worker');
  assert.equal(named['push shell']?.spanId, trace.slice(16));
  assert.equal(named['run shell']?.parentSpanId, trace.slice(16), 'the run stands below the push');
  const [shown] = (await call(['tasks', 'show', id, '--json'])).objects() as [{ result: { stdout: string } }];
  assert.equal(shown.result.stdout.trim(), `00-${trace}-${named['run shell']?.spanId}-01`, 'a command finds it');
  const failed = spans.find(
    ({ traceId, name }) => traceId === broken.replace('task_', '').replaceAll('-', '') && name === 'run shell',
  );
  assert.equal(failed?.status?.code, 2);
});
