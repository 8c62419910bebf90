import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold release sign DIR --key-file FILE`. */
export const sign: Command = {
  name: 'release sign',
  doc: 'Sign the release of the worker in a folder, or sign it again before it expires',
  args: [{ name: 'DIR', doc: 'A folder with worker.bundle, such as dist/release' }],
  options: ['keyFile', 'validFor', 'minVersion', 'json'],
  examples: [
    { line: 'release sign dist/release --key-file ~/keys/release.pem', does: 'good for 90 days' },
    { line: 'release sign dist/release --key-file k.pem --valid-for 30d', does: 'good for 30' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(sign, args);
    const [folder] = words as [string];
    const { keyFile, validFor: validMs, minVersion } = config;
    const out = outFor(config);
    const { signRelease } = await import('../../app/release/sign-release.ts');
    const signed = signRelease(folder, { keyFile, now: Date.now(), validMs, minVersion });
    if (out.mode === 'json') out.json(signed);
    else {
      const { version, key, expires } = signed;
      const by = key === undefined ? 'NOT SIGNED: give --key-file FILE' : `signed by ${key}`;
      out.line(safeLine(`Release ${version} is ${by}; it expires at ${new Date(expires).toISOString()}.`));
    }
    return EXIT.fine;
  },
};
