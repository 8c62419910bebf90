import type { ServerResponse } from 'node:http';

/** One message of an event stream. */
export interface Message {
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: unknown;
}

/** Proxies cut silent connections; the shortest usual limit is half a minute. */
const PING_MS = 15_000;
/** A reader that takes nothing for so long is cut off. It can reconnect and go on where it was. */
const STALLED_MS = 30_000;

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

/**
 * Writes messages as they come, no faster than they are read. A slow reader holds up its own stream and costs no memory,
 * because messages are made only when there is room for them.
 */
export async function writeStream(
  response: ServerResponse,
  messages: (signal: AbortSignal) => AsyncIterable<Message>,
  signal: AbortSignal,
): Promise<void> {
  const hangUp = new AbortController();
  response.once('close', () => hangUp.abort());
  // The caller may have left while the request was handled; then `close` has fired already.
  if (response.destroyed) hangUp.abort();
  const over = AbortSignal.any([signal, hangUp.signal]);
  response.writeHead(200, STREAM_HEADERS);
  response.flushHeaders();
  // At once: a source that waits for its next message may not hear of it before that comes.
  over.addEventListener('abort', () => void response.destroy(), { once: true });
  const ping = setInterval(() => void (response.writableNeedDrain || response.write(': still here\n\n')), PING_MS);
  ping.unref();
  try {
    for await (const message of messages(over)) {
      if (over.aborted) break;
      if (!response.write(formatMessage(message))) await drained(response, over);
    }
    // Only a complete stream ends well: a log that is cut off must not look like the log of a task that has ended.
    if (over.aborted) response.destroy();
    else response.end();
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    clearInterval(ping);
  }
}

/** Waits until there is room again. A reader that makes none is cut off. */
function drained(response: ServerResponse, over: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cut = (): void => {
    response.destroy();
    resolve();
  };
  const stalled = setTimeout(cut, STALLED_MS);
  response.once('drain', resolve);
  over.addEventListener('abort', cut, { once: true });
  if (over.aborted) cut();
  return promise.finally(() => {
    clearTimeout(stalled);
    response.off('drain', resolve);
    over.removeEventListener('abort', cut);
  });
}

/** JSON has no line breaks of its own, so that data is always one line. */
export function formatMessage({ id, event, data }: Message): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
  return `${head}data: ${JSON.stringify(data)}\n\n`;
}
