import { fault } from '../core/errors.ts';
import { type Message, MessageReader } from './messages.ts';
import { errorOfFetch, isTransient } from './problem.ts';
import type { Fetched } from './request.ts';
import type { RetryBackoff } from './retry-backoff.ts';

export interface ResumableStream {
  /** Opens a connection that begins after the message with this id. */
  readonly connect: (last: string | undefined, signal: AbortSignal) => Promise<Fetched>;
  /** The id to begin after. */
  readonly last?: string | undefined;
  /** Whether a clean end is final: that of a log is, the feed has none. */
  readonly ends: boolean;
  readonly backoff: RetryBackoff;
  readonly signal: AbortSignal | undefined;
  /** Called when a connection is lost, and when there is one again. */
  readonly onAway?: ((error: Error | undefined) => void) | undefined;
  /** Called for each connection that is lost or fails. */
  readonly onBroken?: (() => void) | undefined;
  /** A connection that is silent for so long is broken. A node sends something every 15 s. */
  readonly silentMs: number;
}

/**
 * The messages of a stream, over as many connections as it takes. Each connection begins after the last message of the one
 * before, so that none is missed and none comes twice. Ends with the signal.
 */
export async function* resumableStream(options: ResumableStream): AsyncGenerator<Message & { readonly data: string }> {
  const { signal, backoff, ends, onAway } = options;
  let { last } = options;
  let away = false;
  while (!signal?.aborted) {
    try {
      for await (const message of connection(options, last)) {
        if (away) onAway?.(undefined);
        away = false;
        backoff.reset();
        // Stored before the message is handed on: a reader that takes it and leaves has had it.
        last = message.id ?? last;
        if (message.data !== undefined) yield message as Message & { readonly data: string };
      }
      if (ends || signal?.aborted) return;
      throw fault('NODE_UNREACHABLE', { problem: 'the stream came to an end' });
    } catch (error) {
      if (signal?.aborted) return;
      if (!isTransient(error)) throw error;
      options.onBroken?.();
      if (!away) onAway?.(error);
      away = true;
      if (!(await backoff.wait(signal).catch(() => true))) throw error;
    }
  }
}

/** One connection, to its end or to its first error. */
async function* connection(options: ResumableStream, last: string | undefined): AsyncGenerator<Message> {
  const { connect, signal, silentMs } = options;
  const over = new AbortController();
  const leave = (): void => over.abort(signal?.reason);
  signal?.addEventListener('abort', leave, { once: true });
  let silence: ReturnType<typeof setTimeout> | undefined;
  const listen = <T>(heard: Promise<T>): Promise<T> => {
    silence = setTimeout(() => over.abort(SILENT), silentMs);
    return heard.finally(() => clearTimeout(silence));
  };
  try {
    if (signal?.aborted) return;
    const response = await listen(connect(last, over.signal));
    const reader = (response.body as NonNullable<Fetched['body']>).getReader();
    const messages = new MessageReader();
    for (;;) {
      const { value } = await listen(reader.read());
      if (value === undefined) return;
      yield* messages.read(value);
    }
  } catch (error) {
    if (isTransient(error) || (error as Partial<Error>).name === 'EngineError') throw error;
    throw errorOfFetch(over.signal.reason === SILENT ? SILENT : error, '');
  } finally {
    clearTimeout(silence);
    signal?.removeEventListener('abort', leave);
    // Also when the reader leaves in the middle.
    over.abort();
  }
}

const SILENT = Object.assign(new Error('nothing was heard'), { code: 'SILENT' });
