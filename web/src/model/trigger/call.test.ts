import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { hookCall } from './call.ts';

const ADDRESS = 'http://node.internal:7420/api/v1/hooks/paid';

test('each way of signing has the headers of its sender, and says what is signed', () => {
  const headers = (signature?: string) => hookCall(ADDRESS, signature).headers.map(([name]) => name);
  assert.deepEqual(headers(), ['X-Leasehold-Id', 'X-Leasehold-Signature']);
  assert.deepEqual(headers('github'), ['X-Hub-Signature-256']);
  assert.deepEqual(headers('stripe'), ['Stripe-Signature']);
  assert.equal(hookCall(ADDRESS, 'stripe').over, 'SECONDS.BODY');
});

test('an address cannot end the command that it stands in', () => {
  assert.ok(hookCall(`http://a'; rm -rf /`, undefined).command.includes(`'http://a'\\''; rm -rf /'`));
});

const openssl = (): boolean => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

test('the command signs what the node checks', { skip: !openssl() && 'openssl is not installed' }, () => {
  const signed: Readonly<Record<string, (id: string, time: string, body: string) => string>> = {
    leasehold: (id, time, body) => `${id}.${time}.${body}`,
    github: (_id, _time, body) => body,
    stripe: (_id, time, body) => `${time}.${body}`,
  };
  for (const [signature, text] of Object.entries(signed)) {
    const command = `curl() { printf '%s\\n' "$@"; }; ${hookCall(ADDRESS, signature).command}`;
    const said = execFileSync('sh', ['-c', command], { encoding: 'utf8', env: { ...process.env, SECRET: 'a secret' } });
    const [, id = ''] = /X-Leasehold-Id: (\S+)/.exec(said) ?? [];
    const [, time = ''] = /t=(\d+)/.exec(said) ?? [];
    const hex = createHmac('sha256', 'a secret')
      .update(text(id, time, '{"order": 7}'))
      .digest('hex');
    assert.ok(said.includes(`=${hex}`), said);
    assert.ok(said.includes(ADDRESS) && said.endsWith('{"order": 7}\n'), said);
  }
});
