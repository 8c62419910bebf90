import { z } from 'zod';
import { CREDENTIAL_LEVELS } from '../core/credential/level.ts';

export type { CredentialLevel } from '../core/credential/level.ts';

/**
 * Credentials on their way to a worker, for both ends of every link. An envelope is made for the public key of one worker (X25519, then
 * HKDF-SHA256 over `epk‖rpk` as salt, then AES-256-GCM) and signed by the cluster (Ed25519), because what is sealed to a public key alone
 * could come from anyone. The bytes are made in `server/credentials/sealer.ts` and opened in `worker/vault/envelope.ts`.
 */

/** The `info` of the key derivation, and the first line of what is signed. */
export const ENVELOPE_PURPOSE = 'leasehold credential 1';
/** A worker holds at most this many. */
const MOST_CREDENTIALS = 1000;
const MAX_ACK_ERROR = 500;
/** 64 KiB of text may take six times as much as JSON, and a third more in base64url. */
const MAX_SEALED_TEXT = 1024 * 1024;

const name = z.string().min(1).max(63);
const version = z.number().int().min(1);
const bytes = (count: number): z.ZodString => z.string().regex(new RegExp(`^[\\w-]{${Math.ceil((count * 4) / 3)}}$`));

export const Envelope = z.object({
  v: z.literal(1),
  epk: bytes(32).describe('The ephemeral X25519 public key, base64url'),
  iv: bytes(12),
  data: z
    .string()
    .max(MAX_SEALED_TEXT)
    .regex(/^[\w-]+$/)
    .describe('What is sealed, and its tag of 16 bytes'),
  sig: bytes(64),
});

const HeldCredential = z.object({ name, version });

/** What a worker says of its vault when it comes. Without it a worker is given nothing. */
export const VaultReport = z.object({
  key: bytes(32).describe('Its X25519 public key, base64url'),
  level: z.enum(CREDENTIAL_LEVELS),
  holds: z.array(HeldCredential).max(MOST_CREDENTIALS).readonly(),
});

export const CredentialAck = z.object({
  name,
  version,
  status: z.enum(['stored', 'removed', 'failed']),
  level: z.enum(CREDENTIAL_LEVELS).optional(),
  error: z.string().max(MAX_ACK_ERROR).optional(),
});

export type Envelope = Readonly<z.infer<typeof Envelope>>;
export type HeldCredential = Readonly<z.infer<typeof HeldCredential>>;
export type VaultReport = Readonly<z.infer<typeof VaultReport>>;
export type CredentialAck = Readonly<z.infer<typeof CredentialAck>>;

/** What a worker is to store or to remove. */
export type CredentialOrder =
  | { readonly name: string; readonly version: number; readonly envelope: Envelope }
  | { readonly name: string; readonly version: number; readonly removed: true };

/** The credentials of one worker, as its link brings them. */
export interface CredentialFeed {
  /** The Ed25519 public key of the cluster, base64url. */
  readonly signer: string;
  /** What is to be stored or removed now, and whatever comes later. */
  subscribe(listener: (order: CredentialOrder) => void): () => void;
  ack(ack: CredentialAck): Promise<void>;
}

/** Whom an envelope is for, and what is in it. */
export interface EnvelopeAddress {
  readonly worker: string;
  readonly name: string;
  readonly version: number;
}

/** What is authenticated with the ciphertext: an envelope opens for its own worker, name and version alone. */
export function envelopeAad({ worker, name, version }: EnvelopeAddress): string {
  return `${worker}|${name}|${version}`;
}

/** The text that is signed. No part of it can have a line break. */
export function envelopeText(
  { worker, name, version }: EnvelopeAddress,
  { epk, iv, data }: Pick<Envelope, 'epk' | 'iv' | 'data'>,
): string {
  return [ENVELOPE_PURPOSE, worker, name, version, epk, iv, data].join('\n');
}
