import assert from 'node:assert/strict';
import { cpSync, existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../support/leasehold.ts';
import { place } from '../cli/cli-calls.ts';

/** What each example gives, by the arguments after its file; an example that is not here fails. */
const RUNS: Readonly<Record<string, readonly (readonly [args: readonly string[], output: unknown])[]>> = {
  'counter.yml': [
    [['--hooks', 'counter.hooks.ts', '--input', '{"to": 5}'], { count: 5 }],
    [['--hooks', 'counter.hooks.ts'], { count: 3 }],
  ],
  'approval.yml': [
    [
      ['--input', '{"order": 42, "total": 900}', '--signal', 'approval/42={"approved": true, "by": "Ann"}'],
      { order: 42, approved: true, by: 'Ann' },
    ],
    [
      ['--input', '{"order": 42, "total": 900}', '--signal', 'approval/42={"approved": false}'],
      { order: 42, approved: false, by: 'somebody' },
    ],
    [['--input', '{"order": 43, "total": 9}'], { order: 43, approved: true, by: 'the rule for small orders' }],
  ],
  'fan-out.yml': [
    [
      ['--hooks', 'fan-out.hooks.ts', '--input', '{"papers": [{"id": "b", "title": "On bees"}, {"id": "a"}]}'],
      {
        summaries: {
          b: { words: 2, summary: 'ON BEES, in short' },
          a: { _error: 'this paper has no title', _error_type: 'TypeError' },
        },
      },
    ],
  ],
  'error-recovery.yml': [
    [['--hooks', 'error-recovery.hooks.ts', '--input', '{"card": "good"}'], { paid: true, tries: 1 }],
    [['--hooks', 'error-recovery.hooks.ts', '--input', '{"card": "busy"}'], { paid: true, tries: 3 }],
    [
      ['--hooks', 'error-recovery.hooks.ts', '--input', '{"card": "bad"}'],
      { paid: false, reserved: false, why: 'RefusedError: the bank refused the card' },
    ],
  ],
  'nested.yml': [[['--input', '{"city": "Bergen"}'], { text: 'Bergen: rain, 64 tiles', depth: 0 }]],
};

const FOLDER = join(ROOT, 'examples/machines');

for (const file of globSync('*.yml', { cwd: FOLDER }).toSorted()) {
  test(`the machine ${file} runs within a process and durably, and is strictly valid`, async (t) => {
    const runs = RUNS[file];
    assert.ok(runs, 'say here what it gives');
    const { cwd, call } = place(t);
    cpSync(FOLDER, cwd, { recursive: true });
    const checked = await call(['machines', 'check', file]);
    assert.deepEqual([checked.code, checked.stdout], [0, '']);
    for (const [i, [args, output]] of runs.entries()) {
      for (const where of [[], ['--store', `sqlite:run-${i}/work.db`]]) {
        const { code, stdout, stderr } = await call(['run', file, ...args, ...where]);
        assert.equal(code, 0, stderr);
        assert.deepEqual(JSON.parse(stdout), output);
      }
      assert.ok(existsSync(join(cwd, `run-${i}/work.db`)), 'the second one was on a store');
    }
    const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8');
    assert.match(readme, new RegExp(`leasehold run ${file}`));
  });
}
