/** A55: nothing of ours looks for code by a name. What runs is a file that its operator has named. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { place } from '../../e2e/cli/cli-calls.ts';

test('A55: a package that lies in node_modules is loaded by no name, not as handlers, a module of tasks or hooks', async (t) => {
  const here = place(t);
  const mark = join(here.cwd, 'loaded');
  const folder = join(here.cwd, 'node_modules', 'leasehold-gpu');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"name": "leasehold-gpu", "type": "module", "exports": "./index.js"}');
  writeFileSync(
    join(folder, 'index.js'),
    `import { writeFileSync } from 'node:fs';
     writeFileSync(${JSON.stringify(mark)}, '');
     export default () => 1;`,
  );
  writeFileSync(
    join(here.cwd, 'machine.yml'),
    [
      'spec: flatmachine',
      'spec_version: "4.2.1"',
      'data:',
      '  name: m',
      '  hooks: { module: leasehold-gpu }',
      '  states: { a: { type: initial, action: go, transitions: [{ to: b }] }, b: { type: final } }',
    ].join('\n'),
  );
  await here.call(['push', 'js', '{"module": "leasehold-gpu"}', '--max-attempts', '1', '--store', here.url]);
  const said: string[] = [];
  for (const args of [
    ['worker', '--once', '--store', here.url, '--handlers', 'leasehold-gpu'],
    ['worker', '--once', '--store', here.url, '--allow', 'js', '--idle-exit', '1s'],
    ['run', 'machine.yml'],
  ]) {
    const { code, stderr } = await here.call(args);
    assert.notEqual(code, 0, `${args.join(' ')}: ${stderr}`);
    assert.equal(existsSync(mark), false, args.join(' '));
    said.push(stderr);
  }
  assert.match(said[0] ?? '', /leasehold-gpu is not a file/);
  assert.match(said[2] ?? '', /leasehold-gpu/);
  const { stdout } = await here.call(['tasks', 'list', '--state', 'failed', '--json', '--store', here.url]);
  assert.match(stdout, /leasehold-gpu/, 'the task has failed by its module');
});
