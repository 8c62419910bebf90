import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from '../support/browser-test.ts';
import { picture } from '../support/pictures.ts';

const inBrowser = houseOfThisFile();
const CANARY = 'canary-of-the-screen';

test(
  'a credential is made, given, changed, taken away and removed, and no page or answer has its value',
  inBrowser(async ({ house, visit, page }) => {
    const answers: string[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/api/'))
        void response.text().then(
          (text) => answers.push(text),
          () => {},
        );
    });
    await house.call('createWorker', { body: { name: 'gpu-box', tags: ['gpu'] } });
    await visit.open('/credentials');
    await page.getByRole('heading', { name: 'No credentials' }).waitFor();
    await page.getByRole('button', { name: 'Create a credential' }).click();
    const create = page.getByRole('dialog', { name: 'Create a credential' });
    await create.getByLabel('Name', { exact: true }).fill('github');
    await create.getByRole('button', { name: 'Create the credential' }).click();
    await create.getByText('A credential is not empty').waitFor();
    await create.getByLabel('Value', { exact: true }).fill(CANARY);
    await create.getByLabel('Workers', { exact: true }).fill('gpu-box');
    await create.getByRole('button', { name: 'Create the credential' }).click();

    const drawer = page.getByRole('dialog', { name: 'github' });
    await drawer.getByText('gpu-box').first().waitFor();
    await picture(page, 'credential');
    await drawer.getByRole('button', { name: 'New value' }).click();
    const another = page.getByRole('dialog', { name: 'Another value for github' });
    await another.getByLabel('Value', { exact: true }).fill(`${CANARY}-2`);
    await another.getByRole('button', { name: 'Change the value' }).click();
    await page.getByText('github has version 2, which goes to all that hold it.').waitFor();

    await drawer.getByRole('button', { name: 'Give to workers' }).click();
    const give = page.getByRole('dialog', { name: 'Give github to workers' });
    await give.getByLabel('Tags', { exact: true }).fill('gpu');
    await give.getByLabel('How a worker must keep it').selectOption('keyring');
    await give.getByRole('button', { name: 'Give it to them' }).click();
    await drawer.getByText('whoever has gpu').waitFor();
    const { level, tags, version } = await house.call('getCredential', { params: { name: 'github' } });
    assert.deepEqual({ level, tags, version }, { level: 'keyring', tags: ['gpu'], version: 2 });

    await drawer.getByRole('button', { name: 'Take away from gpu-box' }).click();
    await page.getByRole('dialog', { name: 'Take github away' }).getByRole('button', { name: 'Take it away' }).click();
    await drawer.getByRole('button', { name: 'Take away from gpu-box' }).waitFor({ state: 'detached' });
    assert.deepEqual((await house.call('getCredential', { params: { name: 'github' } })).workers, []);

    await drawer.getByRole('button', { name: 'Remove' }).click();
    const remove = page.getByRole('dialog', { name: 'Remove github' });
    const really = remove.getByRole('button', { name: 'Remove the credential' });
    assert.equal(await really.isDisabled(), true);
    await remove.getByLabel('Type github to confirm').fill('github');
    await really.click();
    await page.getByRole('heading', { name: 'No credentials' }).waitFor();
    assert.ok(answers.length > 0);
    for (const text of [...answers, await page.content()]) assert.ok(!text.includes(CANARY), text.slice(0, 200));
  }),
);

test(
  'named fields are kept by their names, and the list says who may hold what',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/credentials');
    await page.getByRole('button', { name: 'Create a credential' }).click();
    const create = page.getByRole('dialog', { name: 'Create a credential' });
    await create.getByLabel('Name', { exact: true }).fill('database');
    await create.getByText('Named fields').click();
    await create.getByLabel('Name of field 1').fill('user');
    await create.getByLabel('Value of field 1').fill(CANARY);
    await create.getByRole('button', { name: 'Add a field' }).click();
    await create.getByLabel('Name of field 2').fill('password');
    await create.getByLabel('Value of field 2').fill(CANARY);
    await create.getByLabel('Type', { exact: true }).fill('postgres');
    await create.getByLabel('Tags', { exact: true }).fill('gpu, eu');
    await create.getByRole('button', { name: 'Create the credential' }).click();
    await page.getByRole('dialog', { name: 'database' }).getByText('fields of postgres').waitFor();
    await page.keyboard.press('Escape');
    const row = page.getByRole('row').filter({ hasText: 'database' });
    assert.match(await row.innerText(), /whoever has eu or gpu/);
    assert.equal((await house.call('getCredential', { params: { name: 'database' } })).kind, 'fields');
    await picture(page, 'credentials');
  }),
);

test(
  'who is no admin has no entry in the menu, and the page says why it is empty',
  inBrowser(
    async ({ visit, page }) => {
      await visit.open('/credentials');
      await page.getByText('Only an admin sees credentials').waitFor();
      assert.equal(await page.getByRole('link', { name: 'Credentials', exact: true }).count(), 0);
    },
    { as: 'operator' },
  ),
);
