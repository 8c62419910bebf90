import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Signature } from '../../core/trigger/trigger.ts';

/** What a delivery says of itself, before anything of it is believed. */
export interface Claimed {
  /** Undefined: its sender gives none that is signed. */
  readonly id: string | undefined;
  /** Seconds since 1970, as they were written; undefined: its sender gives none. */
  readonly time: string | undefined;
  /** In hexadecimal; one of them must be right. */
  readonly signatures: readonly string[];
}

const ID = /^[\x21-\x7e]{1,200}$/;
const SECONDS = /^[1-9]\d{8,10}$/;
const HEX = /^[0-9a-f]{64}$/;
const MOST_SIGNATURES = 5;

/** Undefined: it is not signed in this way, and need not be read. */
export function claimed(style: Signature, headers: IncomingHttpHeaders): Claimed | undefined {
  switch (style) {
    case 'leasehold':
      return leasehold(headers);
    case 'github':
      return github(headers);
    case 'stripe':
      return stripe(headers);
  }
}

/** `X-Leasehold-Id: ID` and `X-Leasehold-Signature: t=SECONDS,v1=HEX` over `ID.SECONDS.BODY`. */
function leasehold(headers: IncomingHttpHeaders): Claimed | undefined {
  const id = text(headers['x-leasehold-id']);
  const found = timed(text(headers['x-leasehold-signature']));
  if (id === undefined || !ID.test(id) || found === undefined) return undefined;
  return { id, ...found };
}

/** `X-Hub-Signature-256: sha256=HEX` over `BODY`. The id of GitHub is not signed, so it says nothing. */
function github(headers: IncomingHttpHeaders): Claimed | undefined {
  const given = text(headers['x-hub-signature-256']) ?? '';
  const signature = given.startsWith('sha256=') ? given.slice('sha256='.length) : '';
  return HEX.test(signature) ? { id: undefined, time: undefined, signatures: [signature] } : undefined;
}

/** `Stripe-Signature: t=SECONDS,v1=HEX` over `SECONDS.BODY`; also what our own handler `http` sends without an id. */
function stripe(headers: IncomingHttpHeaders): Claimed | undefined {
  const found = timed(text(headers['stripe-signature']) ?? text(headers['x-leasehold-signature']));
  return found && { id: undefined, ...found };
}

function timed(header: string | undefined): Pick<Claimed, 'time' | 'signatures'> | undefined {
  if (header === undefined || header.length > 1000) return undefined;
  const parts = header.split(',').map((part) => part.trim().split('=', 2) as [string, string?]);
  const times = parts.flatMap(([name, value]) => (name === 't' ? (value ?? '') : []));
  const signatures = parts.flatMap(([name, value]) => (name === 'v1' ? (value ?? '') : []));
  const [time = ''] = times;
  const fine =
    times.length === 1 && SECONDS.test(time) && signatures.length > 0 && signatures.length <= MOST_SIGNATURES;
  return fine && signatures.every((one) => HEX.test(one)) ? { time, signatures } : undefined;
}

/** Whether its time lies within the window around now. One without a time is never too old, and its replay is known by its body. */
export function isTimely({ time }: Pick<Claimed, 'time'>, windowMs: number, now: number): boolean {
  return time === undefined || Math.abs(now - Number(time) * 1000) <= windowMs;
}

/** In constant time, whichever of several is right. */
export function isGenuine({ id, time, signatures }: Claimed, secret: string, body: string): boolean {
  const hmac = createHmac('sha256', secret);
  if (id !== undefined) hmac.update(`${id}.`);
  if (time !== undefined) hmac.update(`${time}.`);
  const right = hmac.update(body).digest();
  let genuine = false;
  for (const one of signatures) genuine = timingSafeEqual(right, Buffer.from(one, 'hex')) || genuine;
  return genuine;
}

/**
 * What makes a delivery the same one when it comes again: only what is signed counts. Stripe signs each try anew, and has an id in the body;
 * where there is none, the whole body stands for it.
 */
export function deliveryKey(style: Signature, { id, time }: Claimed, body: string, parsed: unknown): string {
  if (id !== undefined) return `hook:${id}`;
  const own = style === 'stripe' ? idIn(parsed) : undefined;
  if (own !== undefined) return `hook:${own}`;
  const digest = createHash('sha256')
    .update(`${time ?? ''}.`)
    .update(body)
    .digest('hex');
  return `body:${digest}`;
}

function idIn(parsed: unknown): string | undefined {
  const { id } = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as { readonly id?: unknown };
  return typeof id === 'string' && ID.test(id) ? id : undefined;
}

function text(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
