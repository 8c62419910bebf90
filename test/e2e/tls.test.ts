import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { type Certificate, makeCertificate, noOpenssl } from '../support/certificate.ts';
import { type Running, run, temporaryFolder } from '../support/leasehold.ts';
import { type Place, place } from './cli/cli-calls.ts';

const TOKEN = 'an-admin-token-of-a-test';

interface Secure {
  readonly here: Place;
  readonly certificate: Certificate;
  readonly node: Running;
  readonly address: string;
}

async function secure(t: TestContext, host = '127.0.0.1'): Promise<Secure> {
  const here = place(t);
  const certificate = makeCertificate(temporaryFolder(t));
  const { cert, key } = certificate;
  const args = ['up', '--host', host, '--port', '0', '--no-worker', '--tls-cert', cert, '--tls-key', key];
  const node = run(t, args, { cwd: here.cwd, env: { LEASEHOLD_TOKEN: TOKEN } });
  const [address] = await node.says(/https:\/\/[\w.[\]:]+:\d+/);
  return { here, certificate, node, address };
}

/** The status of a request that trusts this authority and no other. */
function status(url: string, ca: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = httpsRequest(url, { ca: readFileSync(ca), headers: { authorization: `Bearer ${TOKEN}` } });
    asking.on('error', reject).on('response', (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asking.end();
  });
}

test('a node with a certificate is asked by https, and a worker of another host joins it so', {
  skip: noOpenssl(),
}, async (t) => {
  const { here, certificate, node, address } = await secure(t);
  assert.equal(await status(`${address}/api/v1/tasks`, certificate.ca), 200);
  const trusting = { NODE_EXTRA_CA_CERTS: certificate.ca };
  const script = `const r = await fetch(${JSON.stringify(`${address}/healthz`)}); console.log(r.status)`;
  const fetched = run(t, ['--input-type=module', '-e', script], { cwd: here.cwd, command: 'node', env: trusting });
  assert.equal((await fetched.ended).code, 0, fetched.stderr);
  assert.equal(fetched.stdout, '200\n');

  const made = await here.call(['workers', 'create', 'box', '--code', '--json']);
  const [{ code }] = made.objects() as [{ code: string }];
  const join_ = ['worker', '--join', address, '--code', code];
  const strange = run(t, join_, { cwd: temporaryFolder(t) });
  assert.equal((await strange.ended).code, 1);
  assert.match(strange.stderr, /does not trust the certificate/);
  assert.match(strange.stderr, /NODE_EXTRA_CA_CERTS/);

  const there = temporaryFolder(t);
  const worker = run(t, join_, { cwd: there, env: trusting });
  await worker.says(/Worker box runs .*https:/);
  const pushed = await here.call(['push', 'echo', '{"over":"tls"}', '--follow']);
  assert.equal(pushed.code, 0, pushed.stderr);
  assert.match(pushed.stdout, /\{"over":"tls"\}/);
  worker.child.kill('SIGINT');
  assert.deepEqual(await worker.ended, { code: 0, signal: null });
  assert.equal(JSON.parse(readFileSync(join(there, '.leasehold/worker.json'), 'utf8')).url, address);
  node.child.kill('SIGINT');
  assert.deepEqual(await node.ended, { code: 0, signal: null });
});

test('who speaks without TLS, or an old one, to a node with a certificate is turned away, and the node goes on', {
  skip: noOpenssl(),
}, async (t) => {
  const { here, certificate, address } = await secure(t);
  const { port } = new URL(address);
  const plain = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    let heard = '';
    socket.on('error', () => {}).on('data', (data) => (heard += String(data)));
    socket.once('close', () => resolve(heard));
    socket.write(`GET /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  });
  assert.doesNotMatch(plain, /^HTTP\/1\.1 [23]/);
  assert.doesNotMatch(plain, /tasks/);
  await assert.rejects(fetch(`http://127.0.0.1:${port}/healthz`));
  const old = new Promise((resolve, reject) => {
    const socket = connectTls({
      port: Number(port),
      host: '127.0.0.1',
      ca: readFileSync(certificate.ca),
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    socket.once('secureConnect', resolve).once('error', reject);
  });
  await assert.rejects(old, 'TLS 1.1 is not spoken');
  const joined = run(t, ['worker', '--join', `http://127.0.0.1:${port}`, '--code', 'lh_code_x'], { cwd: here.cwd });
  assert.equal((await joined.ended).code, 1);
  assert.match(joined.stderr, /No node can be reached at http:/);
  assert.equal(await status(`${address}/healthz`, certificate.ca), 200);
});

test('beyond this host a node listens with a certificate, and not with half of one, or one that is none', {
  skip: noOpenssl(),
}, async (t) => {
  const { certificate, address } = await secure(t, '0.0.0.0');
  const { port } = new URL(address);
  assert.equal(await status(`https://127.0.0.1:${port}/healthz`, certificate.ca), 200);
  const cwd = temporaryFolder(t);
  const ended = async (...args: readonly string[]): Promise<string> => {
    const node = run(t, ['up', '--host', '0.0.0.0', '--port', '0', ...args], { cwd });
    const { code } = await node.ended;
    assert.notEqual(code, 0, node.stdout);
    assert.equal(node.stdout, '');
    return node.stderr;
  };
  assert.match(await ended(), /is not a loopback address, and tokens would travel in the clear/);
  assert.match(await ended('--tls-cert', certificate.cert), /a certificate and its key come together/);
  assert.match(await ended('--tls-cert', certificate.cert, '--tls-key', join(cwd, 'none.pem')), /There is no file/);
  const swapped = await ended('--tls-cert', certificate.key, '--tls-key', certificate.cert);
  assert.match(swapped, /certificate/i);
  assert.doesNotMatch(swapped, /\n\s+at /, 'no stack');
});
