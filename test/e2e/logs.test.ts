/** Logs of real processes: every line below the bound is kept, over every link. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Running, run, temporaryFolder } from '../support/leasehold.ts';
import { type Place, place } from './cli/cli-calls.ts';

interface Line {
  readonly stream: string;
  readonly text: string;
  readonly dropped?: number;
}

/** The whole log of a task, once it has ended. */
async function logOf(url: string, here: Place, id: string): Promise<readonly Line[]> {
  const headers = { authorization: `Bearer ${readFileSync(join(here.cwd, '.leasehold/token'), 'utf8').trim()}` };
  // The stream ends with the task.
  const followed = await fetch(`${url}/api/v1/tasks/${id}/logs?follow=1`, { headers });
  await followed.text();
  const lines: Line[] = [];
  for (let cursor: string | undefined; ; ) {
    const more = cursor === undefined ? '' : `&cursor=${cursor}`;
    const answer = await fetch(`${url}/api/v1/tasks/${id}/logs?limit=500${more}`, { headers });
    const page = (await answer.json()) as { readonly lines: readonly Line[]; readonly cursor?: string };
    lines.push(...page.lines);
    cursor = page.cursor;
    if (page.lines.length === 0) return lines;
  }
}

async function pushed(here: Place, command: string): Promise<string> {
  const push = await here.call(['push', 'shell', JSON.stringify({ command }), '--json']);
  assert.equal(push.code, 0, push.stderr);
  const id = /task_[0-9a-f-]{36}/.exec(push.stdout)?.[0];
  assert.ok(id, push.stdout);
  return id;
}

const stdoutOf = (lines: readonly Line[]): readonly string[] =>
  lines.filter(({ stream }) => stream === 'stdout').map(({ text }) => text);
/** A difference of fifty thousand lines takes more memory than a host has: only the first is shown. */
function assertSame(found: readonly string[], wanted: readonly string[]): void {
  const at = wanted.findIndex((text, i) => found[i] !== text);
  assert.deepEqual([found.length, at, found[at]], [wanted.length, -1, undefined]);
}

const count = (n: number): readonly string[] => Array.from({ length: n }, (_, i) => `${i + 1}`);

/** Passes bytes on at this rate, in both directions. */
async function slowLink(t: TestContext, url: string, bytesPerMs: number): Promise<string> {
  const { hostname, port } = new URL(url);
  const server = createServer((from) => {
    const to = connect(Number(port), hostname);
    for (const [a, b] of [
      [from, to],
      [to, from],
    ] as const) {
      a.on('error', () => b.destroy()).on('close', () => b.destroy());
      a.on('data', (chunk) => {
        b.write(chunk);
        a.pause();
        setTimeout(() => a.resume(), chunk.length / bytesPerMs);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const link of ['direct', 'WebSocket', 'HTTP'] as const) {
  test(`${link}: all 50,000 short lines of a command are kept`, { timeout: 120_000 }, async (t) => {
    const here = place(t);
    const local = link === 'direct';
    const url = await run(t, ['up', '--port', '0', ...(local ? ['--allow', 'shell'] : ['--no-worker'])], {
      cwd: here.cwd,
    }).address();
    if (!local) {
      const [{ secret }] = (await here.call(['workers', 'create', 'box', '--json'])).objects() as [{ secret: string }];
      // 64 bytes a millisecond: the 5 MB that this takes on the wire are behind for a while.
      const slow = await slowLink(t, url, 256);
      const args = ['worker', '--join', slow, '--name', 'box', '--secret', secret, '--allow', 'shell'];
      run(t, [...args, ...(link === 'HTTP' ? ['--http'] : [])], { cwd: temporaryFolder(t) });
    }
    const id = await pushed(here, 'seq 1 50000');
    const lines = await logOf(url, here, id);
    assertSame(stdoutOf(lines), count(50_000));
  });
}

test('5,000 lines over a link that is slow and busy are all kept', { timeout: 120_000 }, async (t) => {
  const here = place(t);
  const url = await run(t, ['up', '--port', '0', '--no-worker'], { cwd: here.cwd }).address();
  const [{ secret }] = (await here.call(['workers', 'create', 'box', '--json'])).objects() as [{ secret: string }];
  const slow = await slowLink(t, url, 64);
  run(t, ['worker', '--join', slow, '--name', 'box', '--secret', secret, '--allow', 'shell', '--slots', '4'], {
    cwd: temporaryFolder(t),
  });
  const text = 'x'.repeat(100);
  const ids = await Promise.all(Array.from({ length: 4 }, () => pushed(here, `seq -f '%g ${text}' 1 5000`)));
  const wanted = count(5000).map((n) => `${n} ${text}`);
  for (const id of ids) assertSame(stdoutOf(await logOf(url, here, id)), wanted);
});

test('beyond the bound lines are dropped, and the API and the command say how many', {
  timeout: 120_000,
}, async (t) => {
  const here = place(t);
  const url = await run(t, ['up', '--port', '0', '--allow', 'shell'], { cwd: here.cwd }).address();
  const id = await pushed(here, 'seq 1 400000');
  const lines = await logOf(url, here, id);
  const kept = stdoutOf(lines);
  const dropped = lines.reduce((sum, line) => sum + (line.dropped ?? 0), 0);
  assertSame(kept, count(kept.length));
  assert.equal(kept.length + dropped, 400_000);
  assert.match(
    lines.at(-1)?.text ?? '',
    /^\[… [\d,]+ lines \([\d.]+ [KM]B\) dropped: the log of an attempt holds at most 10 MB …\]$/,
  );
  const shown = await here.call(['tasks', 'logs', id]);
  assert.match(shown.stderr + shown.stdout.slice(-500), new RegExp(`Not kept: ${dropped.toLocaleString('en')} lines`));
});

for (const link of ['WebSocket', 'HTTP'] as const) {
  test(`${link}: the output of a node follows a task from a lease that runs out to the end of the next one`, {
    timeout: 120_000,
  }, async (t) => {
    const here = place(t);
    const args = ['up', '--port', '0', '--json', '--no-worker', '--log-level', 'debug', '--lease-duration', '2s'];
    const node = run(t, args, { cwd: here.cwd });
    const url = await node.address();
    const [{ secret }] = (await here.call(['workers', 'create', 'box', '--json'])).objects() as [{ secret: string }];
    const joining = ['worker', '--join', url, '--name', 'box', '--secret', secret, '--allow', 'shell'];
    const work = (): Running =>
      run(t, [...joining, ...(link === 'HTTP' ? ['--http'] : [])], { cwd: temporaryFolder(t) });
    const first = work();
    const over = join(here.cwd, 'over');
    const id = await pushed(here, `test -e ${over} || sleep 600`);
    await node.says(/"message":"a lease was granted"/);
    first.child.kill('SIGKILL');
    writeFileSync(over, '');
    await node.says(/"message":"a lease ran out and was taken back"/);
    work();
    await node.says(/"message":"a lease has ended"/);
    const said = node.stdout
      .split('\n')
      .filter((line) => /"message":"a lease /.test(line))
      .map((line) => JSON.parse(line) as { message: string; fields: Record<string, unknown> });
    assert.deepEqual(
      said.map(({ message, fields: { worker, task, attempt, lease, state } }) => [
        message,
        worker,
        task === id && lease === `${id}#${attempt as number}`,
        attempt,
        state,
      ]),
      [
        ['a lease was granted', 'box', true, 1, undefined],
        ['a lease ran out and was taken back', 'box', true, 1, undefined],
        ['a lease was granted', 'box', true, 2, undefined],
        ['a lease has ended', 'box', true, 2, 'completed'],
      ],
    );
  });
}
