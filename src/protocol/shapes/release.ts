import { z } from 'zod';
import { Time } from './common.ts';

const version = z.string().max(40);
const versions = z.array(version).max(100);
const workers = z.array(z.string().max(200)).max(1000);

/** Which worker should run which release. */
export const UpgradePolicy = z
  .object({
    target: version.optional().describe('The release that older workers go to; absent: nobody is sent anywhere'),
    canary: z.number().describe('The share of workers that go there, in percent, by their names'),
    pinned: workers.readonly().describe('Workers that stay as they are'),
    refused: versions.readonly().describe('Releases that get no work'),
  })
  .meta({ id: 'UpgradePolicy' });

/** Fields that are absent stay as they are. */
export const UpgradeEdit = z.strictObject({
  target: version.nullable().optional().describe('Null: nobody is sent anywhere any more'),
  canary: z.number().int().min(0).max(100).optional(),
  pin: workers.optional(),
  unpin: workers.optional(),
  refuse: versions.optional(),
  allow: versions.optional(),
});

/** The release of a worker, as it told it with its last connection. */
export const WorkerRelease = z
  .object({
    version,
    protocol: z.tuple([z.number(), z.number()]).readonly().describe('The oldest and newest protocol that it speaks'),
    updater: z
      .object({
        state: z.string().describe('ready, trial (a new release proves itself), waiting, pinned, or broken'),
        until: Time.optional().describe('No upgrade is tried before'),
        problem: z.string().optional().describe('Why the last upgrade came to nothing'),
      })
      .optional()
      .describe('Absent: nothing upgrades it'),
    wanted: version.optional().describe('The release that the policy wants it to be'),
  })
  .meta({ id: 'WorkerRelease' });

export const UpgradeStatus = UpgradePolicy.extend({
  workers: z
    .array(WorkerRelease.partial().extend({ name: z.string(), state: z.string() }))
    .readonly()
    .describe('The living workers'),
}).meta({ id: 'UpgradeStatus' });

/** As it is signed: see the manifest in the reference. */
export const SignedManifest = z
  .object({ signed: z.string(), key: z.string().optional(), signature: z.string().optional() })
  .meta({ id: 'SignedManifest' });

export const bundleHash = z.strictObject({
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('The hash of the bundle'),
});
