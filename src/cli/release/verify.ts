import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold release verify DIR KEY`. */
export const verify: Command = {
  name: 'release verify',
  doc: 'Check the release in a folder as an updater would: signature, hash, time',
  args: [
    { name: 'DIR', doc: 'A folder with manifest.json and worker.bundle' },
    { name: 'KEY', doc: 'The public key, ed25519:…' },
  ],
  options: ['json'],
  examples: [
    { line: 'release verify dist/release ed25519:…', does: 'status 0 if it is good' },
    { line: 'release verify dist/release ed25519:… --json', does: 'with its version, hash and end' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(verify, args);
    const [folder, publicKey] = words as [string, string];
    const out = outFor(config);
    const { verifyRelease } = await import('../../app/release/sign-release.ts');
    const { version, expires, key, sha256 } = verifyRelease(folder, [publicKey], Date.now());
    if (out.mode === 'json') out.json({ version, expires, key, sha256 });
    else out.line(safeLine(`Release ${version} is good until ${new Date(expires).toISOString()}.`));
    return EXIT.fine;
  },
};
