import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { giveBack } from '../../core/artifact/give-back.ts';
import { watchStalls } from '../transfers/stall-watch.ts';
import type { FileAnswer, RawResponse } from './answers.ts';

/** Sends bytes as they come. `untilOver` calls `end` when their reader may read them no longer, or the node is closing; what it answers stops that. */
export async function sendFile(
  file: FileAnswer,
  reply: FastifyReply,
  untilOver: (end: () => void) => () => void,
): Promise<unknown> {
  reply.code(file.status).headers(file.headers);
  if (file.read === undefined) return reply.send();
  // A stream, since Fastify would put the length of any other body into the header.
  if (reply.request.method === 'HEAD') return reply.send(Readable.from([]));
  const bytes = await file.read();
  const end = (): void => void bytes.destroy(new Error('its reader may read it no longer, or the node is closing'));
  const stop = untilOver(end);
  const unwatch = watchStalls({
    socket: reply.raw.req.socket,
    way: 'get',
    size: Number(file.headers['content-length']),
    isTheirTurn: () => reply.raw.writableNeedDrain,
    onStall: end,
  });
  bytes.once('close', () => {
    stop();
    unwatch();
  });
  giveBackWritten(reply.raw);
  return reply.send(bytes);
}

/** Chunks of a file are nobody else's: each is given back when it has gone, and not when somebody collects it. */
function giveBackWritten(response: ServerResponse): void {
  const write = response.write.bind(response) as (chunk: Uint8Array, done: () => void) => boolean;
  response.write = (chunk: Uint8Array): boolean => write(chunk, () => giveBack(chunk));
}

export async function sendRaw({ response }: RawResponse, reply: FastifyReply): Promise<unknown> {
  const type = response.headers.get('content-type');
  if (type !== null) reply.type(type);
  return reply.code(response.status).send(Buffer.from(await response.arrayBuffer()));
}
