/** Attacks on who reads: terminals, logs and lists. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { place } from '../e2e/cli/cli-calls.ts';
import { BIN, type Running, run } from '../support/leasehold.ts';
import { greeting, proofOf, RawWorker } from '../support/raw-worker.ts';
import { codeOf, target, until } from './scene.ts';

/** Gives a command a terminal; it comes with Linux and macOS. */
const TERMINAL = 'script';
const TOKEN = 'an-admin-token-of-a-test';
/** A node as people start it, with its store in a folder that commands work on as well. */
async function started(
  t: Parameters<typeof run>[0],
  cwd: string,
  more: readonly string[] = [],
): Promise<{ node: Running; address: string }> {
  const node = run(t, ['up', '--port', '0', '--no-worker', ...more], { cwd, env: { LEASEHOLD_TOKEN: TOKEN } });
  return { node, address: await node.address() };
}

const ask = (address: string, path: string, body?: unknown): Promise<Response> =>
  fetch(address + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

/** Clipboard, link, title, cursor, device report, C1 forms of these, an unfinished one, and a line drawn backwards. */
const EVIL = [
  '\u001b]52;c;ZXZpbA==\u0007',
  '\u001b]8;;file:///etc/passwd\u001b\\click\u001b]8;;\u001b\\',
  '\u001b]0;title\u0007',
  '\u001b[2J\u001b[H',
  '\u001b[6n\u001bP$q"p\u001b\\',
  '\u009b2J\u009d52;c;x\u009c',
  '\u001b[31mred\u001b[0m',
  '\u001b(0lqqk\u001b(B',
  '\u001b]52;c;unfinished',
  'a\rb\bc\u007f',
  '\u202ereversed\u2066\u200b',
  '\u001bc\u001b#8\u001b7',
  '\u0000\u0007\u000e',
];

test('A19: what a hostile worker logs reaches a terminal as text, with colours at most', async (t) => {
  const here = place(t);
  const { address } = await started(t, here.cwd);
  const { secret } = (await (await ask(address, '/api/v1/workers', { name: 'box' })).json()) as { secret: string };
  const { id } = (await (
    await ask(address, '/api/v1/tasks', { queue: 'q', handler: 'echo', maxAttempts: 1 })
  ).json()) as { id: string };
  const worker = await RawWorker.dial(address);
  await worker.enter({ name: 'box', secret });
  const lease = proofOf(await worker.claimOne());
  const logs = EVIL.map((text, i) => ({ seq: i + 1, at: 0, stream: i % 2 === 0 ? 'stdout' : 'stderr', text }));
  await worker.told('task_progress', { lease, logs });
  await worker.told('task_failed', { lease, error: JSON.stringify({ message: EVIL.join('') }), giveUp: true });
  for (const args of [
    ['tasks', 'logs', id],
    ['tasks', 'logs', id, '-f'],
    ['tasks', 'show', id],
    ['tasks', 'list'],
    ['workers', 'list'],
  ]) {
    const piped = await here.call(args, '', { LEASEHOLD_TOKEN: TOKEN });
    assert.equal(piped.code, 0, piped.stderr);
    assert.doesNotMatch(
      piped.stdout + piped.stderr,
      /(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069\u200b]/u,
      args.join(' '),
    );
    if (spawnSync(TERMINAL, ['--version']).error !== undefined) continue;
    const shown = await terminal(here.cwd, args);
    const rest = shown.replaceAll(SGR, '').replaceAll('\r\n', '\n');
    assert.doesNotMatch(
      rest,
      /(?![\t\n])\p{Cc}|[\u202a-\u202e\u200b]/u,
      `${args.join(' ')} on a terminal: ${JSON.stringify(rest.slice(0, 500))}`,
    );
    assert.doesNotMatch(rest, /52;c;ZX|8;;file/, 'nor the inside of a sequence that has an end');
  }
});

// oxlint-disable-next-line no-control-regex -- colours are what may stay
const SGR = /\u001b\[[\d;:]*m/g;

/** What a command prints where it believes to be on a terminal. */
async function terminal(cwd: string, args: readonly string[]): Promise<string> {
  const line = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn(TERMINAL, ['-qefc', line, '/dev/null'], {
    cwd,
    env: { ...process.env, TERM: 'xterm', FORCE_COLOR: '1', NODE_TEST_CONTEXT: '' },
  });
  child.stdin.end();
  const chunks = await Array.fromAsync(child.stdout as AsyncIterable<Buffer>);
  return Buffer.concat(chunks).toString();
}

const FORGED = '\r\n{"event":"told","message":"audit","fields":{"by":"forged"}}\r\nwarning: forged\n';

for (const json of [true, false]) {
  test(`A20: nothing that a caller says begins a line of the log (${json ? 'as objects' : 'as lines'})`, async (t) => {
    const here = place(t);
    const { node, address } = await started(t, here.cwd, json ? ['--json'] : []);
    assert.equal((await ask(address, '/api/v1/workers', { name: `box${FORGED}` })).status, 400);
    assert.equal((await ask(address, `/api/v1/queues/${encodeURIComponent(`q${FORGED}`)}/pause`, {})).status, 400);
    assert.equal((await ask(address, '/api/v1/tokens', { name: `t${FORGED}`, role: 'read' })).status, 400);
    const { secret } = (await (await ask(address, '/api/v1/workers', { name: 'box' })).json()) as { secret: string };
    const worker = await RawWorker.dial(address);
    await worker.enter({ name: 'box', secret });
    worker.say(`"${FORGED}"`);
    await worker.closed;
    assert.equal((await ask(address, '/api/v1/queues/last/pause', {})).status, 200);
    await node.says(/pauseQueue.*last/);
    node.child.kill('SIGINT');
    await node.ended;
    const lines = node.stdout.trimEnd().split('\n');
    for (const line of lines) {
      assert.doesNotMatch(
        line,
        json
          ? /^\s*(warning|\{"event":"told","message":"audit","fields":\{"by":"forged)/
          : /^(\{|warning: forged|audit \(by: forged)/,
        line,
      );
      if (json) assert.ok(typeof (JSON.parse(line) as { event: string }).event === 'string');
    }
    const audits = lines.filter((line) => line.includes('"message":"audit"') || line.startsWith('audit ('));
    assert.equal(audits.length, 5, lines.join('\n'));
    assert.ok(
      lines.some((line) => line.includes('not a message')),
      lines.join('\n'),
    );
  });
}

test('A21: a name that looks like another one is no name, and text that runs the other way stays in its place', async (t) => {
  const { node } = await target(t);
  const bad = [
    'аdmin',
    'ad\u200bmin',
    'admin\u202e',
    '\u2066q',
    'ｑ',
    'Q',
    'é',
    'e\u0301',
    'a b',
    '-q',
    '.q',
    'q\u00ad',
    'ﬁ',
    'q'.repeat(64),
    '\ufeffq',
    'ı',
    'K',
  ];
  for (const name of bad) {
    assert.equal(
      codeOf(await node.ask('/api/v1/tasks', { body: { queue: name } })),
      '400 INVALID_INPUT',
      JSON.stringify(name),
    );
    assert.equal(
      codeOf(await node.ask('/api/v1/workers', { body: { name } })),
      '400 INVALID_INPUT',
      JSON.stringify(name),
    );
    assert.equal(
      codeOf(await node.ask('/api/v1/limits', { body: { name, concurrent: 1 } })),
      '400 INVALID_INPUT',
      JSON.stringify(name),
    );
  }
  for (const handler of ['аdmin', 'ad\u200bmin', 'x\u202e']) {
    assert.equal(codeOf(await node.ask('/api/v1/tasks', { body: { queue: 'q', handler } })), '400 INVALID_INPUT');
  }
  assert.deepEqual(await node.engine.queues(), []);

  const here = place(t);
  const { address } = await started(t, here.cwd);
  const { secret } = (await (await ask(address, '/api/v1/workers', { name: 'box' })).json()) as { secret: string };
  const worker = await RawWorker.dial(address);
  const evil = 'host\u202egnp.exe\u2066\u200b';
  worker.say({ ...greeting({ name: 'box', secret }), host: evil, version: evil });
  const said = await worker.hear(({ type }) => type.startsWith('connect_'));
  assert.equal(said.type, 'connect_ok');
  await until(async () =>
    (await here.call(['workers', 'list'], '', { LEASEHOLD_TOKEN: TOKEN })).stdout.includes('box'),
  );
  const { stdout } = await here.call(['workers', 'list'], '', { LEASEHOLD_TOKEN: TOKEN });
  assert.doesNotMatch(stdout, /[\u202a-\u202e\u2066-\u2069\u200b]/);
});
