import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterSecret } from '../cluster-secret.ts';
import { HookSecrets, placeOfSecret } from './hook-secrets.ts';

const VARIABLES = { LEASEHOLD_HOOK_PAID: 'a secret of the host', LEASEHOLD_HOOK_SHORT: 'short' };
const secrets = (text = 'the secret of the cluster', key = 'cluster'): HookSecrets =>
  new HookSecrets(new ClusterSecret(text, key), VARIABLES);

test('a secret that is made follows from the secret of the cluster, and each is another', () => {
  const one = secrets();
  const { kept, told } = one.make('paid');
  assert.match(String(told), /^lh_hook_[\w-]{43}$/);
  assert.equal(one.read('paid', kept), told);
  assert.equal(secrets().read('paid', kept), told, 'each node of the cluster has it');
  assert.notEqual(one.make('paid').told, told);
  assert.notEqual(one.read('other', kept), told);
  assert.notEqual(secrets('another secret').read('paid', kept), told);
  assert.notEqual(secrets(undefined, 'another store').read('paid', kept), told);
  assert.ok(!JSON.stringify(kept).includes(String(told).slice('lh_hook_'.length)));
});

test('a secret that its sender has chosen opens for its trigger, on nodes of its cluster, and unchanged', () => {
  const one = secrets();
  const kept = one.seal('paid', 'whsec_chosen by the sender');
  assert.equal(secrets().read('paid', kept), 'whsec_chosen by the sender');
  assert.equal(one.read('other', kept), undefined);
  assert.equal(secrets('another secret').read('paid', kept), undefined);
  const { sealed } = kept as { readonly sealed: string };
  const flipped = `${sealed.slice(0, 20)}${sealed[20] === 'A' ? 'B' : 'A'}${sealed.slice(21)}`;
  for (const text of [flipped, sealed.slice(0, 30), '', 'x'])
    assert.equal(one.read('paid', { sealed: text }), undefined);
  assert.notDeepEqual(one.seal('paid', 'whsec_chosen by the sender'), kept);
  for (const text of ['too short', 'x'.repeat(501)]) assert.throws(() => one.seal('paid', text), /from 16 to 500/);
});

test('a secret in a variable is the one that this node has; a short one, and none, sign nothing', () => {
  const one = secrets();
  const read = (env: string): string | undefined => one.read('paid', { env });
  assert.deepEqual(
    [
      read('LEASEHOLD_HOOK_PAID'),
      read('LEASEHOLD_HOOK_SHORT'),
      read('LEASEHOLD_HOOK_NONE'),
      one.read('paid', undefined),
    ],
    ['a secret of the host', undefined, undefined, undefined],
  );
});

test('people are told where a secret is', () => {
  const one = secrets();
  const all = [undefined, { env: 'LEASEHOLD_HOOK_PAID' }, one.make('a').kept, one.seal('a', 'x'.repeat(16))];
  assert.deepEqual(all.map(placeOfSecret), [undefined, 'variable', 'made', 'sealed']);
});
