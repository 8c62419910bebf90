import { fault } from '../core/errors.ts';
import { errorOfFetch, isTransient } from './problem.ts';
import type { Fetched } from './request.ts';
import type { RetryBackoff } from './retry-backoff.ts';

export interface ResumableBytes {
  /** How many there are. */
  readonly size: number;
  /** Opens a connection that begins with this byte. */
  readonly connect: (start: number, signal: AbortSignal) => Promise<Fetched>;
  readonly backoff: RetryBackoff;
  readonly signal: AbortSignal;
  /** Called when a connection is lost, and when bytes come again. */
  readonly onAway?: ((error: Error | undefined) => void) | undefined;
  /** Called for each connection that is lost or fails. */
  readonly onBroken?: (() => void) | undefined;
  /** A connection on which nothing comes for so long is broken. */
  readonly silentMs: number;
}

/** Bytes over as many connections as it takes: none is missed, and none comes twice. Whether they are right the reader checks. */
export async function* resumableBytes(options: ResumableBytes): AsyncGenerator<Uint8Array> {
  const { size, backoff, signal, onAway } = options;
  let at = 0;
  let away = false;
  for (;;) {
    signal.throwIfAborted();
    try {
      for await (const chunk of connection(options, at)) {
        if (away) onAway?.(undefined);
        away = false;
        backoff.reset();
        // Counted before it is handed on: a reader that takes it and leaves has had it.
        at += chunk.length;
        yield chunk;
      }
      if (at >= size) return;
      throw fault('NODE_UNREACHABLE', { problem: 'the answer came to an end too early' });
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      options.onBroken?.();
      if (!away) onAway?.(error);
      away = true;
      if (!(await backoff.wait(signal))) throw error;
    }
  }
}

/** One connection, to its end or to its first error. */
async function* connection({ connect, signal, silentMs }: ResumableBytes, start: number): AsyncGenerator<Uint8Array> {
  const over = new AbortController();
  const leave = (): void => over.abort(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  let silence: ReturnType<typeof setTimeout> | undefined;
  const listen = <T>(heard: Promise<T>): Promise<T> => {
    silence = setTimeout(() => over.abort(SILENT), silentMs);
    return heard.finally(() => clearTimeout(silence));
  };
  try {
    const response = await listen(connect(start, over.signal));
    // A node that knows no ranges sends all of them again.
    let skip = response.status === 206 ? 0 : start;
    const reader = (response.body as NonNullable<Fetched['body']>).getReader();
    for (;;) {
      const { value } = await listen(reader.read());
      if (value === undefined) return;
      const rest = value.subarray(Math.min(skip, value.length));
      skip -= value.length - rest.length;
      if (rest.length > 0) yield rest;
    }
  } catch (error) {
    if (isTransient(error) || (error as Partial<Error>).name === 'EngineError') throw error;
    throw errorOfFetch(over.signal.reason === SILENT ? SILENT : error, '');
  } finally {
    clearTimeout(silence);
    signal.removeEventListener('abort', leave);
    // Also when the reader leaves in the middle.
    over.abort();
  }
}

const SILENT = Object.assign(new Error('nothing was heard'), { code: 'SILENT' });
