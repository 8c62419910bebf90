import { duration, filled, publicUrl } from '../parse.ts';
import type { OptionTable } from './option.ts';

/** Releases of the worker. */
export const RELEASE_OPTIONS = {
  keyFile: {
    doc: 'The file with the private key that signs releases',
    value: 'FILE',
    parse: filled,
    env: ['LEASEHOLD_RELEASE_KEY'],
    fallback: () => undefined,
    fallbackDoc: 'none: the release is not signed',
  },
  validFor: {
    doc: 'How long the release may be installed from now on',
    value: 'TIME',
    parse: duration,
    env: [],
    fallback: () => 90 * 24 * 3_600_000,
    fallbackDoc: '90d',
  },
  minVersion: {
    doc: 'The oldest release that may still be installed where this one was',
    value: 'VERSION',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: '0.1.0',
  },
  install: {
    doc: 'Show the line that installs the worker from the node at this address, as the other host reaches it',
    value: 'URL',
    parse: publicUrl,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none: the line that joins with a program that is there',
  },
} satisfies OptionTable;
