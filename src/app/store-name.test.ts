import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storeName, withoutPassword } from './store-name.ts';

test('no password is left in an address, however it was written', () => {
  for (const [url, kept] of [
    ['postgres://me:cret@db:5432/work', 'postgres://me@db:5432/work'],
    ['postgres://me:cret@/work?host=%2Ftmp', 'postgres://me@/work?host=%2Ftmp'],
    ['postgres://me:c@ret:x@db/work', 'postgres://me@db/work'],
    ['postgres://me:c/ret@db/work', 'postgres://me@db/work'],
    ['postgres://me@db/work?sslmode=require&password=cret', 'postgres://me@db/work?sslmode=require'],
    ['postgres://db/work?PASSWORD=cret', 'postgres://db/work'],
    ['postgres://db/work?pass%77ord=cret&schema=x', 'postgres://db/work?schema=x'],
    ['postgres://:cret@db/work', 'postgres://@db/work'],
    ['postgres://db/work?application_name=a@b', 'postgres://db/work?application_name=a@b'],
    ['postgress://me:cret@db/work', 'postgress://me@db/work'],
  ] as const) {
    assert.equal(withoutPassword(url), kept);
  }
});

test('a file is called by its path', () => {
  assert.equal(storeName('sqlite:./a:b@c.db'), './a:b@c.db');
  assert.equal(storeName('memory:'), 'memory:');
});
