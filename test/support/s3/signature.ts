/** Signatures of version 4, read by a hand of its own: what a real bucket would make of a request. */
import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

interface Signed {
  readonly scope: string;
  readonly names: readonly string[];
  readonly signature: string;
  readonly date: string;
  readonly payload: string;
}

/** Why a bucket would refuse the request; undefined: it would not. `body`: all of it. */
export function problemOf(
  request: IncomingMessage,
  body: Buffer,
  secret: string,
  now: number = Date.now(),
): string | undefined {
  const url = new URL(request.url ?? '', 'http://host');
  const signed = url.searchParams.has('X-Amz-Signature') ? byAddress(url) : byHeader(request);
  if (signed === undefined) return 'AccessDenied';
  const at = Date.parse(signed.date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  const seconds = Number(url.searchParams.get('X-Amz-Expires') ?? 900);
  if (!(now < at + seconds * 1000 && now > at - 900_000)) return 'ExpiredToken';
  for (const name of ['host', ...Object.keys(request.headers).filter((header) => header.startsWith('x-amz-'))])
    if (!signed.names.includes(name)) return `AccessDenied: ${name} is not signed`;
  const canonical = [
    request.method,
    encode(decodeURIComponent(url.pathname)).replaceAll('%2F', '/'),
    queryOf(url),
    ...signed.names.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}`),
    '',
    signed.names.join(';'),
    signed.payload,
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', signed.date, signed.scope, sha256(canonical, 'hex')].join('\n');
  const key = signed.scope
    .split('/')
    .reduce<Buffer | string>((last, word) => createHmac('sha256', last).update(word).digest(), `AWS4${secret}`);
  if (createHmac('sha256', key).update(text).digest('hex') !== signed.signature) return 'SignatureDoesNotMatch';
  if (signed.payload !== 'UNSIGNED-PAYLOAD' && signed.payload !== sha256(body, 'hex'))
    return 'XAmzContentSHA256Mismatch';
  const checksum = request.headers['x-amz-checksum-sha256'];
  if (checksum !== undefined && checksum !== sha256(body, 'base64')) return 'BadDigest';
  return undefined;
}

function byAddress({ searchParams: query }: URL): Signed {
  const of = (name: string): string => query.get(name) ?? '';
  return {
    scope: of('X-Amz-Credential').split('/').slice(1).join('/'),
    names: of('X-Amz-SignedHeaders').split(';'),
    signature: of('X-Amz-Signature'),
    date: of('X-Amz-Date'),
    payload: 'UNSIGNED-PAYLOAD',
  };
}

function byHeader({ headers }: IncomingMessage): Signed | undefined {
  const found = /^AWS4-HMAC-SHA256 Credential=[^/]+\/(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/.exec(
    headers.authorization ?? '',
  );
  const [, scope, names, signature] = found ?? [];
  if (scope === undefined || names === undefined || signature === undefined) return undefined;
  return {
    scope,
    names: names.split(';'),
    signature,
    date: String(headers['x-amz-date']),
    payload: String(headers['x-amz-content-sha256']),
  };
}

function queryOf(url: URL): string {
  // A plus is itself here: who means a space writes %20.
  return url.search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !pair.startsWith('X-Amz-Signature='))
    .map((pair) => pair.split('=').map((word) => encode(decodeURIComponent(word))))
    .map(([name = '', value = '']) => `${name}=${value}`)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join('&');
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(data: string | Buffer, encoding: 'hex' | 'base64'): string {
  return createHash('sha256').update(data).digest(encoding);
}
