/** What every fuzzer needs: tries until a time is over, a node with one of everything, and what is a good answer. */
import assert from 'node:assert/strict';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { TestContext } from 'node:test';
import type { ServeOptions } from '../../src/app/serve.ts';
import { PlainProblem, Problem } from '../../src/protocol/shapes/problem.ts';
import { Rng } from '../sim/rng.ts';
import type { NodeScene } from '../support/node-scene.ts';
import { scaled } from '../support/scale.ts';
import { type Target, target } from './scene.ts';

/** For each fuzzer: a minute in the deep tier. */
const FUZZ_MS = Number(process.env['LEASEHOLD_FUZZ_MS'] ?? scaled(1000, 60_000));
const SEED = Number(process.env['LEASEHOLD_FUZZ_SEED'] ?? 1);
const MOST_MIB = 400;

/** Runs one try after the other until the time is over; answers how many that were. */
export async function fuzz(t: TestContext, one: (rng: Rng) => unknown, together = 1): Promise<number> {
  const end = performance.now() + FUZZ_MS;
  let tries = 0;
  while (performance.now() < end) {
    await Promise.all(
      Array.from({ length: together }, async () => {
        const seed = SEED * 1_000_003 + tries++;
        try {
          await one(new Rng(seed));
        } catch (error) {
          throw new Error(`try ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
      }),
    );
  }
  t.diagnostic(`${tries} tries in ${FUZZ_MS} ms from seed ${SEED}`);
  return tries;
}

interface Fuzzed extends Target {
  readonly id: string;
  /** Still there, without a complaint, and not grown. */
  readonly well: () => Promise<void>;
}

/** A node with one of everything. */
export async function fuzzed(t: TestContext, options: Partial<ServeOptions> = {}): Promise<Fuzzed> {
  // Nobody waits: most of these have no token, and a minute should try as many of them as it can.
  const strangers = { perSecond: 0, burst: 0, refusedMs: 0, answeredMs: 0 };
  const made = await target(t, { bounds: { rate: 0, queued: 0, queuedInAll: 0 }, strangers, ...options });
  const { node, log } = made;
  await node.engine.limits.set('api', { concurrent: 1 });
  const { id } = await node.engine.push({ queue: 'q', handler: 'h', limits: ['api'] });
  await node.token('read');
  const before = process.memoryUsage().rss;
  const well = async (): Promise<void> => {
    const { status } = await node.ask('/readyz');
    assert.equal(status, 200);
    assert.equal((await node.ask('/api/v1/tasks?limit=1')).status, 200);
    assert.deepEqual(
      log.filter(({ level }) => level === 'error'),
      [],
    );
    const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
    assert.ok(grown < MOST_MIB, `it has grown by ${grown.toFixed()} MiB`);
    t.diagnostic(`grown by ${grown.toFixed()} MiB`);
  };
  return { ...made, id, well };
}

interface Asked {
  readonly method?: string;
  readonly path: string;
  /** `authorization`: instead of that of somebody who may do everything; empty: none. */
  readonly headers?: IncomingHttpHeaders;
  readonly body?: string | Buffer;
}

function headersOf(
  { admin }: NodeScene,
  { authorization = `Bearer ${admin}`, ...rest }: IncomingHttpHeaders,
): IncomingHttpHeaders {
  return authorization === '' ? rest : { authorization, ...rest };
}

/** Of a stream only the head is looked at. */
export function asker(t: TestContext, node: NodeScene): (asked: Asked) => Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(node.service.address);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.after(() => agent.destroy());
  return ({ method = 'GET', path, headers = {}, body }) =>
    new Promise((resolve, reject) => {
      const asking = request({
        hostname,
        port,
        agent,
        method,
        path,
        headers: headersOf(node, headers),
      });
      asking.on('error', reject).on('response', (answer) => {
        const status = answer.statusCode ?? 0;
        if (answer.headers['content-type']?.startsWith('text/event-stream')) {
          answer.on('error', () => {}).destroy();
          resolve({ status, text: '' });
          return;
        }
        const chunks: Buffer[] = [];
        answer
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => resolve({ status, text: Buffer.concat(chunks).toString() }));
        answer.on('error', reject);
      });
      asking.end(body);
    });
}

const AnyProblem = Problem.or(PlainProblem);

/** Refused in the one form, or in that of loopd, or in that of JSON-RPC, or done. */
export function judge({ status, text }: { status: number; text: string }): void {
  assert.ok(status >= 200 && status < 500, `${status} ${text.slice(0, 300)}`);
  if (status < 400) return;
  const refusal = JSON.parse(text);
  if (refusal.jsonrpc === '2.0') assert.ok(refusal.error.code <= -32_000, text.slice(0, 300));
  else assert.equal(AnyProblem.safeParse(refusal).error, undefined, text.slice(0, 300));
}
