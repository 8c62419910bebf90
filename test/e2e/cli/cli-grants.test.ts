import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { LIBRARY, run } from '../../support/leasehold.ts';
import { type Place, place } from './cli-calls.ts';

const NOBODY = ' No worker of this name is here; it holds for the next one that comes.';

async function node(t: TestContext, { cwd }: Place): Promise<string> {
  return run(t, ['up', '--port', '0', '--no-worker'], { cwd }).address();
}

test('a grant says what a name may run: what is given replaces, what is not given stays, and --any takes bounds away', async (t) => {
  const { call } = place(t);
  await call(['push', 'any']);
  const made = await call(['workers', 'create', 'box', '--handler', 'b', '--handler', 'a', '--slots', '2', '--json']);
  assert.equal(made.code, 0, made.stderr);
  assert.deepEqual(made.objects()[0]?.grant, { handlers: ['a', 'b'], slots: 2 });
  const grant = async (...args: string[]): Promise<unknown> => {
    const answer = await call(['workers', 'grant', 'box', '--json', ...args]);
    assert.equal(answer.code, 0, answer.stderr);
    return answer.objects()[0]?.grant;
  };
  assert.deepEqual(await grant('--queue', 'media'), { handlers: ['a', 'b'], queues: ['media'], slots: 2 });
  assert.deepEqual(await grant('--handler', 'c'), { handlers: ['c'], queues: ['media'], slots: 2 });
  assert.deepEqual(await grant(), { handlers: ['c'], queues: ['media'], slots: 2 });
  assert.deepEqual((await call(['workers', 'grant', 'box'])).lines, [
    `box may run:${NOBODY}`,
    '  handlers  c',
    '  queues    media',
    '  slots     at most 2',
  ]);
  assert.deepEqual(await grant('--any', '--handler', 'd'), { handlers: ['d'] });
  assert.deepEqual(await grant('--any'), { anyHandler: true });
  assert.deepEqual((await call(['workers', 'grant', 'box'])).lines.slice(1), [
    '  handlers  any that it offers',
    '  queues    all',
    '  slots     at most 1000',
  ]);
  for (const wrong of [
    ['--handler', 'a b'],
    ['--slots', '0'],
    ['--queue', ''],
  ])
    assert.equal((await call(['workers', 'grant', 'box', ...wrong])).code, 2, wrong.join(' '));
});

test('permissions of a name are added to, shown, and taken away', async (t) => {
  const { call } = place(t);
  await call(['push', 'any']);
  const permit = async (...args: string[]): Promise<unknown> => {
    const answer = await call(['workers', 'permit', 'box', '--json', ...args]);
    assert.equal(answer.code, 0, answer.stderr);
    return answer.objects()[0]?.grant;
  };
  assert.deepEqual((await call(['workers', 'permit', 'box'])).lines, [
    `Tasks of box may spawn what it may run, in their own queue, and nothing else.${NOBODY}`,
  ]);
  assert.deepEqual(await permit('--queue', 'b', '--handler', 'render-*'), {
    permissions: { handlers: ['render-*'], queues: ['b'] },
  });
  const more = [
    '--tag',
    'gpu',
    '--worker',
    'w',
    '--limit',
    'l',
    '--channel',
    'orders:*',
    '--wait',
    'word',
    '--reuse',
    '--queue',
    'a',
  ];
  const all = {
    handlers: ['render-*'],
    queues: ['a', 'b'],
    tags: ['gpu'],
    workers: ['w'],
    limits: ['l'],
    channels: ['orders:*'],
    waits: ['word'],
    reuse: true,
  };
  assert.deepEqual(await permit(...more), { permissions: all });
  assert.deepEqual(await permit(), { permissions: all });
  assert.deepEqual((await call(['workers', 'permit', 'box'])).lines, [
    `Tasks of box may, besides what any may:${NOBODY}`,
    '  handlers  render-*',
    '  queues    a, b',
    '  tags      gpu',
    '  workers   w',
    '  limits    l',
    '  channels  orders:*',
    '  waits     word',
    '  reuse     kept results and unique keys of others',
  ]);
  assert.deepEqual(await permit('--none', '--tag', 'eu'), { permissions: { tags: ['eu'] } });
  assert.equal(await permit('--none'), undefined);
  const wrong = await call(['workers', 'permit', 'box', '--queue', 'a*b']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /a \* that is not at its end/);
});

test('a worker that offers more than its name was granted is refused with the command that mends it', async (t) => {
  const here = place(t);
  const url = await node(t, here);
  const [{ secret }] = (await here.call(['workers', 'create', 'box', '--handler', 'render', '--json'])).objects() as [
    { secret: string },
  ];
  const refused = await here.call(['worker', '--join', url, '--name', 'box', '--secret', secret]);
  assert.equal(refused.code, 4);
  assert.match(
    refused.stderr,
    /the handlers agent, aggregate, echo, graph, http, machine were not given to the worker box/,
  );
  const command = /"leasehold ([^"]+)"/.exec(refused.stderr)?.[1] ?? '';
  assert.equal(
    command,
    'workers grant box --handler render --handler agent --handler aggregate --handler echo --handler graph --handler http --handler machine',
  );
  assert.equal((await here.call(command.split(' '))).code, 0);
  const worker = run(t, ['worker', '--join', url, '--name', 'box', '--secret', secret], { cwd: here.cwd });
  await worker.says(/Worker box runs agent, aggregate, echo, graph, http, machine/);
  const [row = ''] = (await here.call(['workers', 'list'])).lines;
  assert.equal(row.split('\t').at(-1), 'handlers agent, aggregate, echo, graph, http, machine, render');
  worker.child.kill('SIGINT');
  await worker.ended;
});

test('a task that spawns elsewhere fails with the command that permits it, and runs once that or its push does', async (t) => {
  const here = place(t);
  const url = await node(t, here);
  const file = join(here.cwd, 'tasks.mjs');
  writeFileSync(
    file,
    `import { task } from ${JSON.stringify(LIBRARY)};
export const parent = task('parent', {
  run: (queue, ctx) => ctx.spawn({ handler: 'echo', queue }, 1).then(({ id }) => id),
});`,
  );
  const [{ secret }] = (await here.call(['workers', 'create', 'box', '--json'])).objects() as [{ secret: string }];
  const joined = ['worker', '--join', url, '--name', 'box', '--secret', secret, '--handlers', file];
  const worker = run(t, joined, { cwd: here.cwd });
  await worker.says(/Worker box runs/);
  const push = (...args: string[]) =>
    here.call(['push', 'parent', '"side"', '--max-attempts', '1', '--follow', ...args]);
  const failed = await push();
  assert.equal(failed.code, 1);
  assert.match(failed.stdout + failed.stderr, /may not spawn into the queue "side"/);
  const allowed = await push('--permissions', '{"queues":["side"]}');
  assert.equal(allowed.code, 0, allowed.stdout + allowed.stderr);
  assert.equal((await here.call(['workers', 'permit', 'box', '--queue', 'side'])).code, 0);
  // What was permitted holds within a second.
  let last = await push();
  while (last.code !== 0) {
    assert.match(last.stdout + last.stderr, /may not spawn/);
    last = await push();
  }
  const wrong = await push('--permissions', '{"everything":true}');
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--permissions is not valid.*"everything" is none of/);
  worker.child.kill('SIGINT');
  await worker.ended;
});
