import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { messagesOf, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import type { LogLine } from '../../engine/settle/task-logs.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';

/** A task that somebody runs, and its log. */
async function running(t: TestContext) {
  const scene = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { engine } = scene;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const { task, id } = await engine.push({ queue: 'q', handler: 'h', retry: { baseMs: 0 }, maxAttempts: 5 });
  const claim = async (): Promise<Grant> => {
    const [grant] = await engine.claim({ worker, max: 1, task });
    assert.ok(grant);
    return grant;
  };
  const say = (grant: Grant, from: number, count: number): Promise<void> =>
    engine.logs.append(
      grant,
      Array.from({ length: count }, (_, i) => ({
        seq: from + i,
        at: from + i,
        stream: 'stdout',
        text: `${grant.attempt}/${from + i}`,
      })),
    );
  return { scene, engine, path: `/api/v1/tasks/${id}/logs`, claim, say };
}

const textsOf = (lines: readonly LogLine[]): string[] => lines.map(({ text }) => text);

function follow(scene: NodeScene, path: string, lastEventId?: string): Promise<Response> {
  const headers = scene.headers(lastEventId === undefined ? {} : { headers: { 'last-event-id': lastEventId } });
  return fetch(scene.url(path), { headers });
}

async function heard(response: Response): Promise<{ ids: string[]; texts: string[] }> {
  const messages = await Array.fromAsync(messagesOf(response));
  return { ids: messages.map(({ id }) => String(id)), texts: messages.map(({ data }) => data.text) };
}

test('a log is read in pages over all attempts, without gap or repeat, also while it grows', async (t) => {
  const { scene, engine, path, claim, say } = await running(t);
  const first = await claim();
  await say(first, 1, 30);
  await engine.fail(first, new Error('again'));
  const second = await claim();
  await say(second, 1, 25);
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await scene.call('readLog', `${path}?limit=7${cursor}`);
    seen.push(...textsOf(page.lines));
    if (page.cursor === undefined) break;
    cursor = `&cursor=${page.cursor}`;
    if (seen.length === 49) await say(second, 26, 3);
  }
  const wanted = [1, 2].flatMap((attempt) =>
    Array.from({ length: attempt === 1 ? 30 : 28 }, (_, i) => `${attempt}/${i + 1}`),
  );
  assert.deepEqual(seen, wanted);
});

test('a cursor that no page has ended with is refused', async (t) => {
  const { scene, path } = await running(t);
  for (const query of [
    'cursor=',
    'cursor=x',
    'cursor=1',
    'cursor=1.2.3',
    'cursor=-1.2',
    'cursor=1.99999999999999999',
    'follow=yes',
    'limit=0',
    'limit=501',
  ]) {
    const answer = await scene.ask(`${path}?${query}`);
    assert.deepEqual([answer.status, answer.body.error?.code], [400, 'INVALID_INPUT'], query);
  }
  const answer = await scene.ask(`${path}?follow=1`, { headers: { 'last-event-id': 'nonsense' } });
  assert.equal(answer.status, 400);
});

test('who follows hears every line once from wherever it comes in, and the stream ends with the task', async (t) => {
  const { scene, engine, path, claim, say } = await running(t);
  const grant = await claim();
  const total = 300;
  await say(grant, 1, 40);
  const followers: { from: number; heard: ReturnType<typeof heard> }[] = [];
  const join = async (from: number): Promise<void> => {
    const response = await follow(scene, `${path}?follow=1`, from === 0 ? undefined : `${grant.attempt}.${from}`);
    followers.push({ from, heard: heard(response) });
  };
  for (const from of [0, 1, 39, 40]) await join(from);
  for (let next = 41; next <= total; next += 20) {
    const written = say(grant, next, 20);
    await join((next * 7919) % (next - 1));
    await written;
  }
  await engine.complete(grant);
  await join(0);
  await join(total - 1);
  for (const { from, heard: lines } of followers) {
    const { ids, texts } = await lines;
    const wanted = Array.from({ length: total - from }, (_, i) => from + i + 1);
    assert.deepEqual(
      texts,
      wanted.map((n) => `${grant.attempt}/${n}`),
      `from ${from}`,
    );
    assert.deepEqual(
      ids,
      wanted.map((n) => `${grant.attempt}.${n}`),
    );
  }
  assert.equal(followers.length, 19);
});

test('a stream that breaks off at any line goes on behind it, also into the next attempt', async (t) => {
  const { scene, engine, path, claim, say } = await running(t);
  const first = await claim();
  await say(first, 1, 10);
  await engine.fail(first, new Error('again'));
  const second = await claim();
  await say(second, 1, 10);
  await engine.complete(second);
  const whole = await heard(await follow(scene, `${path}?follow=true`));
  assert.equal(whole.texts.length, 20);
  for (let at = 0; at < 20; at++) {
    const messages = messagesOf(await follow(scene, `${path}?follow=1`));
    const got: string[] = [];
    for await (const { data } of messages) if (got.push(data.text) > at) break;
    const rest = await heard(await follow(scene, `${path}?follow=1`, whole.ids[at]));
    assert.deepEqual([...got, ...rest.texts], whole.texts, `broken off after line ${at + 1}`);
  }
});

test('what a browser says when it comes back is newer than what its address says', async (t) => {
  const { scene, engine, path, claim, say } = await running(t);
  const grant = await claim();
  await say(grant, 1, 10);
  await engine.complete(grant);
  const first = await heard(await follow(scene, `${path}?follow=1&cursor=1.4`));
  assert.deepEqual(first.ids.at(0), '1.5');
  const again = await heard(await follow(scene, `${path}?follow=1&cursor=1.4`, '1.8'));
  assert.deepEqual(again.ids, ['1.9', '1.10']);
});

test('the log of a task that has ended is streamed from where it is asked for, and ends', async (t) => {
  const { scene, engine, path, claim, say } = await running(t);
  const grant = await claim();
  await say(grant, 1, 500);
  await engine.complete(grant);
  assert.deepEqual((await heard(await follow(scene, `${path}?follow=1&cursor=1.498`))).texts, ['1/499', '1/500']);
  assert.deepEqual((await heard(await follow(scene, `${path}?follow=1&cursor=1.500`))).texts, []);
  assert.equal((await heard(await follow(scene, `${path}?follow=1`))).texts.length, 500);
});

test('a stream that the node cuts off does not look as if its task had ended', async (t) => {
  const { scene, path, claim, say } = await running(t);
  await say(await claim(), 1, 1);
  const messages = messagesOf(await follow(scene, `${path}?follow=1`));
  assert.equal((await messages.next()).value?.data.text, '1/1');
  const rest = assert.rejects(async () => messages.next());
  await scene.service.close({ force: true });
  await rest;
});

test('when the store fails the stream breaks off, and goes on where it was when it is back', async (t) => {
  const { scene, engine, path, claim, say } = await running(t);
  const grant = await claim();
  await say(grant, 1, 3);
  const messages = messagesOf(await follow(scene, `${path}?follow=1`));
  for (let n = 1; n <= 3; n++) assert.equal((await messages.next()).value?.id, `1.${n}`);
  const away = t.mock.method(engine.store, 'logRead', () => Promise.reject(new Error('the disk is gone')));
  await say(grant, 4, 3);
  await assert.rejects(async () => messages.next());
  away.mock.restore();
  await engine.complete(grant);
  assert.deepEqual((await heard(await follow(scene, `${path}?follow=1`, '1.3'))).ids, ['1.4', '1.5', '1.6']);
});
