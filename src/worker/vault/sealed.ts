import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** In front of everything that is kept: another form can follow. */
const FORM = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;
export const KEY_BYTES = 32;

/** A text under a key of this worker, as base64. `about`: it opens for nothing else, so that no file can take the place of another. */
export function seal(key: Buffer, about: string, text: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(about));
  return Buffer.concat([Buffer.of(FORM), iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString(
    'base64',
  );
}

/** Undefined: it is broken, or under another key, or about something else. */
export function unseal(key: Buffer, about: string, sealed: unknown): string | undefined {
  if (typeof sealed !== 'string') return undefined;
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes[0] !== FORM || bytes.length < 1 + IV_BYTES + TAG_BYTES) return undefined;
  try {
    const iv = bytes.subarray(1, 1 + IV_BYTES);
    const cipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(about));
    cipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([cipher.update(bytes.subarray(1 + IV_BYTES, -TAG_BYTES)), cipher.final()]).toString();
  } catch {
    return undefined;
  }
}
