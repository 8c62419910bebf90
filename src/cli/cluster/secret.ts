import { nodeEnvironment } from '../../config/environment.ts';
import { loadConfig } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { STORE_OPTIONS } from '../kit/operator-for.ts';

const WORDS = {
  yes: 'is the secret of this store.',
  no: 'is not the secret of this store: a node would not start.',
  missing: 'is not there: a node would not start.',
  'no node has come yet': 'is what the first node of this store would take or make.',
} as const;

/** `leasehold cluster secret`. */
export const secret: Command = {
  name: 'cluster secret',
  doc: 'Check the secret that the nodes of a store share, or let the store take another one',
  args: [],
  options: ['renew', 'earlierSecretFile', 'force', 'clusterSecretFile', ...STORE_OPTIONS],
  examples: [
    { line: 'cluster secret', does: 'whether a node that starts here has the secret of the store' },
    { line: 'cluster secret --renew', does: 'a new secret, because the old one is lost or known to others' },
  ],

  async run(args) {
    const config = loadConfig(secret, args);
    const out = outFor(config);
    const [{ secretSource }, { renewSecret, secretStatus }] = await Promise.all([
      import('../../app/data/secret-source.ts'),
      import('../../app/data/renew-secret.ts'),
    ]);
    const { store, dataDir, clusterSecretFile: file } = config;
    const source = secretSource({ dataDir, file, ...nodeEnvironment() });
    if (!config.renew) {
      const { place, fits } = await secretStatus(store, source);
      if (out.mode === 'json') out.json({ place, fits });
      else out.line(safeLine(`${place} ${WORDS[fits]}`));
      return fits === 'no' || fits === 'missing' ? EXIT.failed : EXIT.fine;
    }
    const { earlierSecretFile: old, force } = config;
    const earlier = old === undefined ? undefined : secretSource({ dataDir, file: old });
    const { place, made, kept, lost } = await renewSecret(store, source, { earlier, lose: force });
    if (out.mode === 'json') out.json({ place, made, kept, lost });
    else {
      out.line(safeLine(made ? `Made a new secret in ${place}.` : `The store takes the secret of ${place} now.`));
      out.line('What was signed with the old one has ended: workers elsewhere lose what they run, and log in again.');
      out.line('All other nodes of this store need the new one.');
      if (kept > 0) out.line(`${kept} credentials were sealed anew; workers keep what they hold.`);
      if (lost.length > 0) out.line(`Set these credentials again, nobody can open them any more: ${lost.join(', ')}.`);
    }
    return EXIT.fine;
  },
};
