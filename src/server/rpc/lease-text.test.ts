import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { LeaseTokens } from '../workers/lease-tokens.ts';
import { readLease, writeLease } from './lease-text.ts';

const tokens = new LeaseTokens(new ClusterSecret('of the cluster', 'key'));
const lease = { task: 42, attempt: 3, node: 'node-1.a' };

test('a token says which lease it is for, and every node of the cluster can read it', () => {
  const text = writeLease(tokens, lease);
  assert.deepEqual(readLease(new LeaseTokens(new ClusterSecret('of the cluster', 'key')), text), lease);
});

test('a token of another task, attempt, node or cluster is none', () => {
  const text = writeLease(tokens, lease);
  const [task, attempt, proof, ...node] = text.split('.');
  for (const wrong of [
    `43.${attempt}.${proof}.${node.join('.')}`,
    `${task}.4.${proof}.${node.join('.')}`,
    `${task}.${attempt}.${proof}.node-2`,
    `${task}.${attempt}.${proof?.slice(1)}.${node.join('.')}`,
    `${task}.${attempt}..${node.join('.')}`,
    text.slice(0, -1),
    '',
    '....',
    '1e3.1.x.n',
    `-${text}`,
    'x'.repeat(300),
  ]) {
    assert.equal(readLease(tokens, wrong), undefined, wrong);
  }
  assert.equal(readLease(new LeaseTokens(new ClusterSecret('of another', 'key')), text), undefined);
});

test('the proof of a worker that comes by another way is no proof here', () => {
  const proof = tokens.of({ task: 42, attempt: 3 }, 'node-1.a');
  assert.equal(readLease(tokens, `42.3.${proof}.node-1.a`), undefined);
});
