import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../store/conformance/kit/virtual-world.ts';
import type { ArtifactReader } from '../artifacts/attempt-artifacts.ts';
import { RunArtifacts } from './run-artifacts.ts';

test('a place that gives no answer is waited for once in a phase, and is asked again in the next one', async () => {
  const folder = tempFolder('run-artifacts');
  const world = new VirtualWorld();
  let asked = 0;
  const silent = (): Promise<never> => {
    asked++;
    return new Promise(() => {});
  };
  const room = async () => ({ folder, maxBytes: 1000 });
  const deaf: ArtifactReader = { room, put: silent, find: silent, fetch: silent, list: silent };
  const artifacts = new RunArtifacts(deaf, world.timers);
  const writing = assert.rejects(artifacts.write('a.log', 'text', 'text/plain'), /no answer for 15 s/);
  while (asked === 0) await new Promise((resolve) => void setImmediate(resolve));
  await world.advance(15_000);
  await writing;
  await assert.rejects(artifacts.write('b.log', 'text', 'text/plain'), /no answer/);
  await assert.rejects(artifacts.read('report.tsv', 10), /no answer/);
  assert.equal(asked, 1);
  artifacts.tryAgain();
  const again = assert.rejects(artifacts.read('report.tsv', 10), /no answer/);
  await world.advance(15_000);
  await again;
  assert.equal(asked, 2);
  assert.equal(readdirSync(folder).length, 1, 'what is under way has its file');
});
