import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { freshDatabase } from '../../test/support/postgres.ts';
import { adminOf } from '../../test/support/postgres-contract.ts';
import {
  acquireRunLease,
  connectRuntimeDb,
  createRegistrationBackend,
  createWorkBackend,
  getRun,
  heartbeatRunLease,
  queueRun,
  type RegistrationBackend,
  type RuntimeDb,
  requestCancel,
  type WorkBackend,
} from '../compat/index.ts';
import { isEngineError } from '../core/errors.ts';
import type { Engine } from '../engine/engine.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import type { CallerTransaction } from '../store/store.ts';
import { open } from './open.ts';

/** Of the file, not of a test: it is removed after everything is closed. */
const folder = tempFolder('hostile');
let files = 0;

/**
 * Values that only one of the stores could keep, or would fail on, are refused or replaced at the edge. Every entry point that takes a text
 * or a number gets all of these on each store. It must answer the same on each, and never with a bug.
 */

interface Place {
  readonly engine: Engine;
  readonly work: WorkBackend;
  readonly registry: RegistrationBackend;
  readonly runs: RuntimeDb;
  readonly worker: number;
  /** Does this in a transaction of the caller's own, and commits. */
  readonly within: (body: (tx: CallerTransaction) => Promise<unknown>) => Promise<void>;
}

const PUSH = { queue: 'mail', handler: 'send' };

async function sqlitePlace(t: TestContext): Promise<Place> {
  const file = join(folder, `${++files}.db`);
  const made = await place(t, `sqlite:${file}`, { type: 'sqlite', sqlite_path: file }, async (body) => {
    db.exec('BEGIN IMMEDIATE');
    try {
      await body(db as unknown as CallerTransaction);
    } finally {
      db.exec('COMMIT');
    }
  });
  const db = new DatabaseSync(file);
  t.after(() => db.close());
  return made;
}

async function postgresPlace(t: TestContext): Promise<Place> {
  const url = await freshDatabase('hostile');
  const client = await adminOf(url);
  t.after(() => client.end());
  return place(t, url, { type: 'postgres', postgres_url: url }, async (body) => {
    await client.query('BEGIN');
    try {
      await body(client);
    } finally {
      await client.query('COMMIT');
    }
  });
}

async function place(
  t: TestContext,
  url: string,
  config: Parameters<typeof createWorkBackend>[0],
  within: Place['within'],
): Promise<Place> {
  const options = { duties: false } as const;
  const app = await open(url, options);
  const work = await createWorkBackend(config, options);
  const registry = await createRegistrationBackend(config, options);
  const runs = await connectRuntimeDb(url, options);
  t.after(async () => {
    await work.close();
    await registry.close();
    await runs.close();
    await app.close();
  });
  const { engine } = app;
  await registry.register({ worker_id: 'known' });
  await queueRun(runs, { run_id: 'known', prompt: 'x' });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'one', slots: 1 });
  return { engine, work, registry, runs, worker, within };
}

type Entry<T> = (place: Place, given: T) => Promise<unknown>;

/** A new running task. */
async function running({ engine, worker }: Place): Promise<{ task: number; attempt: number }> {
  const { task } = await engine.push(PUSH);
  const [grant] = await engine.claim({ worker, max: 1, task });
  assert.ok(grant);
  return grant;
}

/** Its record, without what differs from store to store. */
async function told({ engine }: Place, task: number): Promise<unknown> {
  const { state, payload, result, unique } = (await engine.get(task)) ?? assert.fail('it is gone');
  return { state, payload, result: result?.replace(/"stack":.*/s, ''), unique };
}

const TEXTS: Readonly<Record<string, Entry<string>>> = {
  'push: queue': ({ engine }, text) => engine.push({ ...PUSH, queue: text }),
  'push: handler': ({ engine }, text) => engine.push({ ...PUSH, handler: text }),
  'push: input': async (p, text) => told(p, (await p.engine.push({ ...PUSH, input: text })).task),
  'push: key of input': async (p, text) => told(p, (await p.engine.push({ ...PUSH, input: { [text]: 1 } })).task),
  'push: deep input': async (p, text) => told(p, (await p.engine.push({ ...PUSH, input: { a: [{ b: text }] } })).task),
  'push: unique': async (p, text) => told(p, (await p.engine.push({ ...PUSH, unique: text })).task),
  'push: op': ({ engine }, text) => engine.push({ ...PUSH, op: text }),
  'pushMany: input': async (p, text) => {
    const [one] = await p.engine.pushMany([{ ...PUSH, input: text }]);
    return told(p, one?.task as number);
  },
  'pushIn: input': (p, text) => p.within((tx) => p.engine.pushIn(tx, [{ ...PUSH, input: text }])),
  'pushIn: unique': (p, text) => p.within((tx) => p.engine.pushIn(tx, [{ ...PUSH, unique: text }])),
  'pushIn: queue': (p, text) => p.within((tx) => p.engine.pushIn(tx, [{ ...PUSH, queue: text }])),
  'claim: op': async ({ engine, worker }, text) => void (await engine.claim({ worker, max: 1, op: text })),
  'claim: queues': ({ engine, worker }, text) => engine.claim({ worker, max: 1, queues: [text] }),
  'claim: handlers': ({ engine, worker }, text) => engine.claim({ worker, max: 1, handlers: [text] }),
  complete: async (p, text) => {
    const { task, attempt } = await running(p);
    await p.engine.complete({ task, attempt }, { text });
    return told(p, task);
  },
  'fail: text': async (p, text) => {
    const { task, attempt } = await running(p);
    await p.engine.fail({ task, attempt }, text, { giveUp: true });
    return told(p, task);
  },
  'fail: error': async (p, text) => {
    const { task, attempt } = await running(p);
    await p.engine.fail({ task, attempt }, new Error(text), { giveUp: true });
    return told(p, task);
  },
  'fail: again': async (p, text) => {
    const { task, attempt } = await running(p);
    await p.engine.fail({ task, attempt }, { text });
    return (await p.engine.attempts(task)).map(({ error }) => error);
  },
  'appendLog: text': async (p, text) => {
    const { task, attempt } = await running(p);
    await p.engine.logs.append({ task, attempt }, [{ seq: 1, at: 1, stream: 'stdout', text }]);
    return p.engine.logs.read(task);
  },
  'registerWorker: name': ({ engine }, text) =>
    engine.workers.register({ name: text, incarnation: randomUUID(), slots: 1 }),
  'registerWorker: incarnation': ({ engine }, text) =>
    engine.workers.register({ name: 'w', incarnation: text, slots: 1 }),
  'registerWorker: tags': ({ engine }, text) =>
    engine.workers.register({ name: 'w', incarnation: randomUUID(), slots: 1, tags: [text] }),
  'registerWorker: host': ({ engine }, text) =>
    engine.workers.register({ name: 'w', incarnation: randomUUID(), slots: 1, host: text }),
  'registerWorker: handlers': ({ engine }, text) =>
    engine.workers.register({ name: 'w', incarnation: randomUUID(), slots: 1, handlers: [text] }),
  'beat: status': async ({ engine, worker }, text) => {
    await engine.workers.beat({ worker, status: text });
    return (await engine.workers.list()).find((row) => row.worker === worker)?.status;
  },
  'beat: metadata': async ({ engine, worker }, text) => {
    await engine.workers.beat({ worker, metadata: { [text]: text } });
    return (await engine.workers.list()).find((row) => row.worker === worker)?.metadata;
  },
  pause: ({ engine }, text) => engine.pause(text),
  resume: ({ engine }, text) => engine.resume(text),
  stats: ({ engine }, text) => engine.stats(text),
  'list: queue': ({ engine }, text) => engine.list({ queue: text, limit: 1 }),
  parseId: async ({ engine }, text) => engine.parseId(text),
  'schedules.put: name': ({ engine }, text) => engine.schedules.put({ ...PUSH, name: text, cron: '0 0 1 1 *' }),
  'schedules.put: cron': ({ engine }, text) => engine.schedules.put({ ...PUSH, name: 'a', cron: text }),
  'schedules.put: timezone': ({ engine }, text) =>
    engine.schedules.put({ ...PUSH, name: 'a', cron: '0 0 1 1 *', timezone: text }),
  'schedules.put: input': async ({ engine }, text) => {
    await engine.schedules.put({ ...PUSH, name: 'nightly', cron: '0 0 1 1 *', input: { text } });
    return (await engine.schedules.list()).map(({ payload }) => payload);
  },
  'schedules.remove': ({ engine }, text) => engine.schedules.remove(text),
  'pool: name': ({ work }, text) => work.pool(text).size(),
  'pool.push': async ({ work }, text) => void (await work.pool('papers').push(text)),
  'pool.claim: worker id': ({ work }, text) => work.pool('papers').claim(text),
  'pool.complete: id': ({ work }, text) => work.pool('papers').complete(text),
  'pool.releaseByWorker': ({ work }, text) => work.pool('papers').releaseByWorker(text),
  'registry.register: id': async ({ registry }, text) => void (await registry.register({ worker_id: text })),
  'registry.register: host': async ({ registry }, text) =>
    void (await registry.register({ worker_id: 'known', host: text })),
  'registry.register: capabilities': async ({ registry }, text) =>
    void (await registry.register({ worker_id: 'known', capabilities: [text] })),
  'registry.register: started_at': async ({ registry }, text) =>
    void (await registry.register({ worker_id: 'known', started_at: text })),
  'registry.heartbeat: id': ({ registry }, text) => registry.heartbeat(text),
  'registry.heartbeat: metadata': async ({ registry }, text) => {
    await registry.heartbeat('known', { text });
    return (await registry.get('known'))?.metadata;
  },
  'registry.updateStatus': async ({ registry }, text) => {
    await registry.updateStatus('known', text);
    return (await registry.get('known'))?.status;
  },
  'registry.get': async ({ registry }, text) => (await registry.get(text))?.worker_id,
  'registry.list: capability': async ({ registry }, text) =>
    (await registry.list({ capability: text })).map(({ worker_id }) => worker_id),
  'queueRun: id': async ({ runs }, text) => (await queueRun(runs, { run_id: text, prompt: 'x' })).run_id,
  'queueRun: prompt': async ({ runs }, text) =>
    (await queueRun(runs, { run_id: `r${Buffer.from(text, 'utf16le').toString('hex').slice(0, 200)}`, prompt: text }))
      .run_spec,
  'queueRun: workspace': async ({ runs }, text) =>
    (
      await queueRun(runs, {
        run_id: `w${Buffer.from(text, 'utf16le').toString('hex').slice(0, 200)}`,
        prompt: 'x',
        workspace_dir: text,
      })
    ).workspace_dir,
  getRun: async ({ runs }, text) => (await getRun(runs, text)) === null,
  'acquireRunLease: id': ({ runs }, text) => acquireRunLease(runs, text, 'w', 60),
  'acquireRunLease: owner': ({ runs }, text) => acquireRunLease(runs, 'known', text, 0.01),
  heartbeatRunLease: ({ runs }, text) => heartbeatRunLease(runs, 'known', text, 60),
  'requestCancel: id': ({ runs }, text) => requestCancel(runs, text),
  'requestCancel: reason': ({ runs }, text) => requestCancel(runs, 'known', text),
};

/** No store could keep the first ones unchanged; every store must keep the others. */
const HOSTILE = {
  nul: 'a\u0000b',
  'only nul': '\u0000',
  'lone high': '\ud800',
  'lone low': 'x\udc00y',
  'halves the wrong way round': '\udc00\ud800',
  'control characters': 'a\u0001\u0007\u007f\u0085b',
  'line feed': 'a\nb\r\n',
  'array syntax': '{"NULL",\\}',
  null: 'NULL',
  'the empty text': '',
  quotes: `'"\\ $1 ; --`,
  emoji: '👩‍👩‍👧 é e\u0301 \u2028 \ufeff \ufffd',
  'right to left': '\u202eabc',
  escaped: '\\u0000 \\x00 %00',
  'not a date': '+275760-09-13T00:00:00.001Z',
  long: 'ä'.repeat(20_000),
};

/** Whole numbers that may be too large for a column, and values that are no whole numbers. */
const NUMBERS: Readonly<Record<string, Entry<number>>> = {
  'get: task': async ({ engine }, n) => (await engine.get(n)) === undefined,
  cancel: ({ engine }, n) => engine.cancel(n),
  retry: ({ engine }, n) => engine.retry(n),
  attempts: ({ engine }, n) => engine.attempts(n),
  'claim: task': ({ engine, worker }, n) => engine.claim({ worker, max: 1, task: n }),
  'claim: worker': async (p, n) => {
    const { task } = await p.engine.push(PUSH);
    return (await p.engine.claim({ worker: n, max: 1, task })).length;
  },
  'claim: max': ({ engine, worker }, n) => engine.claim({ worker, max: n, queues: ['none'] }),
  'claim: leaseMs': ({ engine, worker }, n) => engine.claim({ worker, max: 1, leaseMs: n, queues: ['none'] }),
  'complete: task': ({ engine }, n) => engine.complete({ task: n, attempt: 1 }),
  'complete: attempt': async (p, n) => p.engine.complete({ task: (await running(p)).task, attempt: n }),
  'renew: attempt': async (p, n) => p.engine.renew({ task: (await running(p)).task, attempt: n }),
  'fail: attempt': async (p, n) => p.engine.fail({ task: (await running(p)).task, attempt: n }, 'x'),
  'fail: retryAfterMs': async (p, n) => {
    const { task, attempt } = await running(p);
    return p.engine.fail({ task, attempt }, 'x', { retryAfterMs: n });
  },
  'release: attempt': async (p, n) => p.engine.release({ task: (await running(p)).task, attempt: n }),
  'release: delayMs': async (p, n) => {
    const { task, attempt } = await running(p);
    return p.engine.release({ task, attempt }, { delayMs: n });
  },
  'appendLog: attempt': async (p, n) =>
    p.engine.logs.append({ task: (await running(p)).task, attempt: n }, [
      { seq: 1, at: 1, stream: 'stdout', text: 'x' },
    ]),
  'appendLog: seq': async (p, n) => {
    const { task, attempt } = await running(p);
    await p.engine.logs.append({ task, attempt }, [{ seq: n, at: 1, stream: 'stdout', text: 'x' }]);
    return (await p.engine.logs.read(task)).map(({ seq }) => seq);
  },
  'appendLog: at': async (p, n) => {
    const { task, attempt } = await running(p);
    await p.engine.logs.append({ task, attempt }, [{ seq: 1, at: n, stream: 'stdout', text: 'x' }]);
    return (await p.engine.logs.read(task)).map(({ at }) => at);
  },
  'readLog: after': async (p, n) => p.engine.logs.read(1, { after: { attempt: n, seq: 0 } }),
  'readLog: after seq': async (p, n) => p.engine.logs.read(1, { after: { attempt: 0, seq: n } }),
  'readLog: task': ({ engine }, n) => engine.logs.read(n),
  'list: before': async ({ engine }, n) => void (await engine.list({ limit: 1, before: n })),
  'list: limit': async ({ engine }, n) => void (await engine.list({ limit: n })),
  'push: priority': async ({ engine }, n) => void (await engine.push({ ...PUSH, priority: n })),
  'push: delay': async ({ engine }, n) => void (await engine.push({ ...PUSH, delay: n })),
  'push: runAt': async ({ engine }, n) => void (await engine.push({ ...PUSH, runAt: n })),
  'push: maxAttempts': async ({ engine }, n) => void (await engine.push({ ...PUSH, maxAttempts: n })),
  'push: timeout': async ({ engine }, n) => void (await engine.push({ ...PUSH, timeout: n })),
  'push: waitTimeout': async ({ engine }, n) => void (await engine.push({ ...PUSH, waitTimeout: n })),
  'push: late wait': async ({ engine }, n) => void (await engine.push({ ...PUSH, runAt: 8e15, waitTimeout: n })),
  'push: window': async ({ engine }, n) =>
    void (await engine.push({ ...PUSH, unique: { key: randomUUID(), window: n } })),
  'beat: worker': ({ engine }, n) => engine.workers.beat({ worker: n }),
  cancelRequests: ({ engine }, n) => engine.cancelRequests(n),
  'registerWorker: slots': async ({ engine }, n) =>
    void (await engine.workers.register({ name: 'w', incarnation: randomUUID(), slots: n })),
  'registerWorker: pid': async ({ engine }, n) =>
    void (await engine.workers.register({ name: 'w', incarnation: randomUUID(), slots: 1, pid: n })),
  'schedules.put: priority': async ({ engine }, n) =>
    void (await engine.schedules.put({ ...PUSH, name: 'p', cron: '0 0 1 1 *', priority: n })),
  'registry.register: pid': async ({ registry }, n) => void (await registry.register({ worker_id: 'pids', pid: n })),
  'pool.push: max_retries': async ({ work }, n) => void (await work.pool('papers').push(1, { max_retries: n })),
  'queueRun: max_iterations': async ({ runs }, n) =>
    (await queueRun(runs, { run_id: `i${n}`, prompt: 'x', max_iterations: n })).max_iterations,
  'acquireRunLease: ttl': ({ runs }, n) => acquireRunLease(runs, 'known', 'w', n),
};

const ODD = [
  0,
  -1,
  1.5,
  Number.NaN,
  Infinity,
  -Infinity,
  32_768,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 40,
  8.64e15,
  2 ** 53 - 1,
  2 ** 53,
  1e300,
];

/** The answer or the code of the error; a bug is never right. */
async function outcome(call: () => Promise<unknown>): Promise<unknown> {
  try {
    const answer = await call();
    return { answer: typeof answer === 'object' && answer !== null && 'id' in answer ? 'an id' : answer };
  } catch (error) {
    if (!isEngineError(error)) return { defect: String(error) };
    if (error.code === 'INTERNAL' || error.code.startsWith('STORE_'))
      return { defect: `${error.code} ${error.message}` };
    return { refused: error.code, message: error.message.replace(/\d+ ms/g, 'N ms').replace(/task \d+/, 'task N') };
  }
}

const LOST = new Set(['LEASE_LOST']);

async function compare<T>(
  t: TestContext,
  entries: Readonly<Record<string, Entry<T>>>,
  given: readonly (readonly [string, T])[],
) {
  const places = [await sqlitePlace(t), await postgresPlace(t)] as const;
  const wrong: string[] = [];
  let calls = 0;
  for (const [name, entry] of Object.entries(entries)) {
    for (const [what, value] of given) {
      calls++;
      const [one, two] = [await outcome(() => entry(places[0], value)), await outcome(() => entry(places[1], value))];
      const texts = [one, two].map((told) => JSON.stringify(simple(told)));
      if (texts.some((text) => text?.includes('"defect"')) || texts[0] !== texts[1]) {
        wrong.push(
          `${name} ← ${what}\n    sqlite   ${texts[0]?.slice(0, 200)}\n    postgres ${texts[1]?.slice(0, 200)}`,
        );
      }
    }
  }
  t.diagnostic(`${calls} calls on each store`);
  assert.deepEqual(wrong, [], `\n${wrong.join('\n')}`);
}

/** Without the numbers of tasks and workers, which differ from store to store. */
function simple(told: unknown): unknown {
  const { refused, message, answer } = told as { refused?: string; message?: string; answer?: unknown };
  if (refused !== undefined) return { refused, ...(LOST.has(refused) ? {} : { message }) };
  return typeof answer === 'number' ? { answer: 'a number' } : told;
}

test('texts: every entry point answers the same on each store, and never with a bug', {
  timeout: 120_000,
}, async (t) => {
  await compare(t, TEXTS, Object.entries(HOSTILE));
});

test('numbers: every entry point answers the same on each store, and never with a bug', {
  timeout: 120_000,
}, async (t) => {
  await compare(
    t,
    NUMBERS,
    ODD.map((n) => [String(n), n] as const),
  );
});
