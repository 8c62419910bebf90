import { type IncomingMessage, request as plain, type RequestOptions } from 'node:http';
import { request as secure } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Artifact, Content } from '../../core/artifact/artifact.ts';
import { NO_ROOM, saysNoRoom } from '../../core/artifact/no-room.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { WireError } from '../../protocol/answers.ts';
import type { Transfer, TransferCall } from '../../protocol/artifact-link.ts';
import { announcedBytes, receiveFile } from './artifact-file.ts';
import { type AddressRules, checkedLookup, transferAddress } from './transfer-address.ts';
import { TransferError } from './transfer-error.ts';

/** Nothing was read or written for so long: the connection is given up. */
const IDLE_MS = 60_000;
/** Of an answer that is not the bytes themselves. */
const MOST_ANSWER = 64 * 1024;

/** Sends a file as it was said. No redirect is followed, and nothing is sent along that would speak for the worker. */
export async function sendFile(
  transfer: Transfer,
  file: Content & { readonly path: string },
  rules: AddressRules,
  { signal, onProgress }: TransferCall = {},
): Promise<void> {
  const given = Object.entries(transfer.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const headers = { ...Object.fromEntries(given), 'content-length': file.size };
  const { request, answered, isNode } = call(transfer, 'PUT', rules, {
    headers,
    ...(signal === undefined ? {} : { signal }),
  });
  // A node hashes what comes, and a bucket may not.
  const bytes = announcedBytes(file.path, file, { onProgress, checkedThere: isNode });
  const sending = pipeline(Readable.from(bytes, { objectMode: false }), request);
  // A server may answer before it has read everything. Its answer says more than the broken pipe that follows.
  const answer = await Promise.race([answered, sending.then(() => answered)]).catch((error: unknown) => {
    request.destroy();
    // Its own fault, and not that of the network: the file is not what it was.
    if (isEngineError(error) || (error as NodeJS.ErrnoException).code === 'ENOENT') throw error;
    throw signal?.aborted === true ? error : new TransferError(`the upload broke: ${said(error)}`, 'again', error);
  });
  const text = await textOf(answer).catch(() => '');
  request.destroy();
  sending.catch(() => {});
  requireOk(answer, text);
}

/** Fetches a file as it was said; the same holds. */
export async function fetchFile(
  transfer: Transfer,
  artifact: Artifact,
  path: string,
  rules: AddressRules,
  { signal, onProgress }: TransferCall = {},
): Promise<void> {
  const options = { headers: transfer.headers, ...(signal === undefined ? {} : { signal }) };
  const { request, answered } = call(transfer, 'GET', rules, options);
  try {
    request.end();
    const answer = await answered;
    if (answer.statusCode !== 200) requireOk(answer, await textOf(answer), true);
    await receiveFile(answer, artifact, path, { signal, onProgress });
  } catch (error) {
    if (isEngineError(error) || error instanceof TransferError || signal?.aborted === true || isOfDisk(error))
      throw error;
    throw new TransferError(`the download broke: ${said(error)}`, 'again', error);
  } finally {
    request.destroy();
  }
}

function call(transfer: Transfer, method: Transfer['method'], rules: AddressRules, options: RequestOptions) {
  if (transfer.method !== method)
    throw new TransferError(`the node asks for ${transfer.method}, not ${method}`, 'never');
  const url = transferAddress(transfer.url, rules);
  // The node itself may be anywhere; every other name is looked at.
  const isNode = url.origin === new URL(rules.node.replace(/^ws/, 'http')).origin;
  const all = { ...options, method, agent: false, timeout: IDLE_MS, ...(isNode ? {} : { lookup: checkedLookup }) };
  const request = url.protocol === 'https:' ? secure(url, all) : plain(url, all);
  const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on('response', resolve);
  request.on('error', reject);
  request.on('timeout', () => request.destroy(new Error(`nothing moved for ${IDLE_MS / 1000} s`)));
  answered.catch(() => {});
  return { request, answered, isNode };
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > MOST_ANSWER) break;
  }
  return text;
}

const OF_THE_DISK: ReadonlySet<unknown> = new Set([
  'ENOSPC',
  'EDQUOT',
  'ENOENT',
  'EACCES',
  'EEXIST',
  'EISDIR',
  'EROFS',
  'ENOTDIR',
  'EFBIG',
]);

function isOfDisk(error: unknown): boolean {
  return OF_THE_DISK.has((error as NodeJS.ErrnoException | null)?.code);
}

/** These count for the transfer whoever says them. */
const CODES: ReadonlySet<unknown> = new Set([
  'LEASE_LOST',
  'ARTIFACT_MISMATCH',
  'ARTIFACT_QUOTA',
  'STORE_FULL',
  'NOT_FOUND',
]);

function requireOk({ statusCode = 0 }: IncomingMessage, text: string, wantsBody = false): void {
  if (!wantsBody && statusCode >= 200 && statusCode < 300) return;
  const error = refusalIn(text);
  // The connection came to an end on its way there.
  const isCut = error?.code === 'INVALID_INPUT' && error.details?.['field'] === 'body';
  if (error !== undefined && CODES.has(error.code)) throw fault(error.code, error.details ?? {});
  const reason =
    error?.message ??
    text
      .replaceAll(/<[^>]*>|\s+/g, ' ')
      .trim()
      .slice(0, 200);
  const problem = `HTTP ${statusCode}${reason === '' ? '' : `: ${reason}`}`;
  if (saysNoRoom(statusCode, text)) throw new TransferError(`${NO_ROOM} (${problem})`, 'never');
  if (statusCode >= 300 && statusCode < 400)
    throw new TransferError(`${problem} (redirects are not followed)`, 'never');
  if (statusCode === 401 || statusCode === 403 || statusCode === 410) throw new TransferError(problem, 'renewed');
  const isPassing = statusCode >= 500 || statusCode === 429 || statusCode === 408 || isCut;
  throw new TransferError(problem, isPassing ? 'again' : 'never');
}

function refusalIn(text: string): ReturnType<typeof WireError.parse> | undefined {
  try {
    return WireError.parse((JSON.parse(text) as { readonly error?: unknown } | null)?.error);
  } catch {
    return undefined;
  }
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
