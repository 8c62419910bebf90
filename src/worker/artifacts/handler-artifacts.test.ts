/** Handlers with artifacts: inline and in child processes, on a store and joined to a node. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { dies, large, refuses, remembers, stores } from '../../../test/support/files/artifact-tasks.ts';
import { until } from '../../../test/support/git/scratch.ts';
import { nodeScene } from '../../../test/support/node-scene.ts';
import type { Leasehold } from '../../app/library/leasehold.ts';
import { type NodeUrl, open } from '../../app/open.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { AnyTask } from '../define/definition.ts';
import { task } from '../define/task.ts';

const temp = tempFolder('handler-artifacts');
const SPOOL = 1500;

function folderHere(): string {
  const folder = join(temp, randomUUID());
  mkdirSync(folder);
  return folder;
}

async function onStore(t: TestContext, tasks: readonly AnyTask[]): Promise<Leasehold> {
  const app = await open('memory:', { artifactStore: folderHere() });
  t.after(() => app.close());
  await app.worker({ tasks, slots: 2, artifactSpool: SPOOL }).start();
  return app;
}

async function atNode(t: TestContext, tasks: readonly AnyTask[]): Promise<Leasehold> {
  const node = await nodeScene(t, { artifactStore: folderHere() });
  const app = await open(node.service.address as NodeUrl, { token: node.admin });
  t.after(() => app.close());
  await app.worker({ tasks, slots: 2, artifactSpool: SPOOL }).start();
  return app;
}

const inlineOf = <T extends AnyTask>(definition: T): T =>
  Object.freeze({ ...definition, isolation: 'inline' as const });
const asIs = <T extends AnyTask>(definition: T): T => definition;

for (const [how, change, where] of [
  ['inline, on a store', inlineOf, onStore],
  ['in a child process, on a store', asIs, onStore],
  ['inline, joined to a node', inlineOf, atNode],
  ['in a child process, joined to a node', asIs, atNode],
] as const) {
  test(`${how}: what a handler stores it reads back, and its temporary files go with the attempt`, async (t) => {
    const one = change(stores);
    const app = await where(t, [one]);
    const result = (await (await app.push(one, { folder: folderHere() })).result()) as Record<string, unknown>;
    const { listed, path, ...rest } = result as { listed: readonly unknown[]; path: string };
    assert.deepEqual(listed, [
      ['stream', 'application/octet-stream', 6, 'file'],
      ['bytes', 'application/octet-stream', 5, 'file'],
      ['deep/text.json', 'application/json', 7, 'file'],
      ['file.bin', 'application/octet-stream', 6, 'file'],
    ]);
    assert.deepEqual(rest, {
      text: 'a file',
      json: { n: 1 },
      byId: 6,
      ofTask: 5,
      stream: 'stream',
      saved: 'a file',
      modes: [0o600, 0o700],
      there: true,
    });
    assert.ok(path.startsWith(tmpdir()));
    assert.equal(existsSync(path), false);
    assert.deepEqual(
      readdirSync(join(path, '..', '..')).filter((name) => path.includes(name)),
      [],
    );
  });

  test(`${how}: unknown options, odd values and what is not there are refused, and leave nothing`, async (t) => {
    const one = change(refuses);
    const app = await where(t, [one]);
    const { codes, left } = (await (await app.push(one, { strange: `art_${'0'.repeat(32)}` })).result()) as {
      codes: unknown;
      left: unknown;
    };
    assert.deepEqual(left, []);
    assert.deepEqual(codes, [
      'UNKNOWN_OPTION',
      'UNKNOWN_OPTION',
      'INVALID_INPUT',
      'INVALID_INPUT',
      'INVALID_INPUT',
      'TOO_LARGE',
      'INVALID_INPUT',
      'NOT_FOUND',
      'NOT_FOUND',
      'INVALID_INPUT',
      'INVALID_INPUT',
    ]);
  });

  test(`${how}: a result that is too large for its row is an artifact, and is read whole`, async (t) => {
    const one = change(large);
    const app = await where(t, [one]);
    const bytes = 3 * 2 ** 20;
    const handle = await app.push(one, { bytes });
    assert.deepEqual(await handle.result(), { text: 'x'.repeat(bytes), end: 'ü' });
    const [artifact, ...more] = await app.artifacts.list({ task: handle.id });
    assert.deepEqual(
      [artifact?.name, artifact?.kind, artifact?.type, more],
      ['result.json', 'result', 'application/json', []],
    );
    const small = await app.push(one, { bytes: 10 });
    assert.deepEqual(await small.result(), { text: 'x'.repeat(10), end: 'ü' });
    assert.deepEqual(await app.artifacts.list({ task: small.id }), []);
  });

  test(`${how}: the value of a step that is too large for the journal is an artifact, and the step runs once`, async (t) => {
    const one = change(remembers);
    const app = await where(t, [one]);
    const note = join(folderHere(), 'note');
    const bytes = 2 * 2 ** 20;
    const handle = await app.push(one, { note, bytes });
    assert.deepEqual(await handle.result(), [
      ['a', bytes],
      ['b', bytes],
      ['c', bytes],
    ]);
    assert.equal(readFileSync(note, 'utf8'), 'a b/..\na b/..\na-b/..\n');
    const kept = await app.artifacts.list({ task: handle.id });
    assert.equal(new Set(kept.map(({ name }) => name)).size, 3);
    for (const { name, kind } of kept) {
      assert.match(name, /^steps\/a-b-\d?-?[\w-]*\.json$/);
      assert.equal(kind, 'result');
    }
  });
}

test('a value of a step that was removed fails the run, and the step is not done again', async (t) => {
  let ran = 0;
  const waits = task('waits', {
    maxAttempts: 1,
    run: async (_input, ctx) => {
      const text = await ctx.step('big', () => `${++ran}`.repeat(2 ** 21));
      await ctx.wait('go', { signal: 'go' });
      return text.length;
    },
  });
  const app = await onStore(t, [waits]);
  const handle = await app.push(waits);
  await until('it waits', async () => (await app.get(handle.id))?.state === 'waiting');
  for (const { id } of await app.artifacts.list({ task: handle.id })) await app.artifacts.remove(id);
  await app.signal('go', {});
  await assert.rejects(handle.result(), /artifact/);
  assert.equal(ran, 1);
});

test('a step whose value has no place, or is too large for any, fails with what is wrong', async (t) => {
  const app = await open('memory:', { artifactStore: folderHere(), artifactTaskQuota: 1000 });
  t.after(() => app.close());
  const step = task('step', {
    maxAttempts: 1,
    run: (input, ctx) => ctx.step('big', () => 'x'.repeat(input as number)),
  });
  await app.worker({ tasks: [step] }).start();
  await assert.rejects((await app.push(step, 2 ** 21)).result(), /no room/);
  await assert.rejects((await app.push(step, 65 * 2 ** 20)).result(), /value of step big is too large/);
});

test('temporary files go also when the process of the handler is killed', async (t) => {
  const app = await onStore(t, [dies]);
  const note = join(folderHere(), 'note');
  await assert.rejects((await app.push(dies, { note })).result(), { code: 'TASK_FAILED' });
  const path = readFileSync(note, 'utf8');
  assert.ok(path.includes('leasehold-artifacts'));
  assert.equal(existsSync(path), false);
});

test('a result that is too large also as an artifact, or has no room, fails the task as it did', async (t) => {
  const app = await open('memory:', { artifactStore: folderHere(), artifactTaskQuota: 1000 });
  t.after(() => app.close());
  const huge = task('huge', { run: () => 'x'.repeat(65 * 2 ** 20) });
  await app.worker({ tasks: [inlineOf(large), huge] }).start();
  await assert.rejects(
    (await app.push(inlineOf(large), { bytes: 2 ** 21 }, { maxAttempts: 1 })).result(),
    /ARTIFACT_QUOTA|no room/,
  );
  await assert.rejects((await app.push(huge)).result(), /too large/);
});

test('a handler that returns what only looks like a reference gets it back as it is', async (t) => {
  const lookalike = task('lookalike', {
    run: async (_input, ctx) => {
      const { id, size, sha256 } = await ctx.artifacts.put('mine', 'text');
      return { $artifact: id, size, sha256 };
    },
  });
  const app = await onStore(t, [lookalike]);
  const result = (await (await app.push(lookalike)).result()) as { readonly size: number };
  assert.equal(result.size, 4);
});
