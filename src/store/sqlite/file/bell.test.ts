import assert from 'node:assert/strict';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import { Bell } from './bell.ts';

const folder = tempFolder('bell');
let files = 0;
let ids = 1;

interface Rig {
  readonly world: VirtualWorld;
  readonly path: string;
  readonly bell: () => Bell;
  /** Whether it was rung since the last time. */
  readonly rung: () => boolean;
}

function rig(): Rig {
  const file = join(folder, `${files++}.db`);
  const path = `${file}-bell`;
  const world = new VirtualWorld();
  return {
    world,
    path,
    bell: () => new Bell(file, world.clock, ids++),
    rung: () => {
      const bytes = readFileSync(path);
      writeFileSync(path, Buffer.concat([Buffer.from([0]), bytes.subarray(1)]));
      return bytes[0] === 1;
    },
  };
}

test('it is rung for others that wait, and for nobody else', () => {
  const { bell, rung } = rig();
  const [own, other] = [bell(), bell()];
  assert.ok(own.wait());
  own.ring();
  assert.equal(rung(), false, 'only the process itself waits');
  other.ring();
  assert.equal(rung(), true);
  own.rest();
  other.ring();
  assert.equal(rung(), false, 'it is busy');
  own.wait();
  other.ring();
  assert.equal(rung(), true);
  own.close();
  other.close();
});

test('who listens is told by the operating system', async () => {
  const { bell } = rig();
  const [own, other] = [bell(), bell()];
  let told = 0;
  own.listen(() => told++);
  own.wait();
  other.ring();
  const deadline = performance.now() + 5000;
  while (told === 0 && performance.now() < deadline) await turn();
  assert.ok(told > 0, 'no notice came');
  own.close();
  other.close();
});

test('nobody waits: there is no file, and after the last one has left there is none again', () => {
  const { bell, path } = rig();
  const [own, other, pusher] = [bell(), bell(), bell()];
  pusher.ring();
  assert.equal(existsSync(path), false);
  const leave = own.listen(() => {});
  own.wait();
  other.wait();
  assert.equal(statSync(path).mode & 0o777, 0o600);
  leave();
  assert.equal(existsSync(path), true, 'another one waits');
  other.close();
  assert.equal(existsSync(path), false);
  pusher.close();
});

test('a process that ended without a word is rung for a term at most', async () => {
  const { bell, rung, world } = rig();
  const [dead, other] = [bell(), bell()];
  dead.wait();
  await world.advance(19_000);
  other.ring();
  assert.equal(rung(), true);
  await world.advance(2000);
  other.ring();
  assert.equal(rung(), false);
});

test('a place is kept while its holder waits on', async () => {
  const { bell, rung, world, path } = rig();
  const [own, other] = [bell(), bell()];
  for (let n = 0; n < 8; n++) {
    own.wait();
    await world.advance(5000);
  }
  other.ring();
  assert.equal(rung(), true);
  assert.equal(statSync(path).size, 32, 'it has one place');
});

test('a place of another boot, whose clock was ahead, is none', () => {
  const { bell, rung, path } = rig();
  const old = new Bell(path.slice(0, -'-bell'.length), { wall: () => 0, monotonic: () => 1e12 }, ids++);
  old.wait();
  const own = bell();
  own.ring();
  assert.equal(rung(), false);
});

test('a bell that was made after the first push is found a little later', async () => {
  const { bell, rung, world } = rig();
  const pusher = bell();
  pusher.ring();
  bell().wait();
  pusher.ring();
  assert.equal(rung(), false);
  await world.advance(250);
  pusher.ring();
  assert.equal(rung(), true);
});

test('a bell that was removed is made again when its place is renewed', async () => {
  const { bell, rung, world, path } = rig();
  const [own, other] = [bell(), bell()];
  own.wait();
  other.ring();
  rmSync(path);
  await world.advance(11_000);
  own.wait();
  other.ring();
  assert.equal(rung(), true);
});

test('what is not a file of this user with one name is not touched', () => {
  for (const put of [symlinkSync, linkSync] as const) {
    const { bell, path } = rig();
    const target = `${path}-target`;
    writeFileSync(target, Buffer.alloc(64));
    put(target, path);
    const [own, other] = [bell(), bell()];
    assert.equal(own.wait(), false);
    other.ring();
    own.close();
    assert.deepEqual(readFileSync(target), Buffer.alloc(64));
  }
  const { bell, path } = rig();
  mkdirSync(path);
  assert.equal(bell().wait(), false);
  bell().ring();
});

test('more processes than there are places wait without the bell', () => {
  const { bell, rung } = rig();
  for (let n = 0; n < 64; n++) assert.ok(bell().wait());
  assert.equal(bell().wait(), false);
  bell().ring();
  assert.equal(rung(), true);
});

test('a file that was cut or filled with anything is a bell like any other', () => {
  const { bell, rung, path } = rig();
  const own = bell();
  own.wait();
  truncateSync(path, 5);
  bell().ring();
  assert.ok(bell().wait());
  writeFileSync(path, Buffer.alloc(5000, 255));
  bell().ring();
  assert.equal(rung(), false);
  assert.ok(bell().wait());
});
