import { fault } from '../../core/errors.ts';
import { DazflowConnect } from '../../protocol/dazflow.ts';
import { Connect, MAX_FRAME_BYTES, MAX_FRAME_DEPTH, WORKER_PATH } from '../../protocol/frames.ts';
import { checked } from '../http/caller.ts';
import { parseBody } from '../http/json-body.ts';
import { firstTooLong } from './stranger-sockets.ts';
import type { Frame } from './worker-connection.ts';

/** The kind of a new client: a worker of ours, or a dazflow agent, whose name and secret may stand in the address. */
export type FirstMessage =
  | { readonly kind: 'worker'; readonly connect: Connect }
  | { readonly kind: 'dazflow'; readonly connect: DazflowConnect; readonly byPath: boolean };

/** Fields that only our own worker sends. With one of these the others must be there too. */
const WORKER_FIELDS = ['incarnation', 'slots', 'handlers', 'holding'] as const;

/** Reads the first message of a connection. `showed`: a secret that is not good came before it. */
export function readFirst([data, isBinary]: Frame, maxBytes = MAX_FRAME_BYTES, showed = false): FirstMessage {
  if (data.length > maxBytes) throw firstTooLong(showed);
  if (isBinary) throw fault('INVALID_INPUT', { field: 'body', problem: 'messages are text' });
  const value = parseBody(data.toString(), { maxDepth: MAX_FRAME_DEPTH });
  const isWorker =
    typeof value === 'object' && value !== null && WORKER_FIELDS.some((field) => Object.hasOwn(value, field));
  return isWorker
    ? { kind: 'worker', connect: checked('body', Connect, value) as Connect }
    : { kind: 'dazflow', connect: checked('body', DazflowConnect, value) as DazflowConnect, byPath: false };
}

/**
 * The client that comes by `/ws/agent/NAME/SECRET`; undefined for any other address. The address holds a secret: no error
 * and no log may show it.
 */
export function readPath(url: string): FirstMessage | undefined {
  if (!url.startsWith(`${WORKER_PATH}/`)) return undefined;
  const parts = url.slice(WORKER_PATH.length + 1).split('/');
  if (parts.length !== 2 || /[?#]/.test(url)) return undefined;
  try {
    const [name, secret] = parts.map((part) => decodeURIComponent(part));
    const { data } = DazflowConnect.safeParse({ type: 'connect', name, secret });
    return data === undefined || name === '' || secret === ''
      ? undefined
      : { kind: 'dazflow', connect: data, byPath: true };
  } catch {
    return undefined;
  }
}
