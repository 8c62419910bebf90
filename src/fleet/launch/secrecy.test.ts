import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSecret, isSecretQuery, redact, secretArgument } from './secrecy.ts';

test('a value is secret by its name, or because it has a password in it', () => {
  for (const name of ['DB_PASSWORD', 'AWS_SECRET_ACCESS_KEY', 'TOKEN', 'x-api-key', 'Authorization', 'GH_TOKEN']) {
    assert.equal(isSecret(name, 'x'), true, name);
  }
  assert.equal(isSecret('LEASEHOLD_STORE', 'postgres://me:pass@db/work'), true);
  assert.equal(isSecret('LEASEHOLD_STORE', 'postgres://me@db/work'), false);
  assert.equal(isSecret('LEASEHOLD_JOIN', 'https://node:7420'), false);
  assert.equal(isSecret('KEYBOARD', 'de'), false);
});

test('a placeholder, a path and nothing are no secrets, whatever they are called', () => {
  for (const value of ['{ticket}', '/etc/leasehold/key.pem', ''])
    assert.equal(isSecret('MY_TOKEN', value), false, value);
  assert.equal(isSecret('MY_TOKEN', 'x{ticket}'), true);
});

test('a secret among arguments is found, however it is written', () => {
  for (const argv of [
    ['run', '--password', 'canary'],
    ['run', '--password=canary'],
    ['run', 'DB_PASSWORD=canary'],
    ['run', 'postgres://a:canary@db/work'],
    ['run', '--store=postgres://a:canary@db/work'],
  ]) {
    assert.ok((secretArgument(argv) ?? 0) > 0, argv.join(' '));
  }
  for (const argv of [
    ['docker', 'run', '--env', 'LEASEHOLD_TICKET', '--name={name}'],
    ['systemd-run', '--setenv=LEASEHOLD_TICKET'],
    ['x', '--tls-key', '/etc/key.pem', '--key=/etc/key.pem', '--token', '{ticket_id}', '--token', '--verbose'],
    ['x', 'https://node:7420/a=b', 'a@b:c', '{"token":1}'],
  ]) {
    assert.equal(secretArgument(argv), undefined, argv.join(' '));
  }
});

test('a key in the query of an address is found', () => {
  const judged = (url: string): boolean => isSecretQuery(new URL(url));
  for (const query of ['code=canary', 'a=b&sig=canary', 'api_key=canary', 'Token=canary']) {
    assert.equal(judged(`https://f.example/launch?${query}`), true, query);
  }
  for (const url of ['https://f.example/launch', 'https://f.example/?region=eu&key=', 'https://f.example/#code=x']) {
    assert.equal(judged(url), false, url);
  }
});

test('what somebody has said is quoted without the ticket', () => {
  assert.equal(redact('got t-1, and t-1 again', 't-1'), 'got (hidden), and (hidden) again');
});
