import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { CONDITIONS } from '../../support/leasehold.ts';
import { blocksOf, Clone } from './guide-pages.ts';

const execute = promisify(execFile);

test('the program of the guide to pools is killed, goes on and prints what the page says', {
  timeout: 180_000,
}, async (t) => {
  const blocks = blocksOf('a-pool-of-agents.md');
  const find = (kind: string, where: string): string => {
    const found = blocks.find((block) => block.kind === kind && block.where === where);
    assert.ok(found, where);
    return found.text;
  };
  const clone = new Clone(t);
  clone.write('pool.ts', find('ts', 'pool.ts'));
  const run = () =>
    execute(process.execPath, [...CONDITIONS, join(clone.cwd, 'pool.ts')], { cwd: clone.cwd }).then(
      ({ stdout }) => ({ stdout, signal: undefined }),
      ({ stdout, stderr, signal }: { readonly stdout: string; readonly stderr: string; readonly signal?: string }) => {
        assert.equal(signal, 'SIGKILL', stderr);
        return { stdout, signal };
      },
    );
  assert.deepEqual(await run(), { stdout: find('text', 'first'), signal: 'SIGKILL' });
  assert.deepEqual(await run(), { stdout: find('text', 'second'), signal: undefined });
});
