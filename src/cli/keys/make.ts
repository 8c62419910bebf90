import { generateKeyPairSync } from 'node:crypto';
import { loadCall } from '../../config/load.ts';
import { keyIdOf } from '../../operate/signing.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { writeKeyFile } from './key-file.ts';

/** `leasehold keys make FILE`. */
export const make: Command = {
  name: 'keys make',
  doc: 'Make a key that signs tasks, and beside it the public one that workers trust',
  args: [{ name: 'FILE', doc: 'The key that signs; the public one is FILE.pub' }],
  options: ['json'],
  examples: [
    {
      line: 'keys make deploy.key',
      does: 'deploy.key stays where tasks are pushed, deploy.key.pub goes to the workers',
    },
    { line: 'keys make deploy.key --json', does: 'its id as JSON' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(make, args);
    const [file] = words as [string];
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const id = keyIdOf(publicKey);
    writeKeyFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 0o600);
    writeKeyFile(`${file}.pub`, `${id}\n${publicKey.export({ type: 'spki', format: 'pem' }).toString()}`, 0o644);
    const out = outFor(config);
    if (out.mode === 'json') out.json({ id, file, public: `${file}.pub` });
    else {
      out.line(`Made the key ${id}.`);
      out.line(`  push QUEUE … --sign-key ${file}`);
      out.line(`  worker … --require-signed ${file}.pub`);
    }
    return EXIT.fine;
  },
};
