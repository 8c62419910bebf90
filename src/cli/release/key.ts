import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold release key FILE`. */
export const key: Command = {
  name: 'release key',
  doc: 'Make a key that signs releases of the worker, and print its public half, which hosts pin',
  args: [{ name: 'FILE', doc: 'Where the private key goes; it must not be there yet' }],
  options: ['json'],
  examples: [
    { line: 'release key ~/keys/release.pem', does: 'keep it on no server, and a copy in a safe place' },
    { line: 'release key release.pem --json', does: 'the public key as JSON' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(key, args);
    const [file] = words as [string];
    const out = outFor(config);
    const { writeReleaseKey } = await import('../../app/release/sign-release.ts');
    const made = writeReleaseKey(file);
    if (out.mode === 'json') out.json({ file, key: made });
    else {
      out.line(made);
      out.note(
        `The private key is in ${file}, for you alone. Whoever has it can run what they like on every host that pins it.`,
      );
    }
    return EXIT.fine;
  },
};
