/** The changes of a loop: seen by their lines, merged or scrapped by somebody who may, and never taken for markup. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { grave, tooWide } from '../support/axe.ts';
import { houseOfThisFile } from '../support/browser-test.ts';
import type { House } from '../support/house.ts';
import { picture } from '../support/pictures.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'leasehold-changes-')));
after(() => rmSync(root, { recursive: true, force: true }));
const repo = join(root, 'hive');

const IDENTITY = ['-c', 'user.name=Ada', '-c', 'user.email=ada@localhost', '-c', 'init.defaultBranch=main'];
const git = (...args: readonly string[]): string =>
  execFileSync('git', [...IDENTITY, ...args], { cwd: repo, encoding: 'utf8' }).trim();

const SCRIPT = '<img src=x onerror="xss(1)"><script>xss(2)</script>';
/** What a coding agent does: it changes a file, makes some, removes one. */
const AGENT = `cat > /dev/null
sed -i 's/wax = 1/wax = 12/' hive.c && printf 'int honey(void) { return 42; }\\n' >> hive.c
printf '%s\\n' '${SCRIPT}' > 'page.html'
seq 1 600 > 'combs/numbers.txt'
git rm --quiet --cached old.txt 2>/dev/null; rm -f old.txt
echo '<promise>COMPLETE</promise>'`;

function makeRepository(): void {
  mkdirSync(join(repo, 'combs'), { recursive: true });
  git('init', '--quiet');
  writeFileSync(
    join(repo, 'hive.c'),
    '#include <bees.h>\n\nint wax = 1;\nint comb = 2;\n\nint main(void) { return 0; }\n',
  );
  writeFileSync(join(repo, 'old.txt'), 'of last year\n');
  writeFileSync(join(repo, 'combs/readme.md'), '# Combs\n');
  git('add', '.');
  git('commit', '--quiet', '-m', 'Begin');
}

/** The id of a loop that has ended, with its branch. */
async function loop(house: House, name: string): Promise<string> {
  const agent = { type: 'command', config: { command: ['sh', '-c', AGENT], output: 'text' } };
  const { run } = await house.call('startLoop', {
    body: {
      workspace_root: 'main/hive',
      prompt: 'Make honey.',
      name,
      worktree_provider: 'git',
      merge_strategy: 'none',
      agent,
      config_override: 'reviewer=false',
    },
  });
  await house.until(async () => {
    const { status, reason } = (await house.call('getLoop', { params: { id: run.id } })).run;
    assert.notEqual(status, 'FAILED', reason ?? '');
    return status === 'COMPLETED';
  }, `${name} has completed`);
  return run.id;
}

makeRepository();
const inBrowser = houseOfThisFile({ bare: true, args: ['--loop-root', `main=${root}`] });

test(
  'what a loop has changed is shown by commits, files and lines, and is merged by typing its name',
  inBrowser(
    async ({ house, visit, page }) => {
      await visit.context.exposeBinding(
        'xss',
        (_source, n: number) => void visit.troubles.push(`payload ${n} has run`),
      );
      const id = await loop(house, 'honey');
      await visit.open(`/runs/${id}`);
      const panel = page.getByRole('region', { name: 'Changes' });
      await panel.getByText('run/honey').waitFor();
      await panel.getByRole('button', { name: 'Show the changes' }).click();
      await panel.getByText('1 commit, 4 files').waitFor();
      const commit = panel.getByRole('list', { name: 'Commits' }).getByRole('listitem');
      assert.match(await commit.innerText(), /Implementation 1/);

      const code = panel.getByRole('region', { name: 'hive.c' });
      assert.deepEqual(await code.locator('.change.delete code').allInnerTexts(), ['int wax = 1;']);
      assert.deepEqual(await code.locator('.change.add code').allInnerTexts(), [
        'int wax = 12;',
        'int honey(void) { return 42; }',
      ]);
      const page1 = panel.getByRole('region', { name: 'page.html' });
      assert.equal(await page1.locator('.change.add code').innerText(), SCRIPT);
      assert.equal(await panel.locator('img, script').count(), 0);
      await panel.scrollIntoViewIfNeeded();
      await panel.evaluate((one) => scrollTo({ top: one.getBoundingClientRect().top + scrollY - 20 }));
      await picture(page, 'changes');

      assert.deepEqual([...(await grave(page)), ...(await tooWide(page))], []);

      // A long one is folded until somebody wants it.
      const numbers = panel.getByRole('region', { name: 'combs/numbers.txt' });
      assert.equal(await numbers.locator('.change').count(), 0);
      await numbers.getByRole('button').click();
      await numbers.getByText('600', { exact: true }).last().waitFor();

      await panel.getByRole('button', { name: 'Merge' }).click();
      const dialog = page.getByRole('dialog', { name: 'Merge run/honey' });
      const really = dialog.getByRole('button', { name: 'Merge the changes' });
      const word = (await dialog.locator('label').innerText()).replace(/^Type | to confirm$/g, '');
      assert.equal(await really.isDisabled(), true);
      await dialog.getByRole('textbox').fill(word);
      await really.click();
      await panel.getByText(/The changes were merged into main, as [0-9a-f]{12}\./).waitFor();
      assert.equal(git('show', 'main:page.html'), SCRIPT);
      for (const name of ['Merge', 'Scrap']) assert.equal(await panel.getByRole('button', { name }).count(), 0, name);
    },
    { bypassCSP: true },
  ),
);

test(
  'what is scrapped is gone with its branch',
  inBrowser(
    async ({ house, visit, page }) => {
      const id = await loop(house, 'wax');
      await visit.open(`/runs/${id}`);
      const panel = page.getByRole('region', { name: 'Changes' });
      await panel.getByRole('button', { name: 'Scrap' }).click();
      const dialog = page.getByRole('dialog', { name: 'Scrap run/wax' });
      const word = (await dialog.locator('label').innerText()).replace(/^Type | to confirm$/g, '');
      await dialog.getByRole('textbox').fill(word);
      await dialog.getByRole('button', { name: 'Scrap the changes' }).click();
      await panel.getByText('The changes were scrapped.').waitFor();
      assert.equal(await panel.getByRole('button').count(), 0);
      assert.equal(git('branch', '--list', 'run/wax'), '');
    },
    { as: 'operator' },
  ),
);

test(
  'who may only read sees the changes on a phone in the dark, and decides nothing',
  inBrowser(
    async ({ house, visit, page }) => {
      const id = await loop(house, 'comb');
      await visit.open(`/runs/${id}`);
      const panel = page.getByRole('region', { name: 'Changes' });
      await panel.getByRole('button', { name: 'Show the changes' }).click();
      await panel.getByText('1 commit, ').waitFor();
      for (const name of ['Merge', 'Scrap']) assert.equal(await panel.getByRole('button', { name }).count(), 0, name);
      assert.deepEqual([...(await grave(page)), ...(await tooWide(page))], []);
      await panel.evaluate((one) => scrollTo({ top: one.getBoundingClientRect().top + scrollY - 60 }));
      await picture(page, 'changes-phone-dark');
    },
    { as: 'read', size: 'phone', theme: 'dark', bypassCSP: true },
  ),
);
