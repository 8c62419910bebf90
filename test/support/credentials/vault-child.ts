/** A process that writes into a vault as fast as it can, until it is killed. Its output is what was acknowledged. */
import { openVault } from '../../../src/worker/vault/open-vault.ts';
import { TestCluster } from './sealer.ts';

const [, , folder = '', worker = '', from = '1', pem = ''] = process.argv;
const cluster = new TestCluster(Buffer.from(pem, 'base64').toString());
const environment = { credentials: undefined, session: {} };
const { vault } = await openVault(worker, { folder, demand: 'file', environment, now: Date.now });
process.stdout.write('open\n');
for (let version = Number(from); ; version++) {
  const { key } = vault.report;
  const envelope = cluster.seal({ worker, key, name: 'db', version }, { value: `value ${version} `.repeat(500) });
  const ack = await vault.take({ name: 'db', version, envelope }, () => cluster.signer);
  // Another process was here before this one began.
  const [, seen] = /older than version (\d+)/.exec(ack.error ?? '') ?? [];
  if (seen !== undefined) {
    version = Number(seen);
    continue;
  }
  if (ack.status !== 'stored') throw new Error(ack.error);
  process.stdout.write(`${version}\n`);
  if (version % 5 !== 0) continue;
  await vault.take({ name: 'db', version, removed: true }, () => cluster.signer);
  process.stdout.write(`-${version}\n`);
}
