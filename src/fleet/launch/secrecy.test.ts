import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSecret, redact, withoutSecrets } from './secrecy.ts';

test('a value is secret by its name, or because it has a password in it', () => {
  for (const name of ['DB_PASSWORD', 'AWS_SECRET_ACCESS_KEY', 'TOKEN', 'x-api-key', 'Authorization', 'GH_TOKEN']) {
    assert.equal(isSecret(name, 'x'), true, name);
  }
  assert.equal(isSecret('LEASEHOLD_STORE', 'postgres://me:pass@db/work'), true);
  assert.equal(isSecret('LEASEHOLD_STORE', 'postgres://me@db/work'), false);
  assert.equal(isSecret('LEASEHOLD_JOIN', 'https://node:7420'), false);
  assert.equal(isSecret('KEYBOARD', 'de'), false);
});

test('a placeholder is no secret, whatever it is called', () => {
  assert.equal(isSecret('MY_TOKEN', '{ticket}'), false);
  assert.equal(isSecret('MY_TOKEN', 'x{ticket}'), true);
});

test('what is shown has no secrets, however deep they are, and keeps the rest', () => {
  const settings = {
    kind: 'webhook',
    url: 'https://f.example/launch?code=canary',
    sign: 'HOOK_KEY',
    headers: { 'x-api-key': 'canary', 'x-team': 'blue' },
    pod: { containers: [{ env: { DB_PASSWORD: 'canary' } }] },
    argv: ['run', 'postgres://a:canary@b/c'],
    env: { LEASEHOLD_JOIN: 'https://node:7420' },
  };
  const shown = withoutSecrets(settings);
  assert.ok(!JSON.stringify(shown).includes('canary'), JSON.stringify(shown));
  assert.deepEqual(shown, {
    kind: 'webhook',
    url: 'https://f.example/launch?(hidden)',
    sign: 'HOOK_KEY',
    headers: { 'x-api-key': '(hidden)', 'x-team': 'blue' },
    pod: { containers: [{ env: { DB_PASSWORD: '(hidden)' } }] },
    argv: ['run', '(hidden)'],
    env: { LEASEHOLD_JOIN: 'https://node:7420' },
  });
});

test('what somebody has said is quoted without the ticket', () => {
  assert.equal(redact('got t-1, and t-1 again', 't-1'), 'got (hidden), and (hidden) again');
});
