import { fileURLToPath } from 'node:url';
import { fault } from '../core/errors.ts';
import type { BlobStore } from './blob-store.ts';
import type { LocalStoreOptions } from './local/local-store.ts';
import type { Bucket, S3Credentials } from './s3/bucket.ts';
import type { S3StoreOptions } from './s3/s3-store.ts';

export interface OpenOptions extends LocalStoreOptions, Pick<S3StoreOptions, 'retry' | 'idleMs'> {
  /** For a bucket. They come from the environment or a file, never in the URL. */
  readonly credentials?: S3Credentials | undefined;
}

const PARAMETERS: ReadonlySet<string> = new Set(['endpoint', 'region', 'path_style', 'insecure']);
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Opens the place of artifacts that a URL names: a folder by its path or `file:///…`, or `s3://BUCKET/PREFIX?endpoint=…&region=…&path_style=1`.
 * What a folder does not need is not loaded for it.
 */
export async function openBlobStore(url: string, options: OpenOptions = {}): Promise<BlobStore> {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === 's3') {
    const bucket = bucketOf(url);
    const { credentials } = options;
    if (credentials === undefined)
      throw badPlace('a bucket needs an access key and its secret', 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.');
    const { openS3Store } = await import('./s3/s3-store.ts');
    return openS3Store(bucket, { ...options, credentials });
  }
  if (scheme !== undefined && scheme !== 'file')
    throw badPlace(`${scheme}: is not a place of artifacts that this version knows`);
  const { openLocalStore } = await import('./local/local-store.ts');
  return await openLocalStore(scheme === 'file' ? pathOf(url) : url, options);
}

function pathOf(url: string): string {
  const parsed = parse(url);
  if (parsed.search !== '' || parsed.hash !== '') throw badPlace('a folder takes no parameters');
  try {
    return fileURLToPath(parsed);
  } catch {
    throw badPlace('it names no folder of this host');
  }
}

/** Every word of the URL, checked. */
export function bucketOf(url: string): Bucket {
  const { username, password, host, hostname: name, pathname, searchParams, hash } = parse(url);
  // Addresses end up in logs, lists of processes and settings.
  if (username !== '' || password !== '')
    throw badPlace('it carries credentials', 'Take them out of the URL, and give them by the environment.');
  if (hash !== '') throw badPlace('it has a fragment');
  if (host !== name || !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name))
    throw badPlace('it names no bucket, of 3 to 63 small letters, digits, dots and hyphens');
  for (const parameter of searchParams.keys()) {
    if (!PARAMETERS.has(parameter))
      throw badPlace(`it has no parameter "${parameter.slice(0, 40)}"`, `There are ${[...PARAMETERS].join(', ')}.`);
    if (searchParams.getAll(parameter).length > 1) throw badPlace(`${parameter} is given twice`);
  }
  const region = searchParams.get('region') ?? 'us-east-1';
  if (!/^[a-z0-9-]{1,40}$/.test(region)) throw badPlace('its region is no name of one');
  const given = searchParams.get('endpoint');
  const insecure = flag(searchParams, 'insecure') ?? false;
  const endpoint = given === null ? new URL(`https://s3.${region}.amazonaws.com`) : endpointOf(given, insecure);
  return {
    endpoint,
    name,
    prefix: prefixOf(pathname),
    region,
    // A certificate for *.host has no room for the dots of a bucket, and an address of numbers has no names below it.
    pathStyle: flag(searchParams, 'path_style') ?? (given !== null || name.includes('.')),
    signBodies: endpoint.protocol === 'http:' && !LOOPBACK.test(endpoint.hostname),
  };
}

function prefixOf(pathname: string): string {
  const segments = pathname.split('/').filter((segment) => segment !== '');
  if (segments.some((segment) => !/^[\w-][\w.-]{0,99}$/.test(segment)) || pathname.length > 300)
    throw badPlace('its prefix has other signs than letters, digits, dots, hyphens and underscores');
  return segments.map((segment) => `${segment}/`).join('');
}

function endpointOf(text: string, insecure: boolean): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw badPlace('its endpoint is not an address such as https://HOST:PORT');
  if (url.username !== '' || url.password !== '')
    throw badPlace('its endpoint carries credentials', 'Give them by the environment.');
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw badPlace('its endpoint has more than a host and a port');
  if (url.protocol === 'http:' && !insecure && !LOOPBACK.test(url.hostname))
    throw badPlace(
      'its endpoint is http on another host',
      'Use https, or insecure=1 if everybody on the way may read the artifacts.',
    );
  return url;
}

function flag(parameters: URLSearchParams, name: string): boolean | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  if (text === '1' || text === 'true') return true;
  if (text === '0' || text === 'false') return false;
  throw badPlace(`${name} is 1 or 0`);
}

function parse(url: string): URL {
  const parsed = URL.parse(url);
  if (parsed === null || url.length > 2000) throw badPlace('it is no URL');
  return parsed;
}

/** Does not repeat the URL, which may carry what must not be repeated. */
function badPlace(problem: string, hint?: string): Error {
  return fault(
    'INVALID_INPUT',
    { field: 'place of artifacts', problem },
    { hint: hint ?? 'Give an absolute path, file:///PATH, or s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION.' },
  );
}
