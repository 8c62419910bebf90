import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LINK_TOPICS, linkContract } from './link-contract.ts';

const open = (): Promise<never> => Promise.reject(new Error('nothing is opened here'));
const sentences = LINK_TOPICS.flatMap(({ cases }) => Object.keys(cases));

test('every case has a sentence of its own, so that a skip names exactly one', () => {
  assert.equal(new Set(sentences).size, sentences.length);
  assert.equal(new Set(LINK_TOPICS.map(({ name }) => name)).size, LINK_TOPICS.length);
});

test('the suite is whole: a topic that lost its cases would show here', () => {
  for (const { name, cases } of LINK_TOPICS) assert.ok(Object.keys(cases).length >= 3, name);
  assert.ok(sentences.length >= 70, `${sentences.length} cases`);
});

test('a skip must name a case and say why, and a topic must be one of the suite', () => {
  assert.throws(() => linkContract({ name: 'x', open, skip: { 'no such case': 'because' } }), /no case/);
  assert.throws(() => linkContract({ name: 'x', open, skip: { [sentences[0] as string]: ' ' } }), /no reason/);
  assert.throws(() => linkContract({ name: 'x', open, topics: ['poetry'] }), /no topic/);
});
