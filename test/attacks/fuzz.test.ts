/**
 * Every parser that somebody outside can reach, with what is nearly right, for a time each: `LEASEHOLD_FUZZ_MS`, by hand 60000.
 * `LEASEHOLD_FUZZ_SEED` begins elsewhere. Nothing may be answered with a defect, nothing may end the node, and its memory is bounded.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { adminToken } from '../../src/app/admin-token.ts';
import { kept } from '../../src/app/remote/remote-worker.ts';
import { loadConfig } from '../../src/config/load.ts';
import { OPTION_KEYS, type OptionKey, optionOf } from '../../src/config/options.ts';
import { parseDuration } from '../../src/core/duration.ts';
import { isEngineError } from '../../src/core/errors.ts';
import { normalizeLimit, normalizeUses } from '../../src/core/limits/limit.ts';
import { checkKey, checkName, checkWorkerId } from '../../src/core/names.ts';
import { normalizePlacement } from '../../src/core/placement/placement.ts';
import { parseTest, passes, readTag } from '../../src/core/placement/tag.ts';
import { inRange, parseRange } from '../../src/core/placement/version.ts';
import type { Route } from '../../src/protocol/route.ts';
import { ROUTES } from '../../src/protocol/routes.ts';
import type { Rng } from '../sim/rng.ts';
import { temporaryFolder } from '../support/leasehold.ts';
import { greeting, RawWorker } from '../support/raw-worker.ts';
import { asker, fuzz, fuzzed, judge } from './fuzzing.ts';
import { mutate, object, value } from './mutate.ts';
import { comeIn, hire } from './scene.ts';
import { HOSTILE } from './strings.ts';

const ALL = Object.entries(ROUTES as Record<string, Route>);

/** Every name of a field or parameter that means something somewhere. */
const NAMES: readonly string[] = [
  ...new Set(JSON.stringify(ALL.map(([, { body }]) => body?.def)).match(/[a-z]\w{2,}/g) ?? []),
  ...'queue handler input tasks priority delay retry timeout unique key window placement requires only never limits name weight cost fairness reuse rate max burst strategy concurrent perKey role ttl grace code tags lease_token events seq event_type payload status result leases step_id'.split(
    ' ',
  ),
];

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed()) || '%20';
const pathOf = ({ path }: Route, part: () => string): string => path.replace(/\{\w+\}/g, part);
const JSON_TYPE = { 'content-type': 'application/json' };
/** What would end tokens, ours among them, is not called with numbers that are good. */
const writing = ALL.filter(([name, { method }]) => method !== 'GET' && !name.endsWith('Token'));

test('fuzz: bodies', async (t) => {
  const { node, id, well } = await fuzzed(t);
  const ask = asker(t, node);
  const good = [
    '{"queue":"q","input":{"a":[1,2]}}',
    '{"tasks":[{"queue":"q"}]}',
    '{"name":"x","concurrent":1}',
    '{"channel":"c"}',
    '{}',
  ];
  await fuzz(
    t,
    async (rng) => {
      const [, route] = rng.pick(writing);
      const path = pathOf(route, () => rng.pick([id, 'q', 'api', 'box', '999']));
      const body = rng.chance(0.5)
        ? mutate(rng, rng.pick(good))
        : JSON.stringify({ ...JSON.parse(rng.pick(good)), ...object(rng, NAMES) });
      const bytes = rng.chance(0.1) ? Buffer.from(body, 'latin1') : body;
      judge(await ask({ method: route.method, path, headers: JSON_TYPE, body: bytes }));
    },
    8,
  );
  await well();
});

test('fuzz: queries, cursors and ids in paths', async (t) => {
  const { node, id, well } = await fuzzed(t);
  const ask = asker(t, node);
  const reading = ALL.filter(([, { method, stream }]) => method === 'GET' && stream !== 'events');
  const cursors = [id, '1.1', '1', '50', 'ready', 'q', 'true'];
  await fuzz(
    t,
    async (rng) => {
      const [, route] = rng.pick(reading);
      const path = pathOf(route, () => encoded(rng.chance(0.5) ? id : mutate(rng, id)));
      const keys = [...Object.keys(route.query?.shape ?? {}), 'nothing', '__proto__'].filter((key) => key !== 'follow');
      const query = Array.from({ length: rng.int(0, 4) }, () => {
        const text = rng.chance(0.3) ? rng.pick(cursors) : mutate(rng, rng.pick(cursors));
        return rng.chance(0.9)
          ? `${rng.pick(keys)}=${encoded(text)}`
          : mutate(rng, 'a=b&c').replaceAll(/[^\x21-\x7e]/g, '');
      });
      judge(await ask({ path: `${path}?${query.join('&')}`.replaceAll(/[^\x21-\x7e]/g, '') }));
    },
    8,
  );
  await well();
});

test('fuzz: headers, and bytes that are nearly a request', async (t) => {
  const { node, well, id } = await fuzzed(t);
  const { hostname, port } = new URL(node.service.address);
  const head = `POST /api/v1/tasks/${id}/cancel HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${node.admin}\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nX-Session-Token: a.b\r\nContent-Length: 15\r\nOrigin: http://localhost\r\nSec-Fetch-Site: none\r\n\r\n{"dryRun":true}`;
  await fuzz(
    t,
    async (rng) => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.end(Buffer.from(mutate(rng, head), rng.chance(0.5) ? 'latin1' : 'utf8'));
      const chunks = await Array.fromAsync(socket as AsyncIterable<Buffer>).catch(() => []);
      assert.doesNotMatch(Buffer.concat(chunks).toString('latin1'), /^HTTP\/1\.1 5/);
    },
    4,
  );
  await well();
});

test('fuzz: where a stream resumes', async (t) => {
  const { node, id, well } = await fuzzed(t);
  const ask = asker(t, node);
  const places = ['0', '1', '1.1', '999999999999999', '-1', '1e3'];
  await fuzz(
    t,
    async (rng) => {
      const text = rng.chance(0.3) ? rng.pick(places) : mutate(rng, rng.pick(places));
      const header = text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '');
      const path = rng.pick([
        '/api/v1/events',
        `/api/v1/events?after=${encoded(text)}`,
        `/api/v1/events?task=${encoded(mutate(rng, id))}&kind=created`,
        `/api/v1/tasks/${id}/logs?follow=1`,
        `/api/v1/tasks/${id}/logs?follow=1&cursor=${encoded(text)}`,
        `/api/v1/tasks/${id}/logs?cursor=${encoded(text)}`,
      ]);
      judge(await ask({ path, ...(rng.chance(0.7) ? { headers: { 'last-event-id': header } } : {}) }));
    },
    4,
  );
  await well();
});

test('fuzz: the first message of a worker', async (t) => {
  const { node, well } = await fuzzed(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  const good = JSON.stringify(greeting({ name: 'box', secret, incarnation: 'one', tags: [], handlers: ['echo'] }));
  await fuzz(t, async (rng) => {
    const worker = await RawWorker.dial(node.service.address);
    const said = rng.chance(0.6)
      ? mutate(rng, good)
      : JSON.stringify({ ...(JSON.parse(good) as object), ...object(rng, Object.keys(JSON.parse(good) as object)) });
    worker.say(rng.chance(0.1) ? Buffer.from(said) : said);
    const heard = await worker
      .hear(({ type }) => type === 'connect_ok' || type === 'connect_rejected')
      .catch(() => undefined);
    if (heard?.type === 'connect_rejected') assert.notEqual(heard.error?.code, 'INTERNAL', JSON.stringify(heard));
    await worker.hangUp();
  });
  await well();
  await comeIn(node, { name: 'box', secret });
});

test('fuzz: frames of a worker', async (t) => {
  const { node, well } = await fuzzed(t);
  await hire(node, 'first');
  let worker: RawWorker | undefined;
  const connected = async (): Promise<RawWorker> => {
    if (worker !== undefined && worker.socket.readyState === worker.socket.OPEN && worker.heard.length < 5000)
      return worker;
    await worker?.hangUp();
    const { secret: own } = await node.call('rotateWorker', '/api/v1/workers/first/rotate', { body: {} });
    worker = await comeIn(node, { name: 'first', secret: own, incarnation: 'one' });
    return worker;
  };
  const lease = { task: 1, attempt: 1, token: 'AAAAAAAAAAAAAAAAAAAAAA' };
  const logs = [{ seq: 1, at: 0, stream: 'log', text: 'x' }];
  const entry = { key: 'k', kind: 'value', value: '1', began: 5, usage: '{}' };
  const child = {
    key: 'c',
    kind: 'child',
    child: { queue: 'q', handler: 'h', input: '1', limits: ['api'], placement: { only: ['x'] } },
    after: [{ on: 1, optional: true }, { on: { child: 'k' } }],
    afterFailure: 'run',
  };
  const notice = { key: 's', kind: 'signal', channel: 'c', body: '1', broadcast: true };
  const wait = { key: 'w', nth: 1, channel: 'c', timeoutMs: 5, form: '{}' };
  const good: readonly object[] = [
    { type: 'task_claim', max: 1, waitMs: 0 },
    { type: 'claim_stop', claim: 1 },
    { type: 'task_complete', lease, result: '{"a":1}' },
    { type: 'task_failed', lease, error: '"x"', retryAfterMs: 5, limit: 'api' },
    { type: 'task_release', lease, delayMs: 5 },
    { type: 'task_progress', lease, logs },
    { type: 'journal', lease },
    { type: 'task_turn', lease, entries: [entry], then: { go: 'on' } },
    { type: 'task_turn', lease, entries: [entry, child, notice], then: { go: 'park', ...wait } },
    {
      type: 'task_turn',
      lease,
      entries: [child],
      then: { go: 'park', key: 'w', children: [1, { child: 'c' }], need: 1 },
    },
    { type: 'task_turn', lease, entries: [notice], then: { go: 'complete', result: '{"a":1}' } },
    { type: 'task_turn', lease, entries: [], then: { go: 'fail', error: '"x"', retryAfterMs: 5, limit: 'api' } },
    { type: 'results', lease, tasks: [1, 'x'] },
    { type: 'lease_renew', leases: [lease] },
    { type: 'heartbeat', state: 'online' },
    { type: 'cancels' },
  ];
  let n = 0;
  await fuzz(t, async (rng) => {
    const own = await connected();
    // A lease that is real for now and then, so that what comes behind the proof is reached as well.
    if (rng.chance(0.2)) {
      await node.engine.push({ queue: 'q', handler: 'echo', maxAttempts: 50 });
      const [held] = await own.claim().catch(() => []);
      if (held !== undefined) Object.assign(lease, { task: held.task, attempt: held.attempt, token: held.token });
    }
    const frame: Record<string, unknown> = { n: 10_000 + ++n, ...structuredClone(rng.pick(good)) };
    const inner = Object.keys(frame).filter(
      (key) => typeof frame[key] === 'object' && !Array.isArray(frame[key]) && key !== 'lease',
    );
    for (const key of inner)
      Object.assign(frame[key] as object, rng.chance(0.7) ? object(rng, Object.keys(frame[key] as object)) : {});
    // Entries of turns lie in a list, each an object of its own.
    const entries = Array.isArray(frame.entries) ? (frame.entries as object[]) : [];
    for (const one of entries) if (rng.chance(0.3)) Object.assign(one, object(rng, Object.keys(one)));
    for (const key of Object.keys(frame))
      if (key !== 'n' && key !== 'type' && rng.chance(0.2)) frame[key] = value(rng, NAMES);
    const text = JSON.stringify(frame);
    const several = rng.chance(0.2) ? `[${text},${text}]` : text;
    own.say(rng.chance(0.15) ? mutate(rng, several) : several);
    if (rng.chance(0.3)) await own.ask('cancels', {}, 5_000_000 + n).catch(() => {});
    for (const { error } of own.heard) assert.ok(error?.code !== 'INTERNAL', JSON.stringify(error));
    own.heard.length = 0;
  });
  await worker?.hangUp();
  await well();
});

test('fuzz: tokens of leases and sessions', async (t) => {
  const { node, well } = await fuzzed(t);
  const ask = asker(t, node);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  const session = await node.call('registerWorker', '/workers/register', {
    token: secret,
    body: { hostname: 'h', capabilities: ['echo'] },
  });
  await node.engine.push({ queue: 'q', handler: 'echo' });
  const own = { 'x-session-token': session.session_token as string };
  const [step] = await node.call('claimSteps', `/workers/${session.worker_id}/claim`, {
    token: null,
    headers: own,
    body: {},
  });
  const ascii = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '');
  await fuzz(
    t,
    async (rng) => {
      const good = rng.chance(0.5);
      const token = good ? session.session_token : ascii(mutate(rng, session.session_token));
      const lease = mutate(rng, step.lease_token);
      const authorization = rng.chance(0.3) ? ascii(mutate(rng, `Bearer ${secret}`)) : '';
      const headers = { ...JSON_TYPE, 'x-session-token': token, authorization };
      const path = rng.pick([
        `/steps/${step.step_id}/complete`,
        `/steps/${step.step_id}/events`,
        `/workers/${session.worker_id}/heartbeat`,
      ]);
      const body = path.endsWith('complete')
        ? { lease_token: lease, status: 'completed' }
        : path.endsWith('events')
          ? { lease_token: lease, events: [{ seq: 1, event_type: 'log', payload: 'x' }] }
          : { leases: [{ step_id: step.step_id, lease_token: lease }] };
      const { status, text } = await ask({
        method: 'POST',
        path,
        headers: headers as IncomingHttpHeaders,
        body: JSON.stringify(body),
      });
      judge({ status, text });
      if (lease === step.lease_token || status !== 200 || path.endsWith('heartbeat')) return;
      assert.fail(`${lease} was taken for ${step.lease_token}`);
    },
    4,
  );
  await well();
});

test('fuzz: durations, names, keys, tags, versions, placements and limits', async (t) => {
  const texts = [
    '5m',
    '1h30m',
    '250ms',
    '1d',
    '0',
    'gpu',
    'gpu=nvidia',
    'memory_gb>=16',
    '!slow',
    '>=1.4 <2',
    '^1.2.3',
    'api:key*2',
    'a-b.c_d',
  ];
  const parsers: readonly ((text: string, rng: Rng) => unknown)[] = [
    (text) => {
      const ms = parseDuration(text);
      assert.ok(Number.isSafeInteger(ms) && ms >= 0, `${text} is ${ms}`);
    },
    (text) => assert.match(checkName('queue', text), /^[a-z0-9][a-z0-9._-]{0,62}$/),
    (text) => checkName('handler', text),
    (text) => checkWorkerId('worker', text),
    (text) => checkKey('key', text),
    (text, rng) => passes(parseTest('tag', text), [readTag(text), readTag(rng.pick(texts))]),
    (text) => inRange(parseRange('version', text), '1.2.3'),
    (text, rng) =>
      normalizePlacement({
        requires: [text],
        version: text,
        ...object(rng, ['only', 'never', 'prefer', 'handlers', 'maxPerWorker', 'affinity']),
      }),
    (text, rng) =>
      normalizeLimit({
        concurrent: 1,
        ...object(rng, ['rate', 'cost', 'perKey', 'strategy', 'backlog']),
        ...(rng.chance(0.5) ? { rate: { max: 1, window: text } } : {}),
      }),
    (text) => normalizeUses([text, { name: 'api', key: text }]),
  ];
  let refused = 0;
  const tries = await fuzz(t, (rng) => {
    const text = rng.chance(0.2) ? rng.pick(HOSTILE) : mutate(rng, rng.pick(texts));
    const began = performance.now();
    for (const parse of parsers) {
      try {
        parse(text, rng);
      } catch (error) {
        if (!isEngineError(error)) throw error;
        assert.notEqual(error.code, 'INTERNAL');
        refused++;
      }
    }
    const took = performance.now() - began;
    assert.ok(took < 2000, `${JSON.stringify(text.slice(0, 100))} took ${took} ms`);
  });
  assert.ok(refused > tries, 'most of it is nonsense');
});

test('fuzz: settings, and the files that a node and a worker keep', async (t) => {
  const folder = temporaryFolder(t);
  const samples = [
    '5m',
    '10',
    '-1',
    'true',
    'https://tasks.example.org',
    '127.0.0.1',
    'a,b',
    'shell,js',
    'none',
    '100/1m',
    'api:k*2',
    '',
  ];
  const flagOf = (key: OptionKey): string =>
    `--${optionOf(key).flag ?? key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const tolerated = (error: unknown): void => {
    if (!isEngineError(error)) throw error;
    assert.notEqual(error.code, 'INTERNAL');
  };
  await fuzz(t, (rng) => {
    const options = [rng.pick(OPTION_KEYS), rng.pick(OPTION_KEYS)].filter(
      (key, i, all) => all.findIndex((one) => flagOf(one) === flagOf(key)) === i,
    );
    const text = (): string => (rng.chance(0.3) ? rng.pick(samples) : mutate(rng, rng.pick(samples)));
    const args = options.flatMap((key) => (rng.chance(0.5) ? [flagOf(key), text()] : [`${flagOf(key)}=${text()}`]));
    const env = Object.fromEntries(
      OPTION_KEYS.flatMap((key) => optionOf(key).env)
        .filter(() => rng.chance(0.1))
        .map((name) => [name, text()]),
    );
    try {
      loadConfig({ name: 'up', options }, rng.chance(0.2) ? args.map((arg) => mutate(rng, arg)) : args, env);
    } catch (error) {
      tolerated(error);
    }
    if (!rng.chance(0.05)) return;
    writeFileSync(join(folder, 'worker.json'), mutate(rng, '{"url":"http://x","name":"box","secret":"lh_wrk_x"}'));
    const found = kept(['http://x'], folder);
    if (found !== undefined) assert.deepEqual(Object.keys(found), ['name', 'secret']);
    writeFileSync(join(folder, 'token'), mutate(rng, 'lh_adm_0123456789012345678901234567890\n'));
    try {
      assert.match(adminToken(folder, undefined), /^[\x21-\x7e]{20,512}$/);
    } catch (error) {
      tolerated(error);
    }
  });
});
