import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { TaskContext } from '../../define/definition.ts';
import { giveUp, retryAfter } from '../../define/outcome.ts';
import { task } from '../../define/task.ts';
import { failure } from '../failure.ts';
import { anything, object, oneOf, optional, type Shape, text, texts, whole } from '../schema.ts';
import { parseAddress } from './address.ts';
import { Destinations } from './destinations.ts';
import { bodyText } from './http-body.ts';
import { exchange, type HttpResponse, hostOf, portOf, type ResolvedAddress } from './http-exchange.ts';
import { SIGNATURE, signatureOf } from './signature.ts';

export interface HttpOptions {
  /** Destinations beside the Internet on ports 80 and 443; see `Destinations`. */
  readonly allow?: readonly string[];
  /** Default: the resolver of this host. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
  /** The value of a variable whose requests may be signed with. Default: none may. */
  readonly secretOf?: (name: string) => string | undefined;
  /** Calendar time, for a Retry-After that names a date, and for signatures. */
  readonly now?: () => number;
}

export interface HttpResult {
  readonly status: number;
  readonly headers: HttpResponse['headers'];
  readonly body: string;
  readonly encoding: 'text' | 'base64';
  readonly truncated: boolean;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const MAX_URL = 8 * 1024;
const DEFAULT_TIMEOUT_MS = 30_000;
/** A server that always answers "again, at once" would cause a busy loop. */
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 86_400_000;
const QUOTED = 300;

/** Headers about the connection or the length of the body, which the worker sets: a second value could smuggle a request. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const fields = {
  method: optional(oneOf(METHODS, 'Default: GET.')),
  url: text({ minLength: 1, check: checkUrl, about: 'http or https.' }),
  headers: optional(texts({ check: checkHeader })),
  body: optional(anything('A text is sent as it is, anything else as JSON.')),
  sign_env: optional(
    text({
      minLength: 1,
      check: checkVariable,
      about: 'A variable of the worker that has the key; see `--allow-env`.',
    }),
  ),
  timeout_ms: optional(whole({ min: 1, max: 3_600_000, about: 'For the whole exchange; default 30 s.' })),
};

const input = object(fields, {
  check(given, report) {
    const { method = 'GET', headers = {}, body } = given;
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) report(['headers', twice], 'is given twice');
    if (Object.hasOwn(given, 'sign_env') && names.includes(SIGNATURE.toLowerCase()))
      report(['headers'], 'have the signature already');
    if (body !== undefined && (method === 'GET' || method === 'HEAD')) report(['body'], `a ${method} request has none`);
  },
});

/** Sends one request, to a public address unless an exception allows more. */
export function makeHttp(options: HttpOptions = {}) {
  const destinations = new Destinations(options.allow);
  return task('http', { input, run: (given, ctx) => run(given, ctx, destinations, options) });
}

async function run(given: Shape<typeof fields>, ctx: TaskContext, destinations: Destinations, options: HttpOptions) {
  const url = new URL(given.url);
  const timeout = AbortSignal.timeout(given.timeout_ms ?? DEFAULT_TIMEOUT_MS);
  const signal = AbortSignal.any([ctx.signal, timeout]);
  try {
    signal.throwIfAborted();
    if (!destinations.allowsPort(portOf(url)))
      return refused(`port ${portOf(url)} is not one that this worker may use`);
    const addresses = await unlessAborted(signal, addressesOf(hostOf(url), options.resolve ?? resolveName));
    if (!addresses.every((address) => isAllowed(url, address, destinations))) {
      return refused(`${hostOf(url)} leads to a destination that this worker may not reach`);
    }
    const { method = 'GET' } = given;
    const body = bodyOf(given);
    const signature = signed(given, body ?? '', options);
    if (signature === undefined)
      return refused(`this worker may not sign with ${given.sign_env}, or has no such variable`);
    const headers = { ...headersOf(given), ...signature };
    const response = await exchange({ method, url, headers, body, addresses, signal });
    return outcomeOf(response, url, options.now ?? Date.now);
  } catch (error) {
    ctx.signal.throwIfAborted();
    if (timeout.aborted) throw failure('TIMEOUT', `${url.origin} did not answer in time.`);
    throw error;
  }
}

/** Every address must be allowed. The connection is made to one of them, and the name is not resolved a second time. */
export async function addressesOf(
  host: string,
  resolve: NonNullable<HttpOptions['resolve']>,
): Promise<readonly ResolvedAddress[]> {
  const family = isIP(host);
  const addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
  if (addresses.length === 0) throw failure('ENOTFOUND', `The name ${host} has no address.`);
  return addresses;
}

export function resolveName(host: string): Promise<readonly ResolvedAddress[]> {
  return lookup(host, { all: true, order: 'verbatim' });
}

export function isAllowed(url: URL, { address }: ResolvedAddress, destinations: Destinations): boolean {
  const parsed = parseAddress(address);
  return parsed !== undefined && destinations.allows(hostOf(url), parsed, portOf(url));
}

/** Without the address: an error must not reveal the inside of a network. */
function refused(problem: string) {
  return giveUp(failure('REFUSED', `The request was not sent: ${problem}.`));
}

function outcomeOf(response: HttpResponse, url: URL, now: () => number) {
  const { status, headers } = response;
  const text = bodyText(response);
  if (status < 400) return { status, headers, ...text } satisfies HttpResult;
  // Without path and query, which may contain secrets.
  const quoted = text.encoding === 'text' ? quote(text.body) : '';
  const problem = failure(`HTTP_${status}`, `${url.origin} answered with status ${status}${quoted}`);
  const wait = status === 429 || status === 503 ? retryAfterMs(headers['retry-after'], now()) : undefined;
  if (wait !== undefined) return retryAfter(wait, problem);
  // Too slow, too early, too many: the same request may succeed later.
  if (status >= 500 || status === 408 || status === 425 || status === 429) throw problem;
  return giveUp(problem);
}

function quote(body: string): string {
  const line = body
    .slice(0, QUOTED)
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return line === '' ? '.' : `: ${line}`;
}

/** Seconds or a date. */
export function retryAfterMs(value: string | readonly string[] | undefined, now: number): number | undefined {
  if (typeof value !== 'string') return undefined;
  // Date.parse alone accepts nearly anything as a date, such as -1.
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value.endsWith(' GMT') ? value : '') - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, MIN_RETRY_MS), MAX_RETRY_MS);
}

function headersOf({ headers = {}, body }: Shape<typeof fields>): Readonly<Record<string, string>> {
  const typed = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  const json = body !== undefined && typeof body !== 'string' && !typed;
  return { 'User-Agent': 'leasehold', ...(json ? { 'Content-Type': 'application/json' } : {}), ...headers };
}

/** What it is signed with. Undefined: it cannot be signed. */
function signed(
  { sign_env: name }: Shape<typeof fields>,
  body: string,
  { secretOf = () => undefined, now = Date.now }: HttpOptions,
): Readonly<Record<string, string>> | undefined {
  if (name === undefined) return {};
  const secret = secretOf(name);
  if (secret === undefined || secret === '') return undefined;
  return { [SIGNATURE]: signatureOf({ at: now(), body, keys: [secret] }) };
}

function checkVariable(given: string): string | undefined {
  return /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(given) ? undefined : 'must be the name of a variable';
}

function bodyOf({ body }: Shape<typeof fields>): string | undefined {
  return typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
}

export function checkUrl(given: string): string | undefined {
  // Parsers drop or encode these silently, and each one differently.
  if (given.length > MAX_URL) return `must not be longer than ${MAX_URL} characters`;
  if (/[\s\p{Cc}\\]/u.test(given)) return 'must not contain spaces, control characters or backslashes';
  if (!URL.canParse(given)) return 'is not a URL';
  const url = new URL(given);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must begin with http:// or https://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password: use a header';
  return undefined;
}

export function checkHeader(name: string, value: string): string | undefined {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || name === '__proto__') return 'is not the name of a header';
  if (RESERVED_HEADERS.has(name.toLowerCase())) return 'is set by the worker itself';
  // Any other character could end the header and begin another one, or another request.
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return 'has characters that a header cannot carry';
  return undefined;
}

export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
