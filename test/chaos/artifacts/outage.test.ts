/** The bucket is killed while workers send to it and fetch from it, and comes back after a while: for a minute at full scale. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { S3Child } from '../../support/s3/s3-child.ts';
import { CREDENTIALS } from '../../support/s3/s3-server.ts';
import { scaled } from '../../support/scale.ts';
import { scratch } from '../children.ts';
import { Ground, SIZE, TASK, type View } from './ground.ts';

const AWAY_MS = 1000 * scaled(4, 60);
const KEYS = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };
/** Of each task. */
const FILES = 6;
const TASKS = 4;

/** `up` stores files, `down` fetches those of another task. Each tells when it begins and ends one. */
const HANDLERS = (folder: string): string => `
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { task } from ${TASK};
const source = ${JSON.stringify(join(folder, 'app.bin'))};
const note = (...words) => appendFileSync(${JSON.stringify(join(folder, 'notes'))}, JSON.stringify([Date.now(), ...words]) + '\\n');
export const up = task('up', {
  run: async (_input, { artifacts, attempt, id }) => {
    note('runs', id, attempt);
    for (let n = 0; n < ${FILES}; n++) {
      note('begins', id, n);
      await artifacts.put('out/' + n, { file: source });
      note('ends', id, n);
    }
    return attempt;
  },
});
export const down = task('down', {
  run: async ({ from }, { artifacts, attempt, id }) => {
    note('runs', id, attempt);
    const whole = readFileSync(source);
    for (let n = 0; n < ${FILES}; n++) {
      note('begins', id, n);
      const path = await (await artifacts.get({ task: from, name: 'out/' + n })).path();
      if (!readFileSync(path).equals(whole)) throw new Error('other bytes came');
      rmSync(path);
      note('ends', id, n);
    }
    return attempt;
  },
});
`;

type Note = readonly [at: number, what: 'runs' | 'begins' | 'ends', task: string, n: number];

test('a bucket that is killed under uploads and downloads and comes back costs time: every task completes in its first attempt', {
  timeout: 120_000 + 4 * AWAY_MS,
}, async (t) => {
  const s3 = await S3Child.start(t, scratch(t, 'bucket'));
  const flags = ['--lease-duration', '5s', '--artifact-store', s3.place];
  const ground = new Ground(t, { flags, env: KEYS, handlers: HANDLERS }, 60_000 + 3 * AWAY_MS);
  const notes = (): readonly Note[] => {
    const file = join(ground.folder, 'notes');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Note);
  };
  const count = (what: Note[1], tasks: readonly string[]): number =>
    notes().filter(([, one, task]) => one === what && tasks.includes(task)).length;
  await ground.open();
  await ground.worker('first', ground.address, 3);
  await ground.worker('second', ground.address, 3);
  const source = await ground.push('up');
  await ground.so('there is something to fetch', async () => (await ground.stateOf(source)) === 'completed');

  const ups = await Promise.all(Array.from({ length: TASKS }, () => ground.push('up')));
  const downs = await Promise.all(
    Array.from({ length: TASKS }, () => ground.push('down', { input: { from: source } })),
  );
  // Of both kinds some are done, and others are under way.
  await ground.so('transfers go both ways', () => count('ends', ups) > 0 && count('ends', downs) > 0);
  await s3.kill();
  const gone = Date.now();
  const later = [await ground.push('up'), await ground.push('down', { input: { from: source } })];
  const all = [...ups, ...downs, ...later];
  const before = await listed(ground, ups);
  await pause(AWAY_MS);
  assert.ok(count('begins', all) > count('ends', all), 'somebody waits for the bucket');
  assert.deepEqual(await listed(ground, ups), before, 'nothing becomes visible while the bucket is away');
  for (const id of all) assert.notEqual(await ground.stateOf(id), 'failed', id);
  await s3.start();
  const back = Date.now();

  for (const id of all) await ground.so(`${id} completes`, async () => (await ground.stateOf(id)) === 'completed');
  const waited = notes().filter(
    ([at, what, task, n]) => what === 'begins' && at < gone && endOf(notes(), task, n) >= back,
  );
  assert.ok(waited.length > 0, 'no transfer was cut off: this has shown nothing');
  t.diagnostic(`${waited.length} transfers waited ${back - gone} ms`);
  for (const id of all) {
    const runs = notes().filter(([, what, task]) => what === 'runs' && task === id);
    assert.deepEqual(
      runs.map(([, , , attempt]) => attempt),
      [1],
      `${id} ran once`,
    );
  }
  for (const id of [source, ...ups, ...later.slice(0, 1)]) {
    const files = await ground.artifacts(id);
    const names = files.map(({ name, attempt }) => `${attempt} ${name}`).sort();
    assert.deepEqual(
      names,
      Array.from({ length: FILES }, (_, n) => `1 out/${n}`),
      id,
    );
    for (const file of files) assert.equal((await ground.read(file)).length, SIZE);
  }
});

async function listed(ground: Ground, tasks: readonly string[]): Promise<readonly string[]> {
  const all: View[] = [];
  for (const id of tasks) all.push(...(await ground.artifacts(id)));
  return all.map(({ id }) => id);
}

function endOf(notes: readonly Note[], id: string, number: number): number {
  return notes.find(([, what, task, n]) => what === 'ends' && task === id && n === number)?.[0] ?? Number.NaN;
}
