import { z } from 'zod';
import type { ArtifactKind } from '../../core/artifact/artifact.ts';
import { digits, pathName, Time, word } from './common.ts';

export const oneArtifact = z.strictObject({ id: pathName('The id of an artifact') });

/** A file that a task has left behind, without its bytes. */
export const Artifact = z
  .object({
    id: z.string(),
    task: z.string().describe('The id of its task'),
    attempt: z.number().int(),
    name: z.string().describe('Unique within its task: the newest counts'),
    type: z.string().describe('The media type that its maker says it has'),
    kind: word<ArtifactKind>().describe('file, log, output, result, diff or bundle'),
    size: z.number().int().describe('In bytes'),
    sha256: z.string().describe('The hash of its bytes'),
    createdAt: Time,
  })
  .meta({ id: 'Artifact' });

export const ArtifactUsage = z.object({
  entries: z.number().int(),
  bytes: z.number().int(),
});

/** What an address that is signed says besides the id. */
export const SignedAddress = z.strictObject({
  size: digits(z.number().min(0)).describe('How many bytes'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('Their hash'),
  by: z
    .string()
    .regex(/^[A-Za-z0-9_-]{16}$/)
    .optional()
    .describe('The worker that it was given to'),
  until: digits(z.number().min(0)).describe('How long it is good: calendar time in milliseconds'),
  sig: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/)
    .describe('Its signature'),
});
