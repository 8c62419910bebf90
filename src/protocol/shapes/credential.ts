import { z } from 'zod';
import type { HoldingStatus } from '../../core/credential/holding.ts';
import { DEMANDED_LEVELS, type KnownLevel } from '../../core/credential/level.ts';
import { Time, word } from './common.ts';

/** Credentials as an operator sees them: a value goes in and never comes out. */

const names = z.array(z.string().min(1).max(255)).max(1000);
const level = z.enum(DEMANDED_LEVELS);
/** Of 64 KiB, in the form that has the most characters. */
const text = z.string().max(65_536);

const Choice = {
  workers: names.optional().describe('These workers, by name'),
  tags: names.optional().describe('All workers that were given one of these tags'),
};

export const CredentialInput = z
  .strictObject({
    name: z.string().max(63),
    value: text.optional().describe('A text'),
    fields: z.record(z.string().max(200), text).optional().describe('Or an object of named texts'),
    type: z.string().max(200).optional().describe('What the object is, as its readers call it'),
    ...Choice,
    level: level.nullable().optional().describe('How a worker must keep it at least; null: as it can'),
  })
  .meta({ id: 'CredentialInput' });

export const CredentialGrant = z.strictObject({
  ...Choice,
  level: level.nullable().optional().describe('How a worker must keep it at least; null: as it can'),
});

export const CredentialRevocation = z.strictObject(Choice);

const Holder = z.object({
  worker: z.string(),
  status: word<Exclude<HoldingStatus, 'told'>>().describe(
    'wanted: it was not acknowledged yet; stored; removing: to be removed, and not acknowledged; removed; failed',
  ),
  wanted: z.number().describe('The version that it should have, or had'),
  acked: z.number().optional().describe('The version that it has acknowledged'),
  level: word<KnownLevel>().optional().describe('How it keeps credentials; unknown: its kind of agent does not say'),
  error: z.string().optional(),
  askedAt: Time,
  changedAt: Time,
});

export const Credential = z
  .object({
    name: z.string(),
    version: z.number().describe('The newest. Versions only grow, also over a removal'),
    kind: z.enum(['text', 'fields']),
    type: z.string().optional(),
    level: level.optional().describe('How a worker must keep it at least'),
    workers: z.array(z.string()).readonly().describe('Who may hold it, by name'),
    tags: z.array(z.string()).readonly().describe('Who may hold it, by a tag that its name was given'),
    createdAt: Time,
    changedAt: Time,
    holders: z.array(Holder).readonly().describe('Each worker that should hold it, or did'),
  })
  .meta({ id: 'Credential' });
