import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'nodes, roles, epoch, duties and the store are shown; a role is asked of a second node, which takes it',
  inBrowser(async ({ house, visit, page }) => {
    const second = house.command(['up', '--no-worker', '--port', '0', '--name', 'second']);
    await second.address();
    await visit.open('/cluster');
    const nodes = page.getByRole('region', { name: 'Nodes' });
    const row = nodes.getByRole('row').filter({ has: page.getByLabel('Role override of second') });
    await row.waitFor();
    const cluster = await house.call('getCluster');
    assert.equal(cluster.nodes.length, 2);
    const leader = cluster.leader?.node as string;
    await nodes.getByRole('row').filter({ hasText: leader }).getByText('leader', { exact: true }).first().waitFor();
    const store = page.getByRole('region', { name: 'Store' });
    assert.match(await store.innerText(), /sqlite/);
    assert.match(await store.innerText(), new RegExp(`Epoch\\s+${cluster.leader?.epoch}`));
    for (const { name } of cluster.duties)
      await page.getByRole('region', { name: 'Duties' }).getByRole('cell', { name, exact: true }).waitFor();

    await page.getByLabel('Role override of second').selectOption('observer');
    await page.getByText('Role requested. The node takes it within two seconds.').waitFor();
    await row.getByRole('cell').nth(2).getByText('observer').waitFor();
    const asked = (await house.call('getCluster')).nodes.find(({ id }) => id === 'second');
    assert.deepEqual([asked?.override, asked?.role], ['observer', 'observer']);

    second.child.kill('SIGTERM');
    await row.getByText('left').waitFor();
  }),
);
