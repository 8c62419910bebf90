import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../store.ts';
import { storeContract, TOPICS } from './contract.ts';

const open = (): Promise<Store> => Promise.reject(new Error('nothing is opened here'));
const sentences = TOPICS.flatMap(({ cases }) => Object.keys(cases));

test('every case has a sentence of its own, so that a skip names exactly one', () => {
  assert.equal(new Set(sentences).size, sentences.length);
  assert.equal(new Set(TOPICS.map(({ name }) => name)).size, TOPICS.length);
});

test('the suite is whole: a topic that lost its cases would show here', () => {
  for (const { name, cases } of TOPICS) assert.ok(Object.keys(cases).length >= 3, name);
  assert.ok(sentences.length >= 300, `${sentences.length} cases`);
});

test('a skip must name a case, and must say why', () => {
  assert.throws(() => storeContract({ name: 'x', open, skip: { 'no such case': 'because' } }), /no case/);
  assert.throws(() => storeContract({ name: 'x', open, skip: { [sentences[0] as string]: ' ' } }), /no reason/);
});

test('a topic must be one of the suite', () => {
  assert.throws(() => storeContract({ name: 'x', open, topics: ['poetry'] }), /no topic/);
});
