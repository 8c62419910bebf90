import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { CONDITIONS, cloneInto, ROOT, run, temporaryFolder } from '../../support/leasehold.ts';

const execute = promisify(execFile);

/** Pages whose program talks to a node. */
const BESIDE_A_NODE: ReadonlySet<string> = new Set(['client-library.md']);

/** What the program on each page prints. */
const PAGES: Readonly<Record<string, readonly string[]>> = {
  'a-workspace-for-a-task.md': [
    '1 tea,3 milk,1 bread,2',
    'Add bread,2, Add milk,1, Begin',
    'tea,3',
    'workspace.tar.gz file',
  ],
  'client-library.md': ['Hello, Ada!', 'somebody greets Grace', 'created', 'claimed', 'completed', '2', 'true'],
  'writing-tasks.md': ['800.png', 'true false', '{ attempt: 1, tries: 1 }', 'gave_up', 'render was only defined'],
  'a-pool-that-scales.md': ["[ 'work' ] 3", '[ 2, 4, 6 ]'],
  'files-of-a-task.md': [
    'notes.txt 13 text/plain; charset=utf-8',
    'out/report.csv 24 text/csv',
    'sales,1',
    'sales,2',
    'sales,3',
    '',
    '4',
    'undefined',
    '1',
  ],
  'schedules.md': ["active { daily: '03:00' }", 'report of sales', 'paused', '5 run'],
  'triggers.md': ['pushed a task of fragile has failed'],
  'waiting-and-remembering.md': [
    'receipt 1 over 24 charged 1 time',
    'good morning',
    'Publish this? approve or reject',
    'approve by ada',
    '14',
    '{"of":"sales","year":2026} drawn 1 time',
    'true 1',
    "[ 'Why are bees round?', 'reply to 1', 'reply to 2', 'reply to 3' ]",
    'moved 7',
    'CONFLICT',
  ],
};

function codeOf(page: string): string {
  const text = readFileSync(join(ROOT, 'docs/guides', page), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((found) => found[1]).join('\n');
}

test('the code of each page is one program, and its types are right', async (t) => {
  const cwd = temporaryFolder(t);
  cloneInto(cwd);
  const files = Object.keys(PAGES).map((page) => page.replace('.md', '.page.ts'));
  for (const [i, page] of Object.keys(PAGES).entries()) writeFileSync(join(cwd, files[i] as string), codeOf(page));
  // Of all at once: most that the compiler reads is the library.
  const config = { extends: './tsconfig.json', include: files, exclude: [] };
  writeFileSync(join(cwd, 'tsconfig.page.json'), JSON.stringify(config));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout: complaints } = await execute(process.execPath, [tsc, '-p', 'tsconfig.page.json'], { cwd }).catch(
    (error: { stdout: string }) => error,
  );
  assert.equal(complaints, '');
});

for (const [page, prints] of Object.entries(PAGES)) {
  test(`the code of ${page} runs`, async (t) => {
    const cwd = temporaryFolder(t);
    cloneInto(cwd);
    writeFileSync(join(cwd, 'page.ts'), codeOf(page));
    const env = BESIDE_A_NODE.has(page) ? { ...process.env, ...(await node(t)) } : process.env;
    const { stdout } = await execute(process.execPath, [...CONDITIONS, 'page.ts'], { cwd, env });
    assert.deepEqual(stdout.split('\n').slice(0, -1), prints);
  });
}

/** Where a node answers, and its token, as the program reads them. */
async function node(t: TestContext): Promise<Readonly<Record<string, string>>> {
  const cwd = temporaryFolder(t);
  const LEASEHOLD_SERVER = await run(t, ['up', '--port', '0', '--no-worker'], { cwd }).address();
  return { LEASEHOLD_SERVER, LEASEHOLD_TOKEN: readFileSync(join(cwd, '.leasehold/token'), 'utf8').trim() };
}
