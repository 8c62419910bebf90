import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import type { Content } from '../../core/artifact/artifact.ts';
import { MAX_UPLOAD_MS } from '../../core/artifact/artifact-room.ts';
import { fault } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ArtifactRecord } from '../../engine/records.ts';
import { FileAnswer } from '../http/answers.ts';
import { type ByteRange, rangeOf } from './byte-range.ts';
import { etagOf, fileHeaders } from './file-headers.ts';
import { type StallTerms, watchStalls } from './stall-watch.ts';
import type { SignedQuery, TransferSigner, Way } from './transfer-signer.ts';
import type { BlobPlace } from './transfers.ts';

/** The part of an engine that knows artifacts: `get` refuses one that is not whole with `NOT_FOUND`. */
export type KnownArtifacts = Pick<Engine['artifacts'], 'get' | 'pending'>;

export interface ByteDoorOptions {
  readonly artifacts: KnownArtifacts;
  readonly blobs: BlobPlace;
  readonly signer: TransferSigner;
  /** Calendar time in milliseconds. */
  readonly now: () => number;
  /** Uploads and downloads at a time. Each holds a file, a connection and some buffers. */
  readonly most?: number | undefined;
  /** Those of one worker, of them. */
  readonly mostOfOne?: number | undefined;
  readonly terms?: StallTerms | undefined;
}

export interface Incoming {
  readonly id: string;
  readonly query: SignedQuery;
  readonly request: IncomingMessage;
  /** Comes when the node stops. */
  readonly closing: AbortSignal;
}

export interface Asked {
  readonly headers: IncomingMessage['headers'];
  readonly inline: boolean;
}

const MOST = 256;
/** A worker whose transfers stand still leaves most places to others; so do all the people who read files. */
const MOST_OF_ONE = 64;
/** Whoever reads with a token of its own. */
const PEOPLE = 'people';
/** A day after it was announced its row goes, and its bytes with it: what came later would lie there for good. An hour is left for clocks that differ. */
const TAKEN_FOR_MS = MAX_UPLOAD_MS - 3_600_000;
/** What lies between the line and the place. */
const BUFFER = 256 * 1024;

/** The way of bytes through this node. It keeps none of them: they go on as they come, and no faster than the slower side takes them. */
export class ByteDoor {
  readonly #options: ByteDoorOptions;
  #open = 0;
  /** By worker. */
  readonly #shares = new Map<string, number>();

  constructor(options: ByteDoorOptions) {
    this.#options = options;
  }

  /** Transfers that are under way. */
  get open(): number {
    return this.#open;
  }

  /** Refuses by the head of a request. Nothing of its body is read, and no store is asked. */
  admit(way: Way, id: string, query: SignedQuery, headers: IncomingMessage['headers']): void {
    this.#options.signer.check(way, id, query);
    if (way === 'put') checkLength(headers, query);
  }

  /** Takes the bytes of an artifact that was begun and is not whole. A repeat is answered as the first time. */
  async receive({ id, query, request, closing }: Incoming): Promise<void> {
    const { artifacts, blobs, now } = this.#options;
    const pending = await artifacts.pending(id);
    if (pending === undefined) return this.#repeated({ id, query, request, closing });
    requireSame(id, pending, query);
    // A clock that was set back gives nobody more.
    const withinMs = Math.min(TAKEN_FOR_MS, pending.createdAt + TAKEN_FOR_MS - now());
    if (withinMs <= 0) throw unknown(id);
    const leave = this.#enter(query.by);
    try {
      const place = await blobs();
      await this.#through({ request, query, closing, withinMs }, (bytes, signal) =>
        place.put(pending.blob, bytes, { size: query.size, sha256: query.sha256 }, { signal, spent: true }),
      );
    } finally {
      leave();
    }
  }

  /** For somebody who may read artifacts. */
  async sendKnown(id: string, asked: Asked): Promise<FileAnswer> {
    return this.#send(await this.#options.artifacts.get(id), asked, PEOPLE);
  }

  /** At an address that is signed for a worker. */
  async sendSigned(id: string, query: SignedQuery, headers: IncomingMessage['headers']): Promise<FileAnswer> {
    const record = await this.#options.artifacts.get(id);
    requireSame(id, record, query);
    return this.#send(record, { headers, inline: false }, query.by);
  }

  /** The answer with a file, or with a range of it. */
  #send(record: ArtifactRecord, { headers, inline }: Asked, by: string | undefined): FileAnswer {
    const { size, sha256, blob } = record;
    const head = fileHeaders(record, { inline });
    const etag = etagOf(sha256);
    if (headers['if-none-match'] === etag) return new FileAnswer(304, { ...head }, undefined);
    const wanted = headers['if-range'] === undefined || headers['if-range'] === etag ? headers.range : undefined;
    const range = rangeOf(wanted, size);
    if (range === 'none') {
      return new FileAnswer(416, { ...head, 'content-range': `bytes */${size}`, 'content-length': '0' }, undefined);
    }
    const { start, end } = range ?? { start: 0, end: size };
    return new FileAnswer(
      range === undefined ? 200 : 206,
      {
        ...head,
        'content-length': String(end - start),
        ...(range === undefined ? {} : { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
      },
      () => this.#read(blob, range, by),
    );
  }

  async #read(blob: string, range: ByteRange | undefined, by: string | undefined): Promise<Readable> {
    const leave = this.#enter(by);
    try {
      const place = await this.#options.blobs();
      const bytes = await place.get(blob, range ?? {});
      bytes.once('close', leave);
      return bytes;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Whole already: the bytes that come again are thrown away, so that their sender can read the answer. */
  async #repeated({ id, ...coming }: Incoming): Promise<void> {
    requireSame(id, await this.#options.artifacts.get(id), coming.query);
    const leave = this.#enter(coming.query.by);
    try {
      await this.#through({ ...coming, withinMs: TAKEN_FOR_MS }, async (bytes) => {
        for await (const _ of bytes);
      });
    } finally {
      leave();
    }
  }

  /**
   * Leads the body of a request to somebody who takes it. It goes through a stream of its own: who takes it may destroy that one, and the connection
   * stays open for the answer.
   */
  async #through(
    { request, query: { size }, closing, withinMs }: Omit<Incoming, 'id'> & { readonly withinMs: number },
    take: (bytes: Readable, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const bytes = new PassThrough({ highWaterMark: BUFFER });
    const over = new AbortController();
    const end = (error: Error): void => {
      request.unpipe(bytes);
      over.abort(error);
      bytes.destroy(error);
    };
    const onGone = (): void => {
      if (!request.complete) end(incomplete('it ended before it was complete'));
    };
    const onClosing = (): void => end(isClosing());
    // What has happened while the store was asked is told by no event any more.
    if (closing.aborted) throw isClosing();
    if (request.destroyed && !request.complete) throw incomplete('it ended before it was complete');
    const unwatch = watchStalls(
      {
        socket: request.socket,
        way: 'put',
        size,
        isTheirTurn: () => !request.complete && request.readableLength === 0 && !bytes.writableNeedDrain,
        onStall: () => end(incomplete('it came too slowly')),
      },
      this.#options.terms,
    );
    request.once('close', onGone).once('error', onGone);
    closing.addEventListener('abort', onClosing, { once: true });
    const late = setTimeout(() => end(incomplete('it took too long')), withinMs);
    late.unref();
    // Whoever takes the bytes is told by its own promise.
    bytes.on('error', () => {});
    try {
      request.pipe(bytes);
      await take(bytes, over.signal);
    } catch (error) {
      request.unpipe(bytes);
      // What still comes is thrown away for a moment, so that its sender can read the answer.
      request.resume();
      throw over.signal.aborted ? over.signal.reason : error;
    } finally {
      unwatch();
      request.unpipe(bytes);
      request.off('close', onGone).off('error', onGone);
      closing.removeEventListener('abort', onClosing);
      clearTimeout(late);
      bytes.destroy();
    }
  }

  #enter(by = ''): () => void {
    const { most = MOST, mostOfOne = MOST_OF_ONE } = this.#options;
    if (this.#open >= most) throw fault('TOO_MANY', { problem: `${most} transfers go through this node already` });
    const own = this.#shares.get(by) ?? 0;
    if (own >= mostOfOne) throw fault('TOO_MANY', { problem: `${own} transfers of ${whose(by)} go through this node` });
    this.#open += 1;
    this.#shares.set(by, own + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#open -= 1;
      const rest = (this.#shares.get(by) ?? 1) - 1;
      if (rest === 0) this.#shares.delete(by);
      else this.#shares.set(by, rest);
    };
  }
}

const whose = (by: string): string => (by === PEOPLE ? 'readers' : 'this worker');

/** HTTP itself sees to it that no more and no fewer bytes come than were declared. */
function checkLength({ 'content-length': length }: IncomingMessage['headers'], { size }: Content): void {
  if (length === undefined) {
    throw fault('INVALID_INPUT', { field: 'Content-Length', problem: 'it is needed: bytes come in one piece here' });
  }
  if (Number(length) === size) return;
  throw fault('ARTIFACT_MISMATCH', { problem: `${length} bytes are declared, and ${size} were announced` });
}

function requireSame(id: string, artifact: Content, query: Content): void {
  if (artifact.size === query.size && artifact.sha256 === query.sha256) return;
  throw unknown(id);
}

/** Never begun, whole under other bytes, or of an attempt that is over. */
function unknown(id: string): Error {
  return fault('NOT_FOUND', { kind: 'artifact', id: id.slice(0, 40) });
}

function isClosing(): Error {
  return fault('STORE_UNAVAILABLE', { problem: 'this node is closing' });
}

function incomplete(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'body', problem });
}
