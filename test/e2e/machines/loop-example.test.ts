import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../support/leasehold.ts';
import { place } from '../cli/cli-calls.ts';

const PLAN = '# Plan\n\n- [x] write "hello.txt" with "Hello, all of you"\n- [x] write "bye.txt" with "Good bye"\n';

for (const where of [[], ['--store', 'sqlite:work.db']]) {
  test(`the example of a loop does its plan and mends what the checks find, ${where[0] ?? 'within a process'}`, async (t) => {
    const { cwd, call } = place(t);
    cpSync(join(ROOT, 'examples/loop'), join(cwd, 'examples/loop'), { recursive: true });
    const readme = readFileSync(join(ROOT, 'examples/loop/README.md'), 'utf8');
    const [line = ''] = /^npx leasehold run .*$/m.exec(readme) ?? [];
    const args = line.replace('npx leasehold ', '').split(' ');
    const { code, stdout, stderr } = await call([...args, ...where]);
    assert.equal(code, 0, stderr);
    const { output, ...rest } = JSON.parse(stdout) as { readonly output: string };
    assert.deepEqual(rest, { status: 'COMPLETED', iterations: 4, rewrites: 0 });
    assert.match(output, /<promise>COMPLETE<\/promise>$/);
    assert.equal(readFileSync(join(cwd, 'examples/loop/greeting/plan.md'), 'utf8'), PLAN);
    assert.equal(readFileSync(join(cwd, 'examples/loop/greeting/hello.txt'), 'utf8'), 'Hello, all of you\n');
  });
}

test('the example of a loop in a worktree merges its work as one commit, and leaves nothing beside it', async (t) => {
  const { cwd, call } = place(t);
  cpSync(join(ROOT, 'examples/loop-git'), join(cwd, 'examples/loop-git'), {
    recursive: true,
    filter: (path) => basename(path) !== 'shop',
  });
  const readme = readFileSync(join(ROOT, 'examples/loop-git/README.md'), 'utf8');
  const [line = ''] = /^npx leasehold run .*$/m.exec(readme) ?? [];
  execFileSync('sh', ['examples/loop-git/start.sh'], { cwd });
  const { code, stdout, stderr } = await call(line.replace('npx leasehold ', '').split(' '));
  assert.equal(code, 0, stderr);
  assert.equal((JSON.parse(stdout) as { readonly iterations: number }).iterations, 2);
  const shop = join(cwd, 'examples/loop-git/shop');
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: shop, encoding: 'utf8' });
  assert.equal(git('log', '--format=%s'), 'Squash run/price-list into main\nBegin\n');
  assert.equal(readFileSync(join(shop, 'prices.txt'), 'utf8'), 'bread 3\nhoney 8\n');
  assert.match(git('branch', '--list'), /run\/price-list/);
  assert.ok(!existsSync(join(cwd, 'examples/loop-git/shop.run-price-list')));
});

test('a loop without its root, with a path in the place of a name, or on a node with a root of its own call is refused', async (t) => {
  const { call } = place(t);
  const input = JSON.stringify({ workspace: '/etc', agent: 'x', prompt: 'x' });
  const path = await call(['run', '--machine', 'loop', '--input', input]);
  assert.deepEqual([path.code, /no path/.test(path.stderr)], [1, true], path.stderr);
  const none = await call(['run', '--machine', 'loop', '--input', input.replace('/etc', 'main')]);
  assert.deepEqual([none.code, /root of workspaces/.test(none.stderr)], [1, true], none.stderr);
  const served = await call([
    'run',
    '--machine',
    'loop',
    '--loop-root',
    'a=.',
    '--server',
    'http://127.0.0.1:1',
    '--input',
    input,
  ]);
  assert.deepEqual([served.code, /--loop-root/.test(served.stderr)], [2, true], served.stderr);
  const wrong = await call(['run', '--machine', 'loop', '--loop-root', '../x', '--input', input]);
  assert.equal(wrong.code, 2);
});
